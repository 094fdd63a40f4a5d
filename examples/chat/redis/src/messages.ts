/** What page and server tell each other, as JSON over a WebSocket. */

export interface Room {
  readonly id: string;
  readonly name: string;
  readonly count: number;
}

export interface Line {
  readonly id: string;
  readonly by: string;
  readonly author: string;
  readonly text: string;
  readonly at: number;
}

/** A line, with its place in the room's stream. */
export type PlacedLine = Line & { readonly place: string };

export type ToServer =
  | { readonly type: "open"; readonly room: string; readonly name: string }
  | { readonly type: "say"; readonly room: string; readonly line: Line }
  | { readonly type: "look"; readonly room: string; readonly id: string; readonly name: string }
  /** Asks for the lines after a place, or for the last ones, and for all that come. */
  | { readonly type: "watch"; readonly room: string; readonly after: string | undefined; readonly most: number };

export type ToPage =
  | { readonly type: "rooms"; readonly rooms: readonly Room[] }
  | { readonly type: "lines"; readonly room: string; readonly lines: readonly PlacedLine[]; readonly all: boolean }
  | { readonly type: "people"; readonly room: string; readonly people: readonly { id: string; name: string }[] }
  /** It is in Redis and at a replica: the page need not keep it. */
  | { readonly type: "said"; readonly id: string };
