/** The reference of the TypeScript SDKs, by TypeDoc. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { MADE } from "./contents.js";
import { builder, repositoryPath, STAGED } from "./settings.js";

const SDKS = { client: MADE.client, react: MADE.react, objects: MADE.objects } as const;

/** TypeDoc reads the sources, with a TypeScript that still has an interface for programs. */
export function stageSdks(): void {
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
    execFileSync(process.execPath, [builder("typedoc/bin/typedoc"), ...args], { stdio: "inherit", cwd: repositoryPath("docs/site/builder") });
  }
}
