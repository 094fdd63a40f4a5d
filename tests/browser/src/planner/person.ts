/** Somebody who uses the room planner. */

import type { Locator } from "playwright-core";

import { until, untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";

export interface Place {
  readonly x: number;
  readonly y: number;
}

export class Person extends Visitor {
  piece(id: string): Locator {
    return this.page.locator(`[data-piece="${id}"]`);
  }

  async placeOf(id: string): Promise<Place> {
    const piece = this.piece(id);
    return { x: Number(await piece.getAttribute("data-x")), y: Number(await piece.getAttribute("data-y")) };
  }

  async untilPlace(id: string, place: Place): Promise<void> {
    const ask = async (): Promise<string> => JSON.stringify(await this.placeOf(id));
    await untilEqual(`${id} at ${this.name}`, ask, JSON.stringify(place));
  }

  /** How far the last change of a piece got. */
  markOf(id: string): Promise<string | null> {
    return this.piece(id).getAttribute("data-mark");
  }

  async untilMark(id: string, mark: string): Promise<void> {
    await untilEqual(`the mark of ${id} at ${this.name}`, () => this.markOf(id), mark);
  }

  /** Where others may still see a piece, as the plan shows it. */
  async ghostOf(id: string): Promise<Place> {
    const ghost = this.page.locator(`[data-ghost="${id}"]`);
    return { x: Number(await ghost.getAttribute("data-x")), y: Number(await ghost.getAttribute("data-y")) };
  }

  ghosts(): Promise<(string | null)[]> {
    return this.page.locator("[data-ghost]").evaluateAll((all) => all.map((one) => one.getAttribute("data-ghost")));
  }

  async untilNoGhost(id: string): Promise<void> {
    await untilEqual(`the ghosts of ${id} at ${this.name}`, () => this.page.locator(`[data-ghost="${id}"]`).count(), 0);
  }

  async labelOf(id: string): Promise<string> {
    return (await this.piece(id).getAttribute("aria-label")) ?? "";
  }

  async ghostLabelOf(id: string): Promise<string> {
    return (await this.page.locator(`[data-ghost="${id}"]`).getAttribute("aria-label")) ?? "";
  }

  async press(id: string, ...keys: string[]): Promise<void> {
    await this.piece(id).focus();
    for (const key of keys) {
      await this.page.keyboard.press(key);
    }
  }

  /** Adds a piece from the palette; its id. */
  async add(kind: string): Promise<string> {
    const ids = (): Promise<string[]> =>
      this.page.locator("[data-piece]").evaluateAll((all) => all.map((one) => one.getAttribute("data-piece") ?? ""));
    const before = new Set(await ids());
    await this.page.click(`[data-add=${kind}]`);
    let added: string | undefined;
    await until(`${this.name} has another ${kind}`, async () => (added = (await ids()).find((id) => !before.has(id))));
    return added ?? "";
  }

  async like(): Promise<void> {
    await this.page.click(".like");
  }

  async likes(): Promise<number> {
    return Number(await this.page.locator("[data-likes]").getAttribute("data-likes"));
  }

  async untilLikes(count: number): Promise<void> {
    await untilEqual(`the likes at ${this.name}`, () => this.likes(), count);
  }

  async say(text: string): Promise<void> {
    const field = this.page.getByRole("textbox", { name: "Message" });
    await field.fill(text);
    await field.press("Enter");
  }

  message(text: string): Locator {
    return this.page.locator("[data-message]").filter({ hasText: text });
  }

  async untilMessage(text: string, mark: string): Promise<void> {
    const ask = (): Promise<string | null> => this.message(text).getAttribute("data-mark", { timeout: 1000 });
    await untilEqual(`the message “${text}” at ${this.name}`, ask, mark);
  }
}
