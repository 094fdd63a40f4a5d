/**
 * Records the picture of the README: two people in two browsers, side by side, one of them cut off for a while. Writes frames, and a list
 * of them for `img2webp`; `scripts/record-demo` makes the animation.
 */

import { mkdir, rm, writeFile } from "node:fs/promises";

import type { Frame, Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { linkTo, type CuttableLink } from "./cuttableLink.js";
import { startIolite } from "./ioliteServer.js";
import { repositoryPath } from "./repository.js";

const FRAMES = repositoryPath("target/demo-frames");
const SIZE = { width: 1500, height: 850 };
/** Of the pictures, in pixels of the screen that is filmed. */
const SCALE = 0.9;

class Recorder {
  readonly #list: string[] = ["-loop 0"];

  constructor(readonly page: Page) {}

  /** Takes what is to be seen now, and shows it this long. */
  async take(durationMs: number): Promise<void> {
    const file = `${FRAMES}/${String(this.#list.length).padStart(4, "0")}.png`;
    await this.page.screenshot({ path: file, scale: "device" });
    this.#list.push(`-lossy -q 65 -m 4 -d ${durationMs} ${file}`);
  }

  async film(frames: number, everyMs: number): Promise<void> {
    for (let frame = 0; frame < frames; frame += 1) {
      await this.take(everyMs);
    }
  }

  caption(text: string): Promise<void> {
    return this.page.locator("h1").evaluate((title, text) => void (title.textContent = text), text);
  }

  save(): Promise<void> {
    return writeFile(`${FRAMES}/list.txt`, `${this.#list.join("\n")}\n`);
  }
}

async function record(): Promise<void> {
  await rm(FRAMES, { recursive: true, force: true });
  await mkdir(FRAMES, { recursive: true });
  const server = await startIolite({ app: "examples/room-planner/dist" });
  const links = await Promise.all([linkTo(server.port), linkTo(server.port)]);
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: SIZE, deviceScaleFactor: SCALE, colorScheme: "light" });
    // The desk is of the same site as its frames, and as local: browsers refuse storage, and local servers, to frames of other sites.
    await page.goto(`${server.origin}/healthz`);
    await page.setContent(desk(`${links[0].origin}/`, `${links[1].origin}/`));
    const recorder = new Recorder(page);
    await play(recorder, await frameOf(page, "ada", "Ada"), await frameOf(page, "ben", "Ben"), links[1]);
    await recorder.save();
  } finally {
    await browser.close();
    await Promise.all(links.map((link) => link.close()));
    await server.stop();
  }
}

/** Two windows on one desk. Each has another origin, so each browser frame has a storage of its own. */
function desk(left: string, right: string): string {
  return `<!doctype html><style>
    body { margin: 0; height: 100vh; display: grid; grid-template-columns: 1060px 390px; gap: 0 18px; place-content: center;
      background: #d9dbe8; font: 600 15px Inter, "DejaVu Sans", sans-serif; color: #3a3c4e; }
    h1 { grid-column: 1 / -1; margin: 0 0 14px; font-size: 24px; text-align: center; color: #23242f; }
    figure { margin: 0; } figcaption { padding: 0 0 8px 6px; }
    iframe { display: block; width: 100%; height: 730px; border: 0; border-radius: 14px; box-shadow: 0 10px 40px #2a2c4433; }
  </style>
  <h1>&nbsp;</h1>
  <figure><figcaption>Ada's laptop</figcaption><iframe name="ada" src="${left}"></iframe></figure>
  <figure><figcaption>Ben's phone</figcaption><iframe name="ben" src="${right}"></iframe></figure>`;
}

async function frameOf(page: Page, name: string, author: string): Promise<Frame> {
  const frame = page.frame({ name });
  if (frame === null) {
    throw new Error(`the desk has no frame ${name}`);
  }
  await frame.waitForSelector("body[data-ready]", { state: "attached" });
  await frame.evaluate((author) => localStorage.setItem("examples.name", author), author);
  await reload(frame);
  // Its page has to open without a server later.
  await frame.waitForFunction(() => navigator.serviceWorker.controller !== null);
  return frame;
}

async function play(recorder: Recorder, ada: Frame, ben: Frame, bensLink: CuttableLink): Promise<void> {
  await untilConfirmed(ada);
  await recorder.caption("Both are connected");
  await recorder.take(1200);
  await drag(recorder, ada, "plant-9", -290, -150);
  await recorder.film(3, 120);
  await say(recorder, ada, "The plant by the door?");
  await recorder.film(2, 700);

  await recorder.caption("Ben's network is cut. He goes on");
  await bensLink.cut();
  await ben.locator("[data-connection=online]").waitFor({ state: "detached" });
  await recorder.take(1000);
  await ben.click("[data-add=lamp]");
  await recorder.film(2, 400);
  await nudge(recorder, ben, "table-5", "ArrowUp", 4);
  await ben.click(".like");
  await recorder.film(2, 500);
  await nudge(recorder, ada, "desk-6", "ArrowDown", 5);
  await ben.click(".sync-chip");
  await recorder.film(2, 1000);

  await recorder.caption("Still cut, Ben reloads the page. Nothing is lost");
  await reload(ben);
  await recorder.film(2, 700);
  await ben.click(".sync-chip");
  await recorder.take(1400);

  await recorder.caption("Ben is back. Everything takes effect, once");
  await bensLink.mend();
  await untilConfirmed(ben);
  await recorder.film(4, 200);
  await ben.click(".sync-chip");
  await recorder.film(2, 1200);
}

async function reload(frame: Frame): Promise<void> {
  await frame.goto(frame.url());
  await frame.waitForSelector("body[data-ready]", { state: "attached" });
}

async function untilConfirmed(frame: Frame): Promise<void> {
  await frame.locator("[data-pending='0']").waitFor({ state: "attached" });
}

async function drag(recorder: Recorder, frame: Frame, id: string, dx: number, dy: number): Promise<void> {
  const box = await frame.locator(`[data-piece=${id}] .turned`).boundingBox();
  if (box === null) {
    throw new Error(`${id} is not on the screen`);
  }
  const { mouse } = recorder.page;
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const steps = 18;
  await mouse.move(at.x, at.y);
  await mouse.down();
  for (let step = 1; step <= steps; step += 1) {
    await mouse.move(at.x + (dx * step) / steps, at.y + (dy * step) / steps);
    await recorder.take(80);
  }
  await mouse.up();
}

async function nudge(recorder: Recorder, frame: Frame, id: string, key: string, times: number): Promise<void> {
  const piece = frame.locator(`[data-piece=${id}]`);
  for (let time = 0; time < times; time += 1) {
    await piece.press(key);
    await recorder.take(130);
  }
}

async function say(recorder: Recorder, frame: Frame, text: string): Promise<void> {
  const field = frame.getByRole("textbox", { name: "Message" });
  for (let end = 4; end < text.length + 4; end += 4) {
    await field.fill(text.slice(0, end));
    await recorder.take(90);
  }
  await field.press("Enter");
}

await record();
