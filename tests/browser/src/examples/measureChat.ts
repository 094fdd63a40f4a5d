/**
 * How long people wait in the chat, on Iolite and on Redis: in the same page, in two browsers with a link of some length. Prints a line of JSON for each system.
 * Usage: node dist/examples/measureChat.js [LINES] [DELAY_MS, in each direction]
 */

import { startIolite } from "../ioliteServer.js";
import { onStageOf, type Server } from "../stage.js";
import { untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { say, untilLine } from "./chatters.js";
import { startChatOnRedis } from "./redisChat.js";

const [LINES = 40, DELAY_MS = 18] = process.argv.slice(2).map(Number);
const ROOMS = 10;
const LINES_OF_A_ROOM = 10;

/** When what happened in a page, by the computer's clock: milliseconds. */
interface Seen {
  /** Enter was pressed in the field of messages, or a room was chosen. */
  begun: number;
  readonly lines: Record<string, { shown: number; sent?: number }>;
}

declare global {
  var seen: Seen;
}

/** Runs in the page. */
function look(): void {
  const now = (): number => performance.timeOrigin + performance.now();
  globalThis.seen = { begun: 0, lines: {} };
  const begin = (): void => void (seen.begun = now());
  addEventListener("keydown", ({ key }) => key === "Enter" && begin(), true);
  addEventListener("pointerdown", begin, true);
  const note = (): void => {
    for (const line of document.querySelectorAll("[data-mark]")) {
      const own = (seen.lines[line.querySelector(".text")?.textContent ?? ""] ??= { shown: now() });
      if (line.getAttribute("data-mark") === "sent") {
        own.sent ??= now();
      }
    }
  };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
}

const seenBy = (person: Visitor): Promise<Seen> => person.page.evaluate(() => seen);

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

async function measure(start: () => Promise<Server>): Promise<Record<string, number>> {
  const waited: Record<string, number[]> = { posted: [], displayed: [], read: [] };
  await onStageOf({ start, Person: Visitor }, async ({ person }) => {
    const [ada, ben] = [await person("Ada", { delayMs: DELAY_MS }), await person("Ben", { delayMs: DELAY_MS })];
    await Promise.all([ada, ben].map((one) => one.untilOnline()));
    await Promise.all([ada, ben].map((one) => one.page.evaluate(look)));
    for (let number = 0; number < LINES; number += 1) {
      const text = `Line ${number}.`;
      await say(ada, text);
      await Promise.all([untilLine(ada, text, "sent"), untilLine(ben, text, "sent")]);
      const [author, reader] = [await seenBy(ada), await seenBy(ben)];
      waited["posted"]?.push((author.lines[text]?.sent ?? NaN) - author.begun);
      waited["displayed"]?.push((reader.lines[text]?.sent ?? NaN) - author.begun);
    }
    for (let number = 0; number < ROOMS; number += 1) {
      await ada.page.getByRole("textbox", { name: "New room" }).fill(`Room ${number}`);
      await ada.page.keyboard.press("Enter");
      await untilEqual("the open room", () => ada.page.getByRole("heading").innerText(), `Room ${number}`);
      for (let line = 1; line <= LINES_OF_A_ROOM; line += 1) {
        await say(ada, `${line} in room ${number}.`);
      }
      const last = `${LINES_OF_A_ROOM} in room ${number}.`;
      await untilLine(ada, last, "sent");
      await ben.page.locator(`[data-room=room-${number}]`).click();
      await untilLine(ben, last, "sent");
      const reader = await seenBy(ben);
      waited["read"]?.push((reader.lines[last]?.shown ?? NaN) - reader.begun);
    }
  });
  return Object.fromEntries(Object.entries(waited).map(([what, times]) => [`${what}_ms_p50`, median(times)]));
}

const start = (): Promise<Server> => startIolite({ app: "examples/chat/dist" });
for (const [system, of] of [
  ["iolite", start],
  ["redis", startChatOnRedis],
] as const) {
  console.log(JSON.stringify({ system, lines: LINES, rooms: ROOMS, delay_ms: 2 * DELAY_MS, ...(await measure(of)) }));
}
