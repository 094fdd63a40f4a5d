/** Builds the page. */

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const SERVER = process.env["IOLITE_SERVER"] ?? "http://127.0.0.1:7777";

export default defineConfig({
  plugins: [react()],
  build: { target: "es2022", assetsInlineLimit: 0 },
  server: { proxy: { "/objects": { target: SERVER, ws: true }, "/iolite.json": SERVER } },
});
