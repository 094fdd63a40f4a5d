#!/usr/bin/env node
/** `iolite-objects FILE.js`: a host for the classes that a file exports. */

import { runObjects } from "./run.js";

await runObjects(process.argv[2]);
