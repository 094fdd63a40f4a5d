/** Makes the app: the template's files, its name, and Iolite's packages. A folder that has something in it is left as it is. */

import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { installedFrom, type PackageFile, packageFiles } from "./packages.js";

export interface CreateOptions {
  readonly folder: string;
  /** Where the packages are; found out if not given. */
  readonly packages?: string | undefined;
}

/** This package's own folder. */
const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** Files that npm would leave out of a package, or take for one of its own, by their names in the template. */
const RENAMED = { _gitignore: ".gitignore", _package: "package.json", "_package-lock": "package-lock.json" } as const;

/** The place of the packages in the app, so that it can be moved, and cloned by somebody else. */
const PACKAGES = "packages";

export async function create({ folder, packages }: CreateOptions): Promise<void> {
  const into = resolve(folder);
  const name = nameOf(into);
  checkEmpty(into, folder);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  const from = packages ?? installedFrom(ROOT);
  if (from === undefined) {
    throw new Error("nothing is published yet: name the folder with Iolite's packages, which `make dist` in a clone of Iolite fills: --packages DIR");
  }
  const files = packageFiles(resolve(from), version);
  mkdirSync(join(into, PACKAGES), { recursive: true });
  cpSync(join(ROOT, "template"), into, { recursive: true });
  for (const [written, wanted] of Object.entries(RENAMED)) {
    renameSync(join(into, written), join(into, wanted));
  }
  files.forEach(({ path }) => copyFileSync(path, join(into, PACKAGES, basename(path))));
  describe(into, name, files);
}

/** The app's name, in each file that has it, and its packages. */
function describe(into: string, name: string, files: readonly PackageFile[]): void {
  for (const file of ["README.md", "package.json", "package-lock.json", "vite.config.ts", "index.html", "src/client.ts"]) {
    const path = join(into, file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll("APP_NAME", name));
  }
  const path = join(into, "package.json");
  const description = JSON.parse(readFileSync(path, "utf8")) as { dependencies: Record<string, string> };
  const own = files.map((file) => [file.name, `file:${PACKAGES}/${basename(file.path)}`]);
  description.dependencies = Object.fromEntries([...own, ...Object.entries(description.dependencies)]);
  writeFileSync(path, `${JSON.stringify(description, undefined, 2)}\n`);
}

/** A folder's name as npm takes it. */
function nameOf(folder: string): string {
  const name = basename(folder).toLowerCase().replaceAll(/[^a-z0-9._-]+/g, "-").replace(/^[._-]+|-+$/g, "");
  if (name === "") {
    throw new Error(`a folder called ${JSON.stringify(basename(folder))} gives the app no name: use letters or digits`);
  }
  return name;
}

function checkEmpty(into: string, folder: string): void {
  const found = entries(into, folder).filter((entry) => entry !== ".git");
  if (found[0] !== undefined) {
    throw new Error(`the folder ${folder} has something in it already, such as ${found[0]}: name a new or empty one. Nothing was changed`);
  }
}

function entries(into: string, folder: string): readonly string[] {
  try {
    return readdirSync(into).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return [];
    }
    throw new Error(`${folder} is no folder: name a new or empty one`, { cause: error });
  }
}
