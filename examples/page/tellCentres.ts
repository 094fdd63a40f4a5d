/**
 * Tells pages the addresses of several data centres and their token, in place of `iolite dev`. IOLITE_CENTRES names the folder of `iolite centres up`,
 * from the repository's root.
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import type { Plugin, PreviewServer, ViteDevServer } from "vite";

const FOLDER = process.env["IOLITE_CENTRES"];
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A part of what `iolite centres status --json` tells. */
interface Status {
  readonly centres: readonly {
    readonly name: string;
    readonly nodes: readonly { readonly role: "store" | "gateway"; readonly address: string }[];
  }[];
}

export function tellCentres(): Plugin | undefined {
  if (FOLDER === undefined) {
    return undefined;
  }
  const answer = JSON.stringify(read(resolve(ROOT, FOLDER)));
  const tell = ({ middlewares }: ViteDevServer | PreviewServer): void => {
    middlewares.use("/iolite.json", (_, response) => void response.setHeader("content-type", "application/json").end(answer));
  };
  return { name: "tell-centres", configureServer: tell, configurePreviewServer: tell };
}

/** Data centres that do not run are among them. */
function read(folder: string): unknown {
  const program = join(ROOT, "target/release/iolite");
  // It fails when a node does not run, and tells all the same.
  const { stdout, stderr } = spawnSync(program, ["centres", "status", "--json", "--data", folder], { encoding: "utf8" });
  if (!stdout) {
    throw new Error(stderr);
  }
  const centres = (JSON.parse(stdout) as Status).centres.map(({ name, nodes }) => {
    const gateways = nodes.filter(({ role }) => role === "gateway");
    return [name, gateways.map(({ address }) => `ws://${address}/sync`)] as const;
  });
  const [[first, [url]]] = centres as [[string, [string]]];
  return { url, token: readFileSync(join(folder, first, "token"), "utf8").trim(), centres: Object.fromEntries(centres) };
}
