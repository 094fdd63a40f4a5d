/** The chat's rights: what nobody may do, whatever a page was made to send. Each rule has a test that it refuses. */

import { test } from "node:test";

import { rightsTest } from "@iolite/client/rights";

import { rights } from "./rights.ts";

const kitchen = { id: "kitchen", name: "Kitchen", count: 3 };
const here = { room: "kitchen", id: "ann", name: "Ann", seen: 1 };
const hello = { id: "1", by: "ann", author: "Ann", text: "Hello", at: 1 };
const chat = rightsTest(rights).given({ rooms: [kitchen], lines: [hello], people: [here], logs: [{ key: "kitchen", value: ["1"] }] });
const ann = chat.as({ sub: "ann" });
const eve = chat.as({ sub: "eve" });

test("a room begins without lines, and keeps its name", () => {
  eve.may("create", "rooms", { id: "attic", name: "Attic" }).mayNot("create", "rooms", { id: "attic", name: "Attic", count: 9 });
  eve.mayNot("update", "rooms", "kitchen", { name: "Eve's" }).mayNot("update", "rooms", "kitchen", { count: 0 }).mayNot("delete", "rooms", "kitchen");
});

test("whoever says a line appends and counts it, and changes no other", () => {
  const line = { ...hello, id: "2", by: "eve" };
  eve.may([
    ["create", "lines", line],
    ["update", "logs", "kitchen", { value: { append: "2" } }],
    ["update", "rooms", "kitchen", { count: { add: 1 } }],
  ]);
  eve.mayNot("update", "rooms", "kitchen", { count: { add: 2 } });
  eve.mayNot("update", "logs", "kitchen", { value: { setAt: [0, "2"] } });
  eve.mayNot("update", "logs", "cellar", { value: { append: "2" } });
});

test("nobody speaks as somebody else, nor changes what was said", () => {
  ann.may("create", "lines", { ...hello, id: "2" });
  eve.mayNot("create", "lines", { ...hello, id: "2" });
  ann.mayNot("delete", "lines", "1");
});

test("nobody comes, is renamed or leaves in the place of somebody else", () => {
  eve.may("create", "people", { ...here, id: "eve" }).mayNot("create", "people", { ...here, id: "bob" });
  ann.may("update", "people", ["kitchen", "ann"], { seen: 2 }).may("delete", "people", ["kitchen", "ann"]);
  eve.mayNot("update", "people", ["kitchen", "ann"], { name: "Eve" }).mayNot("delete", "people", ["kitchen", "ann"]);
});
