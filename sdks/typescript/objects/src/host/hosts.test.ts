/** Two hosts and a real server: a device calls objects of a process of the service, and the other way round. */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type WebSocket, WebSocketServer } from "ws";

import { CallError, type Connection, connectObjects, type ObjectHost, type Ref } from "../index.js";
import { Box, Notice, Pocket } from "../testing/classes.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";

/** A test that waits for a host or a program fails after this time. */
const TEST_MS = 20_000;

let server: DevServer;
let service: ObjectHost;
let device: ObjectHost;

before(async () => {
  server = await startDevServer();
  const { url, token } = server;
  service = await connectObjects({ url, token, classes: [Box, Notice], kind: "server" });
  device = await connectObjects({ url, token, classes: [Pocket, Notice] });
});

after(async () => {
  device?.close();
  service?.close();
  await server?.stop();
});

const newBox = (): Promise<Ref<Box>> => device.create(Box, undefined, new Box());

/** The error that a call rejects with, but for its message. */
async function failure(call: Promise<unknown>): Promise<object> {
  const error = await call.then(
    (result) => assert.fail(`it gave ${String(result)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CallError, String(error));
  const { name: _name, kind, ran, reason, value, chain } = error;
  return Object.fromEntries(Object.entries({ kind, ran, reason, value, chain }).filter(([, detail]) => detail !== undefined));
}

test("an object of the service is found, created and called by a device", async () => {
  assert.equal(await device.find(Box, "home"), undefined);
  const box = await device.get(Box, "home", () => new Box());
  assert.deepEqual([await box.put("milk"), await box.all(), await box.link(box)], [1, ["milk"], undefined]);
  assert.deepEqual(await (await service.find(Box, "home"))?.all(), ["milk"]);
  const same = await Promise.all([device, device, service].map((host) => host.get(Box, "once", () => new Box())));
  await same[0]?.put("x");
  assert.deepEqual(await Promise.all(same.map((one) => one.all())), [["x"], ["x"], ["x"]], "it is one object");
});

test("errors say what went wrong and whether the method ran", async () => {
  const box = await newBox();
  await box.put("a");
  await box.put("b");
  assert.deepEqual(await failure(box.put("c")), { kind: "app", ran: "yes", value: { name: "Full", message: "no more than 2", limit: 2 } });
  assert.deepEqual(await failure(box.put(1 as unknown as string)), { kind: "notRun", ran: "no", reason: "badArguments" });
  assert.deepEqual(await failure(box.lost()), { kind: "broke", ran: "yes" });
  assert.deepEqual(await failure((box as unknown as { eat(): Promise<void> }).eat()), { kind: "notRun", ran: "no", reason: "noSuchMethod" });
  assert.deepEqual(await failure(device.create(Box, box.id, new Box())), { kind: "notRun", ran: "no", reason: "conflict" });
  assert.deepEqual(await failure(device.create(Box, "i".repeat(129), new Box())), { kind: "notRun", ran: "no", reason: "badArguments" });
  assert.deepEqual(await failure(box.put("x".repeat(2 ** 20))), { kind: "notRun", ran: "no", reason: "tooLarge" });
  assert.deepEqual(await box.all(), ["a", "b"]);
});

test("a method calls others through references, and a cycle of them is refused at once", async () => {
  const [first, second] = [await newBox(), await newBox()];
  await first.link(second);
  assert.match(await first.pass("tea", 1), new RegExp(`^tea at ${second.id} for .`));
  await second.link(first);
  const chain = [first, second, first].map(({ id }) => `Box/${id}`);
  const inner = { name: "CallError", kind: "notRun", reason: "wouldDeadlock", chain };
  const failed = (await failure(first.pass("tea", 2))) as { value: { value: Record<string, unknown> } };
  const { message: _message, ...innermost } = failed.value.value;
  assert.deepEqual(innermost, inner, "what the last call threw has passed two methods");
  const third = await first.make("third");
  assert.equal(await third.put("x"), 1);
});

test("an object of a device is called by the service, and its writes run one after another", async () => {
  const pocket = await device.create(Pocket, "ada", new Pocket(1));
  const there = (await service.find(Pocket, "ada")) ?? assert.fail();
  await Promise.all([there.add(1), pocket.add(2), there.add(3)]);
  assert.equal(await there.count(), 7);
});

test("a device that may hold copies begins an object that is kept in the cloud, which is at the service", async () => {
  const notice = await device.get(Notice, "board", () => new Notice());
  await notice.set("open");
  assert.equal(await notice.show(), "open");
  device.close();
  assert.equal(await (await service.find(Notice, "board"))?.show(), "open");
  device = await connectObjects({ url: server.url, token: server.token, classes: [Pocket, Notice] });
});

test("a host whose connection is cut connects again, and its objects are there still", { timeout: TEST_MS }, async (t) => {
  const way = await server.cuttable();
  const states: Connection["state"][] = [];
  let isOpen: () => void = () => undefined;
  const onConnection = ({ state }: Connection): void => {
    states.push(state);
    if (state === "open") {
      isOpen();
    }
  };
  const host = await connectObjects({ url: way.url, token: server.token, classes: [Pocket], onConnection });
  t.after(() => host.close());
  const pocket = await host.create(Pocket, "cut", new Pocket(5));
  const again = new Promise<void>((resolve) => (isOpen = resolve));
  way.cut();
  await again;
  assert.deepEqual(states, ["open", "lost", "open"]);
  assert.equal(await pocket.count(), 5);
  assert.equal(await (await device.find(Pocket, "cut"))?.count(), 5);
  host.close();
  assert.deepEqual(await failure(pocket.count()), { kind: "notRun", ran: "no", reason: "unreachable" });
});

test("a token that is wrong is told, and is not tried again", async () => {
  const connected = connectObjects({ url: server.url, token: "wrong" }).then((host) => host.close());
  await assert.rejects(connected, /refuses this host: .*token/);
});

/** The program `iolite-objects`, for the classes of the tests. It ends with the test. */
function runProgram(t: TestContext, environment: Record<string, string>): ChildProcessByStdio<null, Readable, null> {
  const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
  const program = [path("../iolite-objects.js"), path("../testing/classes.js")];
  const child = spawn(process.execPath, program, { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

test("iolite-objects serves the classes of a file until it is stopped", { timeout: TEST_MS }, async (t) => {
  const child = runProgram(t, { IOLITE_URL: server.url, IOLITE_TOKEN: server.token });
  const ended = once(child, "exit");
  let said = "";
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.split("\n").length > 3) {
      break;
    }
  }
  child.kill("SIGTERM");
  const [code] = (await ended) as [number];
  const served = ["Box, version 1: all, put, link, pass, make, lost", "Notice, version 1: show, set", "Pocket, version 1: count, add"];
  assert.deepEqual([said, code], [served.map((line) => `serves ${line}\n`).join(""), 0]);
});

test("iolite-objects greets a server with the name that it is given", { timeout: TEST_MS }, async (t) => {
  const listener = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  t.after(() => {
    listener.clients.forEach((socket) => socket.terminate());
    listener.close();
  });
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const name = "0f4C7d1e-2b3a-4c5d-8e9f-a0b1c2d3e4f5";
  runProgram(t, { IOLITE_URL: `ws://127.0.0.1:${port}/sync`, IOLITE_TOKEN: "", IOLITE_NODE: name });
  const [socket] = (await once(listener, "connection")) as [WebSocket];
  const [hello] = (await once(socket, "message")) as [Buffer];
  assert.ok(hello.includes(Buffer.from(name.replaceAll("-", ""), "hex")), hello.toString("hex"));
});
