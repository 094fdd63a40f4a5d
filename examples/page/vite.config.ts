/** Builds the page of an example, from whose folder it is called, and its service worker with the list of the built files. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

import { tellCentres } from "./tellCentres.ts";

const APP = process.env["npm_package_name"] ?? "example";
const SERVER = process.env["IOLITE_SERVER"] ?? "http://127.0.0.1:7777";

export default defineConfig({
  root: process.cwd(),
  plugins: [react(), serviceWorker(), tellCentres()],
  build: { target: "es2022", assetsInlineLimit: 0 },
  server: { proxy: { "/sync": { target: SERVER, ws: true }, "/blobs": { target: SERVER, ws: true }, "/iolite.json": SERVER } },
});

function serviceWorker(): Plugin {
  return {
    name: "service-worker",
    apply: "build",
    generateBundle(_, bundle) {
      const built = Object.keys(bundle).filter((file) => file !== "index.html" && !file.endsWith(".map"));
      const copied = readdirSync("public").sort();
      const files = [...built, ...copied].map((file) => `/${file}`).sort();
      const template = readFileSync(new URL("src/serviceWorker.js", import.meta.url), "utf8").replace("__APP__", APP);
      // The names of the built files hold hashes of their content; what is copied, and the page that names them, is hashed here.
      const own = ["index.html", ...copied.map((file) => `public/${file}`)].map((file) => readFileSync(file, "utf8"));
      const version = createHash("sha256").update([template, ...files, ...own].join("\n")).digest("hex").slice(0, 12);
      const source = template.replace('["__FILES__"]', JSON.stringify(files, null, 2)).replace("__VERSION__", version);
      this.emitFile({ type: "asset", fileName: "service-worker.js", source });
    },
  };
}
