/**
 * The packages that are linked into a program, by what `cargo metadata` says on standard input.
 * Invariant: the notices and the bill of materials list the same crates, since both ask here.
 */

import { readFileSync } from "node:fs";

/** The program's package, the packages below it (its own ones too) by name and version, and for each the packages that it uses itself. */
export function linked(name) {
  const { packages, resolve } = JSON.parse(readFileSync(0, "utf8"));
  const byId = new Map(packages.map((one) => [one.id, one]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const root = packages.find((one) => one.name === name);
  if (root === undefined) {
    throw new Error(`there is no package ${name}`);
  }
  const uses = new Map([[root.id, []]]);
  for (const id of uses.keys()) {
    const normal = nodes.get(id).deps.filter(({ dep_kinds }) => dep_kinds.some(({ kind }) => kind === null));
    uses.set(id, normal.map(({ pkg }) => byId.get(pkg)));
    normal.filter(({ pkg }) => !uses.has(pkg)).forEach(({ pkg }) => uses.set(pkg, []));
  }
  const all = [...uses.keys()].map((id) => byId.get(id)).sort((one, other) => one.name.localeCompare(other.name) || one.version.localeCompare(other.version));
  return { root, all, usedBy: ({ id }) => uses.get(id) };
}
