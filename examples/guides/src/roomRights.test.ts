/** Tests of the guide's rights of rooms, as the guide shows them, and of the tutorial's list. Each rule has a test that it refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { asId } from "@iolite/client";
import { rightsTest } from "@iolite/client/rights";
import { runnerImport } from "vite";

import { rights as boardRights } from "./boardRights.js";
import { rights as appRights } from "./rights.js";
import { rights } from "./rooms.js";

const kitchen = { id: asId("000000000000000000000000000000aa"), owner: "ann", name: "Kitchen" };
const ann = { room: kitchen.id, user: "ann" };
const hello = { id: asId("000000000000000000000000000000bb"), room: kitchen.id, author: "ann", text: "Hello" };

const rooms = rightsTest(rights).given({ rooms: [kitchen], members: [ann], messages: [hello] });

test("only members speak in a room", () => {
  const message = { ...hello, id: asId("000000000000000000000000000000cc") };
  rooms.as({ sub: "ann" }).may("create", "messages", message);
  rooms.as({ sub: "eve" }).mayNot("create", "messages", { ...message, author: "eve" });
});

test("only members see a room", () => {
  assert.deepEqual(rooms.as({ sub: "ann" }).sees("rooms"), [kitchen]);
  assert.deepEqual(rooms.as({ sub: "eve" }).sees("rooms"), []);
});

test("a room and its first member are made in one mutation", () => {
  const id = asId("000000000000000000000000000000dd");
  const garden = ["create", "rooms", { id, owner: "eve", name: "Garden" }] as const;
  rooms.as({ sub: "eve" }).may([garden, ["create", "members", { room: id, user: "eve" }]]).mayNot([garden]);
});

test("nobody joins a room of somebody else, and its owner removes whom they want", () => {
  rooms.as({ sub: "eve" }).mayNot("create", "members", { room: kitchen.id, user: "eve" });
  const both = rooms.given({ members: [{ room: kitchen.id, user: "bob" }] });
  both.as({ sub: "ann" }).may("delete", "members", [kitchen.id, "bob"]);
  both.as({ sub: "bob" }).may("delete", "members", [kitchen.id, "bob"]).mayNot("delete", "members", [kitchen.id, "ann"]);
});

test("a member likes a message once at a time, and only its author changes it", () => {
  const both = rooms.given({ members: [{ room: kitchen.id, user: "bob" }] });
  both.as({ sub: "bob" }).may("update", "messages", hello.id, { likes: { add: 1 } }).mayNot("update", "messages", hello.id, { likes: { add: 2 } });
  both.as({ sub: "ann" }).may("update", "messages", hello.id, { text: { edit: "Oh. " } });
  both.as({ sub: "bob" }).mayNot("update", "messages", hello.id, { text: { edit: "Oh. " } });
  rooms.as({ sub: "eve" }).mayNot("update", "messages", hello.id, { likes: { add: 1 } });
});

test("a budget is kept, and a task is taken once", () => {
  const task = { id: hello.id, project: "p", createdAt: 1, title: "Paint", done: false };
  const app = rightsTest(appRights).given({ projects: [{ id: "p", name: "Flat", budget: 10 }], tasks: [task] });
  const [lead, bob] = [app.as({ sub: "ann", roles: ["lead"] }), app.as({ sub: "bob" })];
  lead.may("create", "projects", { id: "q", name: "Roof" }).mayNot("create", "projects", { id: "q", name: "Roof", spent: 1 });
  bob.mayNot("create", "projects", { id: "q", name: "Roof" });
  bob.may("update", "projects", "p", { spent: { add: 10 } }).mayNot("update", "projects", "p", { spent: { add: 11 } });
  bob.mayNot("update", "projects", "p", { spent: { add: -1 } }).mayNot("update", "projects", "p", { budget: 99 });
  bob.mayNot("create", "tasks", { ...task, id: kitchen.id, project: "q" }).mayNot("delete", "tasks", task.id);
  bob.may("update", "tasks", task.id, { assignee: "bob" }).mayNot("update", "tasks", task.id, { assignee: "eve" });
  bob.may("update", "likes", "p", { value: { add: 1 } }).mayNot("update", "likes", "p", { value: { add: 2 } });
});

test("whoever takes a thing of the tutorial's list takes it for themselves, and once", async () => {
  const file = fileURLToPath(new URL("../../shopping-list/src/rights.ts", import.meta.url));
  const { module } = await runnerImport<{ rights: typeof appRights }>(file, { logLevel: "error" });
  const list = rightsTest(module.rights as any) as any;
  const milk = { id: hello.id, at: 1, what: "Milk", bought: false };
  const [bob, eve] = ["bob", "eve"].map((sub) => list.given({ items: [milk] }).as({ sub }));
  bob.may("create", "items", { ...milk, id: kitchen.id }).mayNot("create", "items", { ...milk, id: kitchen.id, takerId: "bob" });
  bob.may("update", "items", milk.id, { taker: "Bob", takerId: "bob" }).mayNot("update", "items", milk.id, { taker: "Eve", takerId: "eve" });
  bob.may("update", "items", milk.id, { bought: true }).mayNot("delete", "items", milk.id);
  const taken = eve.given({ items: [{ ...milk, taker: "Bob", takerId: "bob" }] });
  taken.mayNot("update", "items", milk.id, { taker: "Eve", takerId: "eve" });
  assert.equal(taken.sees("items").length, 1);
});

test("only members draw on a board, and only they see it", () => {
  const boards = rightsTest(boardRights).given({ members: [ann] });
  boards.as({ sub: "ann" }).may("join", "board", kitchen.id).may("run", "board", kitchen.id, "draw");
  boards.as({ sub: "eve" }).mayNot("join", "board", kitchen.id).mayNot("run", "board", kitchen.id, "draw");
});
