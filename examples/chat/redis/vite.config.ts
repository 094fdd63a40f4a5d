/** Builds the chat's page with data from the server over Redis in the place of Iolite. */

import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here(".."),
  resolve: { alias: [{ find: /^\.\/chat$/, replacement: here("src/page/chat.tsx") }] },
  plugins: [react()],
  build: { target: "es2022", outDir: here("dist/page"), emptyOutDir: true },
});
