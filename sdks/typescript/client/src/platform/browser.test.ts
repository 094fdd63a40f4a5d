import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { mock, test } from "node:test";

test("a page whose core could not be fetched once may fetch it later", async () => {
  const { platform } = await import("./browser.js");
  const fetched = mock.method(globalThis, "fetch", () => Promise.reject(new TypeError("the network is gone")));
  await assert.rejects(platform.loadCore(), { code: "failed", message: /could not be loaded.*the network is gone/ });
  const bytes = await readFile(new URL("../wasm/iolite_wasm_bg.wasm", import.meta.url));
  const type = "application/wasm";
  fetched.mock.mockImplementation(() => Promise.resolve(new Response(bytes, { headers: { "content-type": type } })));
  await platform.loadCore();
  await platform.loadCore();
  assert.equal(fetched.mock.callCount(), 2, "once it is there it is not fetched again");
  fetched.mock.restore();
});
