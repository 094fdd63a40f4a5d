/**
 * Writes a bill of materials in CycloneDX 1.6: every crate that is linked into the program, with its licence, its checksum and what it uses.
 * Usage: node sbom.mjs PACKAGE < cargo-metadata.json, in the repository's folder. It has no date and no random number, so the same sources give the same bytes.
 * Deviation: no `cargo-cyclonedx`, which would have to be compiled first by everybody who packs. `scripts/pack` needs nothing but cargo and Node.
 */

import { readFileSync } from "node:fs";

import { linked } from "./linked.mjs";

/** Old packages separate two licences by a slash, which SPDX does not know. */
function licencesOf({ license }) {
  return license === null ? {} : { licenses: [{ expression: license.replaceAll(/\s*\/\s*/g, " OR ") }] };
}

function checksums() {
  const entries = readFileSync("Cargo.lock", "utf8").split("[[package]]\n").slice(1);
  const field = (entry, name) => entry.match(new RegExp(`^${name} = "(.*)"$`, "m"))?.[1];
  return new Map(entries.map((entry) => [`${field(entry, "name")} ${field(entry, "version")}`, field(entry, "checksum")]));
}

const { root, all, usedBy } = linked(process.argv[2]);
const known = checksums();
const refOf = ({ name, version }) => `pkg:cargo/${name}@${version}`;

function component(one) {
  const checksum = known.get(`${one.name} ${one.version}`);
  const hashes = checksum === undefined ? {} : { hashes: [{ alg: "SHA-256", content: checksum }] };
  const type = one === root ? "application" : "library";
  return { type, "bom-ref": refOf(one), name: one.name, version: one.version, ...hashes, ...licencesOf(one), purl: refOf(one) };
}

const bill = {
  $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: { component: component(root) },
  components: all.filter((one) => one !== root).map(component),
  dependencies: all.map((one) => ({ ref: refOf(one), dependsOn: [...new Set(usedBy(one).map(refOf))].sort() })),
};
console.log(JSON.stringify(bill, null, 1));
