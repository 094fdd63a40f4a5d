import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";

import { untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { onStage, PHONE, savePicture } from "./stage.js";

/** A picture of 3 MiB that nothing can pack: a bitmap of noise. */
function photo(): Buffer {
  const side = 1024;
  const header = Buffer.alloc(54);
  header.write("BM");
  header.writeUInt32LE(54 + side * side * 3, 2);
  header.writeUInt32LE(54, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(side, 18);
  header.writeInt32LE(side, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(24, 28);
  return Buffer.concat([header, randomBytes(side * side * 3)]);
}

async function add(person: Visitor, name: string): Promise<void> {
  await person.page.locator("input[type=file]").setInputFiles({ name, mimeType: "image/bmp", buffer: photo() });
}

/** Waits until the thumbnail of a photo is shown, and not only its place. */
async function untilShown(person: Visitor, name: string): Promise<void> {
  const picture = person.page.locator(`.thumbnail img[alt="${name}"]`);
  await untilEqual(`the thumbnail of ${name} at ${person.name}`, () => picture.evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth)).then(String), "240");
}

async function openPhoto(person: Visitor, name: string): Promise<void> {
  await person.page.locator(".thumbnail", { has: person.page.locator(`img[alt="${name}"]`) }).click();
  const shown = person.page.getByRole("dialog").locator("img");
  await untilEqual(`${name} at ${person.name}`, () => shown.evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth)).then(String), "1024");
}

test("a photo of 3 MiB that one adds is shown to another", () =>
  onStage("album", async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben", PHONE)];
    await Promise.all([ada.untilOnline(), ben.untilOnline()]);
    await add(ada, "harbour");
    await untilShown(ada, "harbour");
    await untilShown(ben, "harbour");
    await ada.untilPending(0);
    await savePicture(ada, "album");
    await savePicture(ben, "album-phone");
    await openPhoto(ben, "harbour");
    await savePicture(ben, "album-photo-phone");
    assert.equal(await ben.page.getByRole("dialog").locator("img").getAttribute("data-bytes"), String(54 + 3 * 1024 * 1024));
  }));

test("a photo that is added without a network shows at once, outlives its page, and is sent when there is one", () =>
  onStage("album", async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben")];
    await Promise.all([ada.untilOnline(), ben.untilOnline()]);
    await ada.untilServiceWorkerControls();
    await ada.cutLink();
    await untilEqual("Ada's connection", async () => (await ada.connection()) === "online", false);
    await add(ada, "lighthouse");
    await untilShown(ada, "lighthouse");
    await ada.page.reload();
    await untilShown(ada, "lighthouse");
    await openPhoto(ada, "lighthouse");
    assert.equal(await ben.page.locator(".thumbnail").count(), 0);
    await ada.mendLink();
    await untilShown(ben, "lighthouse");
    await openPhoto(ben, "lighthouse");
  }));
