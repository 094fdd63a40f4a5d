/** The judge of servers as a module of its own. Only tests of rights load it, in Node. */

import { initSync, Trial } from "../../wasm/iolite_wasm_rights.js";
import { RightsTestError } from "./error.js";

// No literal in `new URL`: bundlers would take the file for one of the page's.
const FILE = "../../wasm/iolite_wasm_rights_bg.wasm";

let isLoaded = false;

export function loadJudge(): typeof Trial {
  if (!isLoaded) {
    // No import: whoever bundles a file of rights for a page has no `node:fs`.
    const own = typeof process === "undefined" ? undefined : process.getBuiltinModule;
    if (own === undefined) {
      throw new RightsTestError("mistake", "rightsTest() needs Node 20.19 or later: call it in the unit tests of your app, and not in its page");
    }
    const { fileURLToPath } = own("node:url");
    initSync({ module: own("node:fs").readFileSync(fileURLToPath(new URL(FILE, import.meta.url).href)) });
    isLoaded = true;
  }
  return Trial;
}
