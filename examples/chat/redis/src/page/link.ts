/** The page's link to the server: made again when it is lost. What was not acknowledged is kept on the device, and sent again. */

import type { Line, PlacedLine, Room, ToPage, ToServer } from "../messages.js";

const OUTBOX = "chat.outbox";
const CACHE = "chat.cache";
/** Lines of a room that are kept on the device. */
const KEPT = 200;
const AGAIN_AFTER_MS = 500;
/** An answer that does not come in this time does not come. */
const RESEND_EVERY_MS = 5000;

export interface Waiting {
  readonly room: string;
  readonly line: Line;
}

export interface State {
  readonly online: boolean;
  readonly paused: boolean;
  readonly rooms: readonly Room[] | undefined;
  readonly lines: Readonly<Record<string, readonly PlacedLine[]>>;
  readonly people: Readonly<Record<string, readonly { id: string; name: string }[]>>;
  readonly waiting: readonly Waiting[];
}

function kept<T>(key: string, otherwise: T): T {
  return JSON.parse(localStorage.getItem(key) ?? "null") ?? otherwise;
}

const cache = kept<Pick<State, "rooms" | "lines">>(CACHE, { rooms: undefined, lines: {} });
let state: State = { ...cache, online: false, paused: false, people: {}, waiting: kept<Waiting[]>(OUTBOX, []) };
const listeners = new Set<() => void>();
let socket: WebSocket | undefined;
let watched: { room: string; most: number } | undefined;

export const current = (): State => state;

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function become(changes: Partial<State>): void {
  state = { ...state, ...changes };
  if (changes.rooms !== undefined || changes.lines !== undefined) {
    const lines = Object.fromEntries(Object.entries(state.lines).map(([room, all]) => [room, all.slice(-KEPT)]));
    localStorage.setItem(CACHE, JSON.stringify({ rooms: state.rooms, lines }));
  }
  listeners.forEach((listener) => listener());
}

/** Another tab has an outbox too: this one changes only its own entries. */
function changeOutbox(change: (waiting: readonly Waiting[]) => readonly Waiting[]): void {
  const waiting = change(kept<Waiting[]>(OUTBOX, []));
  localStorage.setItem(OUTBOX, JSON.stringify(waiting));
  become({ waiting });
}

export function send(message: ToServer): void {
  if (socket?.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(message));
  }
}

export function say(room: string, line: Line): void {
  changeOutbox((waiting) => [...waiting, { room, line }]);
  send({ type: "say", room, line });
}

export function watch(room: string, most: number): void {
  const known = state.lines[room] ?? [];
  const after = known.length >= most ? known.at(-1)?.place : undefined;
  watched = { room, most };
  send({ type: "watch", room, after, most });
}

export function pause(paused: boolean): void {
  become({ paused });
  if (paused) {
    socket?.close();
  } else {
    connect();
  }
}

function onMessage(message: ToPage): void {
  switch (message.type) {
    case "rooms":
      return become({ rooms: message.rooms });
    case "people":
      return become({ people: { ...state.people, [message.room]: message.people } });
    case "lines": {
      const before = message.all ? [] : (state.lines[message.room] ?? []);
      const known = new Set(before.map(({ id }) => id));
      const lines = [...before, ...message.lines.filter(({ id }) => !known.has(id))];
      return become({ lines: { ...state.lines, [message.room]: lines } });
    }
    case "said":
      return changeOutbox((waiting) => waiting.filter(({ line }) => line.id !== message.id));
  }
}

function resend(): void {
  state.waiting.forEach(({ room, line }) => send({ type: "say", room, line }));
}

export function connect(): void {
  if (state.paused || (socket !== undefined && socket.readyState <= WebSocket.OPEN)) {
    return;
  }
  socket = new WebSocket(`${location.origin.replace("http", "ws")}/chat`);
  socket.onopen = () => {
    become({ online: true });
    if (watched !== undefined) {
      watch(watched.room, watched.most);
    }
    resend();
  };
  socket.onmessage = ({ data }) => onMessage(JSON.parse(String(data)) as ToPage);
  socket.onclose = () => {
    become({ online: false });
    setTimeout(connect, AGAIN_AFTER_MS);
  };
}

setInterval(resend, RESEND_EVERY_MS);
