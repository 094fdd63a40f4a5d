import { iolite } from "@iolite/cli/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { VitePWA } from "vite-plugin-pwa";

export default defineConfig({
  plugins: [
    react(),
    // Starts the server of your data beside Vite's.
    iolite(),
    // Keeps the page on the device, so that it opens without a network.
    VitePWA({
      registerType: "autoUpdate",
      manifest: {
        name: "APP_NAME",
        short_name: "APP_NAME",
        display: "standalone",
        theme_color: "#4a4fa8",
        background_color: "#f3f3f7",
        icons: [{ src: "/icon.svg", sizes: "any", type: "image/svg+xml" }],
      },
      workbox: {
        globPatterns: ["**/*.{js,css,html,svg,wasm}"],
        // Iolite's WebAssembly module is larger than Workbox's default of 2 MiB. Without it, the page would not open offline.
        maximumFileSizeToCacheInBytes: 8 * 1024 * 1024,
        cleanupOutdatedCaches: true,
      },
    }),
  ],
  build: { target: "es2022" },
});
