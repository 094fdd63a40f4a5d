/** Servers for programs of Node. The command line is `npx iolite`; the plugin for Vite is `@iolite/cli/vite`. */

export { type RunningServer, type StartOptions, startServer } from "./startServer.js";
