/** Where things lie in the repository. This file runs from `tests/browser/dist`. */

import { fileURLToPath } from "node:url";

export function repositoryPath(relative: string): string {
  return fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
}
