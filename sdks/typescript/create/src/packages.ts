/** Finds the files of Iolite's packages. Nothing is published yet, so an app takes them with it. */

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Where packages are made with another scope, `scripts/pack` puts it in here. */
const SCOPE = "@iolite";

/** The packages of an app. The last ones have the program. */
const WANTED = ["client", "react", "cli", "cli-linux-x64"] as const;

export interface PackageFile {
  /** Such as `@iolite/client`. */
  readonly name: string;
  readonly path: string;
}

/** Throws an error that names what is missing, and how to make it. */
export function packageFiles(folder: string, version: string): readonly PackageFile[] {
  const there = namesIn(folder);
  const files = WANTED.map((wanted) => `${SCOPE.slice(1)}-${wanted}-${version}.tgz`);
  const missing = files.filter((file) => !there.includes(file));
  if (missing.length > 0) {
    throw new Error(`${folder} has no ${missing.join(", ")}: run \`make dist\` in a clone of Iolite, and name its folder dist with --packages`);
  }
  return WANTED.map((wanted, index) => ({ name: `${SCOPE}/${wanted}`, path: join(folder, files[index] ?? "") }));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * The folder of the file that this package was installed from. npm writes it down beside the packages that it installs: `root` is the folder of this one.
 * Nothing if it came from elsewhere.
 */
export function installedFrom(root: string): string | undefined {
  try {
    const modules = dirname(root);
    const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8")) as { packages: Record<string, { resolved?: string }> };
    const resolved = packages[`node_modules/${basename(root)}`]?.resolved;
    return resolved?.startsWith("file:") === true ? dirname(resolve(modules, "..", resolved.slice("file:".length))) : undefined;
  } catch {
    return undefined;
  }
}
