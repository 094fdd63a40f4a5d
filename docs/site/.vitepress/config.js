/** Where VitePress looks for its settings; they are in `../src/config.ts`. */

export { config as default } from "../dist/config.js";
