/** A client that knows several data centres: its options, the order in which it tries them, and what it tells of the one that serves it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { IDBFactory } from "fake-indexeddb";

import { type ClientOptions, createClient } from "../index.js";
import { platform as node } from "../platform/node.js";
import { FakeChannels } from "../testing/fakeChannels.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { FakeLocks } from "../testing/fakeLocks.js";
import { mutators, schema } from "../testing/notesApp.js";
import { OutputKind } from "../wasm/iolite_wasm.js";
import { gatewaysOf } from "./addresses.js";
import { type News, readOutput } from "./outputs.js";
import { placeOfTab } from "./placeOfTab.js";
import { Seat } from "./seat.js";
import { TabClient } from "./tabClient.js";

const [EU, US, US_TOO] = ["ws://127.0.0.1:1/sync", "ws://127.0.0.1:2/sync", "ws://127.0.0.1:3/sync"] as const;
type Options = ClientOptions<typeof schema, (typeof mutators)["byName"]>;
const app = { token: "", name: "centres", user: "ada", schema, mutators };
const open = (addresses: object) => createClient({ ...app, paused: true, storage: "memory", ...addresses } as never);
const eight = Object.fromEntries(Array.from("abcdefgh", (name) => [name, EU]));

test("the addresses of data centres keep the app's order, and a server without data centres counts as one", () => {
  assert.deepEqual(gatewaysOf({ centres: { us: [US, new URL(US_TOO)], eu: EU } }), [[US, US_TOO], [EU]]);
  assert.deepEqual(gatewaysOf({ url: [EU, US] }), [[EU, US]]);
  assert.deepEqual(gatewaysOf({ url: new URL(EU), centres: undefined }), [[EU]]);
});

test("createClient says what to do about addresses that are missing, twice there or wrong", async () => {
  const refuses = (addresses: object, message: RegExp) => assert.rejects(open(addresses), { code: "call", message });
  await refuses({}, /needs the address of a server: pass url, or centres/);
  await refuses({ url: EU, centres: { eu: EU } }, /url or centres, not both: put the address of url/);
  await refuses({ centres: {} }, /1 to 7 data centres, not of 0/);
  await refuses({ centres: eight }, /1 to 7 data centres, not of 8/);
  await refuses({ centres: { eu: EU, us: [] } }, /^centres\.us has no address: add one, or leave/);
  await refuses({ centres: { eu: EU, us: undefined } }, /^centres\.us is the address of a server, or an array of them, not undefined/);
  await refuses({ centres: { eu: [EU, "http://127.0.0.1/sync"] } }, /begins with ws/);
  await refuses({ centres: { eu: "ws://127.0.0.1:1" } }, /no path/);
  // JavaScript would put the 2 before eu.
  for (const name of ["2", "", "EU", "eu-", "a.b", "a".repeat(33)]) {
    await refuses({ centres: { eu: EU, [name]: US } }, /the name of a data centre is 1 to 32 of a-z/);
  }
  for (const centres of [null, 5, EU, [EU], new Map([["eu", EU]])]) {
    await refuses({ centres }, /^centres is a plain object/);
  }
});

test("types want url or centres, and not both", () => {
  const fitting: Options[] = [{ ...app, url: EU }, { ...app, centres: { eu: EU, us: [US, new URL(US_TOO)] } }];
  // @ts-expect-error no address
  const none: Options = app;
  // @ts-expect-error both
  const both: Options = { ...app, url: EU, centres: { eu: EU } };
  fitting.forEach((options) => gatewaysOf(options));
  assert.throws(() => gatewaysOf(none), { code: "call" });
  assert.throws(() => gatewaysOf(both), { code: "call" });
});

test("a client tries the gateways of the data centre that the app prefers, then those of the next, and then calls data unavailable", async (t) => {
  const device = new FakeDevice();
  device.cut = true;
  const client = await device.openTab({ ...app, centres: { us: [US, US_TOO], eu: [EU] } });
  t.after(() => client.close());
  await assert.rejects(client.read((tx) => tx.hits.get("far")), { code: "unavailable" });
  const [first, second, third, ...more] = device.asked;
  assert.deepEqual([[first, second].sort(), third, more], [[US, US_TOO], EU, []]);
});

/** A tab of a device with all that tabs share, with a word of its core. */
async function seatOfLeader() {
  const options = { ...app, development: true, paused: true, gateways: gatewaysOf({ centres: { eu: EU, us: US } }) };
  const platform = { ...node, indexedDB: new IDBFactory(), locks: new FakeLocks(), openChannel: new FakeChannels().open };
  const seat = new Seat(options, await placeOfTab(options, platform));
  await seat.begin();
  const say = (name: string | undefined): void => {
    seat.told(readOutput([OutputKind.Centre, name]) as News);
    seat.worked();
  };
  return { seat, say };
}

test("a client tells which data centre serves it, and that it moves, once for each change", async (t) => {
  const { seat, say } = await seatOfLeader();
  const client = new TabClient(seat);
  t.after(() => client.close());
  assert.equal(client.centre, undefined);
  const heard: (string | undefined)[] = [];
  const stop = client.onCentre((centre) => heard.push(centre));
  for (const name of ["eu", "eu", undefined, "us"]) {
    say(name);
  }
  stop();
  say("eu");
  assert.deepEqual([heard, client.centre], [["eu", "moving", "us"], "eu"]);
  assert.throws(() => client.onCentre(5 as never), { code: "call", message: /callback/ });
});

test("a tab that leads no more does not show the data centre of its time as leader", async (t) => {
  const { seat, say } = await seatOfLeader();
  t.after(() => seat.close());
  say("eu");
  assert.equal(seat.centre.value, "eu");
  seat.follow();
  assert.equal(seat.centre.value, undefined);
});
