/** The name of the site, and where things are. Nothing is published yet, so there is no address of a repository: links to its files become their names. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const TITLE = "Iolite";
export const DESCRIPTION = "Shared state for apps that several people use at once, on devices that lose the network.";

/** Like `https://example.org/iolite/blob/main`: `repository` of release.json, the one setting for names. None while nothing is published. */
export const REPOSITORY = repositoryOf(readFileSync(repositoryPath("release.json"), "utf8"));

function repositoryOf(settings: string): string | undefined {
  return (JSON.parse(settings) as { readonly repository: string | null }).repository ?? undefined;
}

/** A path of the repository. This file runs from `docs/site/dist`. */
export function repositoryPath(relative: string): string {
  return fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
}

/** A file of a package that only builds the site. */
export function builder(file: string): string {
  return repositoryPath(`docs/site/builder/node_modules/${file}`);
}

/** All that is made: pages as Markdown, then the site. VitePress works in the folder of both, outside the sources. */
export const SITE = repositoryPath("target/site");
export const STAGED = repositoryPath("target/site/pages");
export const BUILT = repositoryPath("target/site/html");
