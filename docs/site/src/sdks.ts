/** The reference of the TypeScript SDKs, by TypeDoc. */

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { MADE } from "./contents.js";
import { repositoryPath, STAGED } from "./settings.js";

const SDKS = { client: MADE.client, react: MADE.react } as const;

/** TypeDoc reads the sources, with a TypeScript that still has an interface for programs. */
export function stageSdks(): void {
  const require = createRequire(import.meta.url);
  const typedoc = join(dirname(require.resolve("typedoc")), "../bin/typedoc");
  for (const [name, path] of Object.entries(SDKS)) {
    const folder = repositoryPath(`sdks/typescript/${name}`);
    const options = {
      entryPoints: join(folder, "src/index.ts"),
      tsconfig: join(folder, "tsconfig.json"),
      out: join(STAGED, path),
      name: `@iolite/${name}`,
      readme: "none",
      entryFileName: "index",
      router: "kind",
      plugin: "typedoc-plugin-markdown",
      excludeInternal: "true",
      hidePageHeader: "true",
      hideBreadcrumbs: "true",
      disableSources: "true",
      sanitizeComments: "true",
      logLevel: "Error",
    };
    const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]);
    execFileSync(process.execPath, [typedoc, ...args], { stdio: "inherit" });
  }
}
