/** Classes with which no host starts. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { explicitMigration, keepInPlace } from "../deployment.js";
import { connectObjects, defineObject, type ObjectHost } from "../index.js";

/** A host that would find no server. */
async function start(...managers: string[]): Promise<ObjectHost> {
  class Wrong {}
  defineObject("Wrong", Wrong, { managers });
  return connectObjects({ url: "ws://127.0.0.1:1/sync", token: "token", classes: [Wrong] });
}

test("a class whose managers are wrong is refused before anything is dialled, and the error names them", async () => {
  const apart = /"Wrong": KeepInPlace and ExplicitMigration both do placement: take one of them/;
  await assert.rejects(start(keepInPlace(), explicitMigration()), apart);
  await assert.rejects(start("RateLimit calls=3"), /no manager is called "RateLimit" here.*Rust host/);
  await assert.rejects(start("KeepOnDevice rests=1"), /KeepOnDevice has no setting "rests": it has after, rest/);
});
