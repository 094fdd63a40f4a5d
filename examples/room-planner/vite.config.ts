/** Builds the page, and its service worker with the list of the built files. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const SERVER = process.env["IOLITE_SERVER"] ?? "http://127.0.0.1:7777";

export default defineConfig({
  plugins: [react(), serviceWorker()],
  build: { target: "es2022", assetsInlineLimit: 0 },
  server: { proxy: { "/sync": { target: SERVER, ws: true }, "/iolite.json": SERVER } },
});

/** What `public/` holds. */
const COPIED = ["icon.svg", "manifest.webmanifest"];

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}

function serviceWorker(): Plugin {
  return {
    name: "service-worker",
    apply: "build",
    generateBundle(_, bundle) {
      const built = Object.keys(bundle).filter((file) => file !== "index.html" && !file.endsWith(".map"));
      const files = [...built, ...COPIED].map((file) => `/${file}`).sort();
      const template = read("src/offline/serviceWorker.js");
      // The names of the built files hold hashes of their content; what is copied, and the page that names them, is hashed here.
      const content = [template, read("index.html"), ...files, ...COPIED.map((file) => read(`public/${file}`))];
      const version = createHash("sha256").update(content.join("\n")).digest("hex").slice(0, 12);
      const source = template.replace('["__FILES__"]', JSON.stringify(files, null, 2)).replace("__VERSION__", version);
      this.emitFile({ type: "asset", fileName: "service-worker.js", source });
    },
  };
}
