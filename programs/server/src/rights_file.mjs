// Imports the file that IOLITE_RIGHTS names, and writes what it exports as one line of JSON. Node's own TypeScript wants whole names in imports, so a
// project that has Vite lends it: it resolves them as the app does.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const file = process.env.IOLITE_RIGHTS;

function fail(text) {
  process.stderr.write(`${text}\n`, () => process.exit(1));
}

function viteOf(path) {
  try {
    return createRequire(path).resolve("vite");
  } catch {
    return undefined;
  }
}

async function load() {
  const vite = /\.m?ts$/.test(file) ? viteOf(file) : undefined;
  if (vite !== undefined) {
    const { runnerImport } = await import(pathToFileURL(vite).href);
    if (runnerImport !== undefined) {
      const { module, dependencies } = await runnerImport(file, { logLevel: "silent" });
      return { module, files: [file, ...dependencies] };
    }
  }
  return { module: await import(pathToFileURL(file).href), files: [file] };
}

function explained(error) {
  const text = String(error?.stack ?? error);
  switch (error?.code) {
    case "ERR_UNKNOWN_FILE_EXTENSION":
      return `Node ${process.versions.node} runs no TypeScript: install Node 22.18 or later, or Vite in your project, or name a file of JavaScript`;
    case "ERR_MODULE_NOT_FOUND":
      return `${error.message}\nNode wants the whole name in an import, as in "./schema.ts". A package has to be installed`;
    default:
      return text;
  }
}

try {
  const { module, files } = await load();
  const own = module.rights ?? module.default;
  const deployment = own === undefined ? undefined : JSON.stringify(own);
  if (own === undefined) {
    fail("it exports neither `rights` nor a default: write `export const rights = defineRights(schema, { … })`");
  } else if (deployment === undefined) {
    fail("what it exports is no data: export what `defineRights` returns");
  } else {
    process.stdout.write(`\n${JSON.stringify({ deployment, files })}\n`, () => process.exit(0));
  }
} catch (error) {
  fail(explained(error));
}
