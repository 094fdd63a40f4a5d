/** Classes for tests, as an app has them in a file of its own. */

import { z } from "zod";

import { args, consistentCaching, context, keepInCloud, read, type Ref, sapphire } from "../index.js";

export class Full extends Error {
  override readonly name = "Full";
  constructor(readonly limit: number) {
    super(`no more than ${limit}`);
  }
}

@sapphire("Box")
export class Box {
  things: string[] = [];
  next?: Ref<Box>;

  @read()
  all(): string[] {
    return this.things;
  }

  @args(z.tuple([z.string()]))
  put(thing: string): number {
    if (this.things.length === 2) {
      throw new Full(2);
    }
    return this.things.push(thing);
  }

  link(next: Ref<Box>): void {
    this.next = next;
  }

  /** Goes from box to box, with an await before each call. */
  async pass(thing: string, boxes: number): Promise<string> {
    const { id, caller } = context();
    await Promise.resolve();
    if (boxes === 0 || this.next === undefined) {
      return `${thing} at ${id} for ${caller}`;
    }
    return this.next.pass(thing, boxes - 1);
  }

  async make(id: string): Promise<Ref<Box>> {
    return context().host.get(Box, id, () => new Box());
  }

  lost(): Map<string, string> {
    return new Map();
  }
}

/** Objects of it live where they are made. */
@sapphire("Pocket", { devices: "hold" })
export class Pocket {
  constructor(public coins: number) {}

  @read()
  count(): number {
    return this.coins;
  }

  async add(coins: number): Promise<void> {
    const before = this.coins;
    await new Promise((resolve) => setImmediate(resolve));
    this.coins = before + coins;
  }
}

/** Devices have copies of it, and never the object. */
@sapphire("Notice", { devices: "hold", managers: [consistentCaching(), keepInCloud()] })
export class Notice {
  text = "";

  @read()
  show(): string {
    return this.text;
  }

  set(text: string): void {
    this.text = text;
  }
}
