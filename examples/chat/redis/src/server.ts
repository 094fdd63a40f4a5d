/** The chat's server over Redis. `node dist/server.js REDIS_URL PORT PAGE_FOLDER` */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

import { createClient } from "redis";
import { type WebSocket, WebSocketServer } from "ws";

import type { Line, PlacedLine, Room, ToPage, ToServer } from "./messages.js";

const [url = "", port = "0", folder = "."] = process.argv.slice(2);
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
/** How long a line that is sent again is known to have been said. */
const KNOWN_FOR_SECONDS = 30 * 24 * 3600;
const REPLICA_WITHIN_MS = 1000;
const HERE_FOR_MS = 25_000;
/** Longer texts are not taken. The page has the same limits, so it never sends them. */
const LONGEST = { room: 40, name: 24, text: 2000 };

/** A line that was said already is not said again: its acknowledgement may have been lost. It is a write all the same, for WAIT to wait for. */
const SAY = `
if redis.call("SET", KEYS[1], "", "NX", "EX", ARGV[1]) then
  redis.call("XADD", KEYS[2], "*", "line", ARGV[2])
  redis.call("PUBLISH", "news", ARGV[3])
else
  redis.call("EXPIRE", KEYS[1], ARGV[1])
end`;

const redis = await createClient({ url }).on("error", (error) => console.error(error.message)).connect();
// WAIT holds a connection up, and one that listens can do nothing else.
const writing = await redis.duplicate().on("error", () => undefined).connect();
const listening = await redis.duplicate().on("error", () => undefined).connect();

/** A page that is connected: the room that it looks at, and how far it was told. */
interface Page {
  room: string | undefined;
  last: string | undefined;
  /** The person whom it has named in that room. */
  who: string | undefined;
  /** One answer after the other. */
  turn: Promise<void>;
}
const pages = new Map<WebSocket, Page>();

function tell(socket: WebSocket, message: ToPage): void {
  socket.send(JSON.stringify(message));
}

async function rooms(): Promise<readonly Room[]> {
  const names = Object.entries(await redis.hGetAll("rooms")).sort();
  const counts = await Promise.all(names.map(([id]) => redis.xLen(`log:${id}`)));
  return names.map(([id, name], index) => ({ id, name, count: counts[index] ?? 0 }));
}

async function people(room: string): Promise<readonly { id: string; name: string }[]> {
  const ids = await redis.zRangeByScore(`here:${room}`, Date.now() - HERE_FOR_MS, "+inf");
  const names = ids.length === 0 ? [] : await redis.hmGet("names", ids);
  return ids.map((id, index) => ({ id, name: names[index] ?? "" }));
}

function placed({ id, message }: { id: string; message: Record<string, string> }): PlacedLine {
  return { ...(JSON.parse(message["line"] ?? "{}") as Line), place: id };
}

/** Tells a page the lines that it was not told yet. */
function catchUp(socket: WebSocket, page: Page): void {
  page.turn = page.turn
    .then(async () => {
      const { room, last } = page;
      if (room === undefined) {
        return;
      }
      const entries = (await redis.xRange(`log:${room}`, last === undefined ? "-" : `(${last}`, "+")) ?? [];
      const there = await people(room);
      // Meanwhile somebody may have opened another room.
      if (page.room === room && page.last === last) {
        page.last = entries.at(-1)?.id ?? last;
        tell(socket, { type: "lines", room, lines: entries.map(placed), all: false });
        tell(socket, { type: "people", room, people: there });
      }
    })
    .catch(console.error);
}

async function onMessage(socket: WebSocket, page: Page, message: ToServer): Promise<void> {
  switch (message.type) {
    case "open":
      if (message.name.length > LONGEST.room) {
        return;
      }
      await writing.multi().hSetNX("rooms", message.room, message.name).publish("news", message.room).exec();
      return;
    case "say": {
      const { room, line } = message;
      if (line.author.length > LONGEST.name || line.text.length > LONGEST.text) {
        return;
      }
      const call = { keys: [`said:${line.id}`, `log:${room}`], arguments: [String(KNOWN_FOR_SECONDS), JSON.stringify(line), room] };
      await writing.eval(SAY, call);
      // Without an answer the page sends it again, later.
      if ((await writing.wait(1, REPLICA_WITHIN_MS)) >= 1) {
        tell(socket, { type: "said", id: line.id });
      }
      return;
    }
    case "look": {
      const { room, id, name } = message;
      if (name.length > LONGEST.name) {
        return;
      }
      page.who = id;
      await writing.multi().zAdd(`here:${room}`, { score: Date.now(), value: id }).hSet("names", id, name).publish("news", room).exec();
      return;
    }
    case "watch": {
      const { room, after, most } = message;
      if (page.room !== room) {
        await leave(page);
      }
      const newest = after === undefined ? ((await redis.xRevRange(`log:${room}`, "+", "-", { COUNT: most })) ?? []).reverse() : [];
      Object.assign(page, { room, last: newest.at(-1)?.id ?? after });
      if (after === undefined) {
        tell(socket, { type: "lines", room, lines: newest.map(placed), all: true });
      }
      catchUp(socket, page);
    }
  }
}

/** Takes who looked at a page's room out of it. */
async function leave({ room, who }: Page): Promise<void> {
  if (room !== undefined && who !== undefined) {
    await writing.multi().zRem(`here:${room}`, who).publish("news", room).exec();
  }
}

async function onNews(room: string | undefined): Promise<void> {
  const all = await rooms();
  for (const [socket, page] of pages) {
    tell(socket, { type: "rooms", rooms: all });
    if (room === undefined || page.room === room) {
      catchUp(socket, page);
    }
  }
}

await listening.subscribe("news", (room) => void onNews(room).catch(console.error));
// News that were published while the connection was lost are lost: this looks at everything again.
listening.on("ready", () => void onNews(undefined).catch(console.error));

const http = createServer((request, response) => {
  const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
  const file = path === "/" ? "/index.html" : path;
  readFile(join(folder, file)).then(
    (content) => response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(content),
    () => response.writeHead(404).end(),
  );
});
new WebSocketServer({ server: http, path: "/chat" }).on("connection", (socket) => {
  const page: Page = { room: undefined, last: undefined, who: undefined, turn: Promise.resolve() };
  pages.set(socket, page);
  socket.on("message", (data) => void onMessage(socket, page, JSON.parse(String(data)) as ToServer).catch(console.error));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    pages.delete(socket);
    leave(page).catch(console.error);
  });
  rooms().then((all) => tell(socket, { type: "rooms", rooms: all }), console.error);
});
http.listen(Number(port), "127.0.0.1", () => console.log(JSON.stringify(http.address())));
