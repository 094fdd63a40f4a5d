/**
 * What the tabs of one client tell each other. Every message goes to all of them and names the tab that it is for or from; nobody hears
 * its own.
 */

import type { Channel, Platform } from "../platform/platform.js";

/** A number that no other tab of the user has. */
export type TabId = number;

/** What holds for all tabs, as the one that leads knows it. */
export interface SharedState {
  readonly paused: boolean;
  readonly persistent: boolean;
}

export type TabMessage =
  /** From the core of the tab that leads to that of one that follows. */
  | { readonly kind: "toTab"; readonly to: TabId; readonly bytes: Uint8Array; readonly shared: SharedState }
  /** From the core of a tab that follows to that of the one that leads. */
  | { readonly kind: "toLeader"; readonly from: TabId; readonly bytes: Uint8Array }
  /** The sender leads from now on. */
  | { readonly kind: "leads"; readonly shared: SharedState }
  /** This tab is closed, or put aside. */
  | { readonly kind: "gone"; readonly from: TabId }
  /** The storage has no room for what the sender writes. */
  | { readonly kind: "full" }
  /** A tab that follows asks whether the one that leads runs. */
  | { readonly kind: "ask" }
  /** The tab that leads runs. */
  | { readonly kind: "here" }
  /** The tab that leads does not answer, so the sender takes the lead. */
  | { readonly kind: "takes" }
  /** The app asked for silence, or for a connection again. */
  | { readonly kind: "paused"; readonly paused: boolean }
  /** The app has another token. */
  | { readonly kind: "token"; readonly token: string }
  /** The token of the tab that leads is refused, and the sender has this one. */
  | { readonly kind: "offer"; readonly token: string }
  /** A tab that follows asks the one that leads whether it may remove all that the device has of the user. `discard`: also what is pending. */
  | { readonly kind: "signOut"; readonly from: TabId; readonly discard: boolean }
  /** The answer: it may not, and why. */
  | { readonly kind: "staysIn"; readonly to: TabId; readonly problem: string }
  /** The user signs out: this tab removes what there is, and all others end. */
  | { readonly kind: "signedOut"; readonly by: TabId }
  /** A tab that follows asks the one that leads to bring a part of a row's blob onto the device. */
  | ({ readonly kind: "fetch"; readonly from: TabId; readonly number: number } & PartOfBlob)
  /** The part is there, or (a text that is not empty) it cannot be had. */
  | { readonly kind: "fetched"; readonly to: TabId; readonly number: number; readonly problem: string }
  /** A tab that follows asks for the conflicts of a causal table. */
  | { readonly kind: "askConflicts"; readonly table: string }
  /** The conflicts of a table are these, written as arguments of mutators are. */
  | { readonly kind: "conflicts"; readonly table: string; readonly list: string }
  /** A tab that follows asks the one that leads to decide conflicts. */
  | { readonly kind: "resolve"; readonly from: TabId; readonly number: number; readonly table: string; readonly choices: string }
  /** The conflicts are decided, or (a text that is not empty) why they are not. */
  | { readonly kind: "resolved"; readonly to: TabId; readonly number: number; readonly problem: string };

/** Bytes of the blob that a cell has, from `begin` to `end` (not included). `tree`: the blob, as the core writes it. */
export interface PartOfBlob {
  readonly table: string;
  readonly key: readonly unknown[];
  readonly column: string;
  readonly tree: string;
  readonly begin: number;
  readonly end: number;
}

type IsPart = (value: unknown) => boolean;

const isNumber: IsPart = (value) => typeof value === "number";
const isBoolean: IsPart = (value) => typeof value === "boolean";
const isString: IsPart = (value) => typeof value === "string";
const isArray: IsPart = (value) => Array.isArray(value);
const isBytes: IsPart = (value) => value instanceof Uint8Array;
const isShared: IsPart = (value) => hasParts(value, { paused: isBoolean, persistent: isBoolean });

/** The parts of each kind of message. */
const PARTS: { readonly [K in TabMessage["kind"]]: Record<Exclude<keyof Extract<TabMessage, { kind: K }>, "kind">, IsPart> } = {
  toTab: { to: isNumber, bytes: isBytes, shared: isShared },
  toLeader: { from: isNumber, bytes: isBytes },
  leads: { shared: isShared },
  gone: { from: isNumber },
  full: {},
  ask: {},
  here: {},
  takes: {},
  paused: { paused: isBoolean },
  token: { token: isString },
  offer: { token: isString },
  signOut: { from: isNumber, discard: isBoolean },
  staysIn: { to: isNumber, problem: isString },
  signedOut: { by: isNumber },
  fetch: { from: isNumber, number: isNumber, table: isString, key: isArray, column: isString, tree: isString, begin: isNumber, end: isNumber },
  fetched: { to: isNumber, number: isNumber, problem: isString },
  askConflicts: { table: isString },
  conflicts: { table: isString, list: isString },
  resolve: { from: isNumber, number: isNumber, table: isString, choices: isString },
  resolved: { to: isNumber, number: isNumber, problem: isString },
};

export class TabChannel {
  readonly #channel: Channel;
  #closed = false;

  /** `name`: the storage's, which only tabs of one client have in common. */
  constructor(open: NonNullable<Platform["openChannel"]>, name: string, received: (message: TabMessage) => void) {
    this.#channel = open(name, (message) => {
      if (!this.#closed && isTabMessage(message)) {
        received(message);
      }
    });
  }

  post(message: TabMessage): void {
    if (!this.#closed) {
      this.#channel.post(message);
    }
  }

  close(): void {
    this.#closed = true;
    this.#channel.close();
  }
}

/** Draws a number at random, of the 53 bits that are exact. */
export function newTabId(): TabId {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 11) * 2 ** 32 + low;
}

/** Another release of this package may say more, or say it otherwise, which is not heard. */
function isTabMessage(message: unknown): message is TabMessage {
  const kind = hasParts(message, { kind: isString }) ? String(message["kind"]) : "";
  return Object.hasOwn(PARTS, kind) && hasParts(message, PARTS[kind as TabMessage["kind"]]);
}

function hasParts(value: unknown, parts: Record<string, IsPart>): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  return Object.entries(parts).every(([name, isPart]) => isPart((value as Record<string, unknown>)[name]));
}
