/** The blobs of a client: put onto this device, and read piece by piece. */

import { openBuilder, openWalk } from "../arguments/module.js";
import { refusal, shown } from "../arguments/checks.js";
import { bytesOf, isBytes } from "../arguments/values.js";
import type { Seat } from "../client/seat.js";
import { IoliteError } from "../errors.js";
import type { PartOfBlob } from "../tabs/tabChannel.js";
import { isChunk } from "../wasm/iolite_wasm.js";
import { BlobValue, type CellOfBlob } from "./value.js";

/** A source of a blob: bytes, a `Blob` or `File`, or a stream of bytes. */
export type BlobSource = Uint8Array | Blob | ReadableStream<Uint8Array>;

/** A part of a blob, in bytes: from `from` (included) to `to` (not included). */
export interface BlobPart {
  readonly from?: number;
  readonly to?: number;
}

/** How much of a blob is on this device. */
export interface BlobState {
  readonly here: "all" | "part" | "none";
  readonly bytesHere: number;
}

/** The blob of a row, for reading. */
export interface OpenBlob {
  /** The content, fetched as it is read, four chunks ahead. Its memory is that, and not the blob. */
  stream(part?: BlobPart): ReadableStream<Uint8Array>;
  /** All bytes of a part. */
  bytes(part?: BlobPart): Promise<Uint8Array>;
  /** An address for `<img>` and the like, of the whole blob, which is in memory as long as the address is. Call `URL.revokeObjectURL` when it is shown no more. `type`: such as `image/jpeg`. */
  url(type?: string): Promise<string>;
  /** How much of it is on this device. */
  state(): Promise<BlobState>;
}

/** The blobs of a client. */
export interface Blobs {
  /**
   * Takes a source onto this device, and makes a blob of it. Resolves when all of it is here: then it can be an argument of a mutator, and the
   * client sends the content before the mutation. Rejects with code `storage` if the device has no room, and with the stream's own error.
   */
  put(source: BlobSource): Promise<BlobValue>;
  /** Opens a blob that was read from a row, or one that was put on this device. */
  open(blob: BlobValue): OpenBlob;
  /** Why calls with blobs are not sent, and blobs not fetched, at the moment; undefined if nothing waits for anything but the network. Always undefined in a tab that follows. */
  readonly waiting: string | undefined;
}

const CHUNK_BYTES = 65_536;
const CHUNKS_AHEAD = 4;
/** The time after the loss of a connection from which on a part that is not here is called unavailable. */
const OFFLINE_AFTER_MS = 2000;
const OFFLINE = Symbol("offline");

export class TabBlobs implements Blobs {
  readonly #seat: Seat;

  constructor(seat: Seat) {
    this.#seat = seat;
  }

  async put(source: BlobSource): Promise<BlobValue> {
    this.#seat.checkUsable();
    const builder = openBuilder();
    const keep = async (): Promise<void> => {
      for (let chunk = builder.pop(); chunk !== undefined; chunk = builder.pop()) {
        const [id, content] = chunk as [string, Uint8Array];
        await this.#seat.chunks.keep(id, content).catch((error: unknown) => {
          throw new IoliteError("storage", `this device has no room for the blob: ${String(error)}`, { cause: error });
        });
      }
    };
    for await (const bytes of piecesOf(source)) {
      builder.push(bytes);
      await keep();
    }
    const blob = builder.finish() as BlobValue;
    await keep();
    return blob;
  }

  open(blob: BlobValue): OpenBlob {
    const content = BlobValue.contentOf(blob);
    if (content === undefined) {
      throw refusal("call", `a blob is opened, not ${shown(blob)}`);
    }
    const cell = BlobValue.cellOf(blob);
    const read = (from: number, to: number): Promise<Uint8Array> =>
      typeof content === "string" ? this.#read(content, cell, from, to) : Promise.resolve(content.slice(from, to));
    const bounds = ({ from = 0, to = blob.length }: BlobPart = {}): [number, number] => [
      Math.min(placeIn(from, "from"), blob.length),
      Math.min(placeIn(to, "to"), blob.length),
    ];
    const stream = (part?: BlobPart): ReadableStream<Uint8Array> => {
      const [begin, end] = bounds(part);
      let at = begin;
      return new ReadableStream({
        pull: async (controller) => {
          if (at >= end) {
            return controller.close();
          }
          const next = Math.min((Math.floor(at / CHUNK_BYTES) + CHUNKS_AHEAD) * CHUNK_BYTES, end);
          controller.enqueue(await read(at, next));
          at = next;
        },
      });
    };
    const bytes = async (part?: BlobPart): Promise<Uint8Array> => {
      const [from, to] = bounds(part);
      const all = new Uint8Array(Math.max(to - from, 0));
      let filled = 0;
      for await (const piece of piecesOf(stream(part))) {
        all.set(piece, filled);
        filled += piece.length;
      }
      return all;
    };
    return {
      stream,
      bytes,
      url: async (type) => {
        const pieces: Uint8Array<ArrayBuffer>[] = [];
        for await (const piece of piecesOf(stream())) {
          pieces.push(piece as Uint8Array<ArrayBuffer>);
        }
        return URL.createObjectURL(new Blob(pieces, type === undefined ? {} : { type }));
      },
      state: () => this.#state(blob, content),
    };
  }

  get waiting(): string | undefined {
    const host = this.#seat.host;
    return host?.role === "leader" ? host.callOnly((core) => core.blobsWait()) : undefined;
  }

  async #read(tree: string, cell: CellOfBlob | undefined, from: number, to: number): Promise<Uint8Array> {
    const here = await this.#held(tree, from, to);
    if (here !== undefined) {
      return here;
    }
    if (cell === undefined) {
      throw new IoliteError("unavailable", "this blob was put on another device: open the one that its row has");
    }
    await this.#fetch({ ...cell, tree, begin: from, end: to });
    const fetched = await this.#held(tree, from, to);
    if (fetched === undefined) {
      throw new IoliteError("storage", "this device has no room for the blob");
    }
    return fetched;
  }

  /** The bytes, if all of them are on this device. */
  async #held(tree: string, from: number, to: number): Promise<Uint8Array | undefined> {
    const walk = openWalk(tree, from, to);
    const bytes = new Uint8Array(to - from);
    let filled = 0;
    for (let met = walk.next(); met !== undefined; met = walk.next()) {
      const [id, isNode, first, end] = met as [string, boolean, number, number];
      const content = await this.#seat.chunks.load(id);
      if (content === undefined || !isChunk(id, content)) {
        return undefined;
      }
      if (isNode) {
        walk.enter(content);
      } else {
        const piece = content.subarray(first, end);
        if (piece.length !== end - first) {
          throw new IoliteError("unavailable", `the blob is damaged: its chunk ${id} is shorter than its place asks for. Put the blob again`);
        }
        bytes.set(piece, filled);
        filled += piece.length;
      }
    }
    return bytes;
  }

  async #fetch(part: PartOfBlob): Promise<void> {
    this.#seat.checkUsable();
    const { host } = this.#seat;
    if (host === undefined) {
      throw new IoliteError("not-ready", "this tab is about to take the lead: read it again in a moment");
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stop = (): void => undefined;
    const problem = await new Promise<string | typeof OFFLINE | undefined>((resolve) => {
      const look = (): void => {
        const { status } = this.#seat.connection.state;
        if (status === "offline" || status === "refused") {
          resolve(OFFLINE);
        }
        timer = setTimeout(look, OFFLINE_AFTER_MS);
      };
      timer = setTimeout(look, OFFLINE_AFTER_MS);
      stop = host.fetch(part, resolve);
    }).finally(() => clearTimeout(timer));
    if (problem === OFFLINE) {
      stop();
      throw new IoliteError("unavailable", "a part of the blob is not on this device, and there is no connection");
    }
    if (problem !== undefined) {
      throw new IoliteError("unavailable", problem);
    }
  }

  async #state(blob: BlobValue, content: Uint8Array | string): Promise<BlobState> {
    if (typeof content !== "string") {
      return { here: "all", bytesHere: content.length };
    }
    const walk = openWalk(content, 0, blob.length);
    let bytesHere = 0;
    for (let met = walk.next(); met !== undefined; met = walk.next()) {
      const [id, isNode, first, end] = met as [string, boolean, number, number];
      const chunk = await this.#seat.chunks.load(id);
      if (chunk !== undefined && isChunk(id, chunk)) {
        if (isNode) {
          walk.enter(chunk);
        } else {
          bytesHere += end - first;
        }
      }
    }
    return { here: bytesHere === blob.length ? "all" : bytesHere === 0 ? "none" : "part", bytesHere };
  }
}

function placeIn(given: unknown, name: string): number {
  if (typeof given !== "number" || !Number.isSafeInteger(given) || given < 0) {
    throw refusal("call", `the part of a blob: ${name} is a whole number of bytes, not ${shown(given)}`);
  }
  return given;
}

async function* piecesOf(source: BlobSource): AsyncGenerator<Uint8Array> {
  if (isBytes(source)) {
    // A copy: the app may change its bytes meanwhile.
    yield bytesOf(source, "call", "the content of a blob");
    return;
  }
  const stream = source instanceof ReadableStream ? source : isSourceOfStream(source) ? source.stream() : undefined;
  if (stream === undefined) {
    throw refusal("call", `a blob is made of a Uint8Array, a Blob, or a stream of bytes, not of ${shown(source)}`);
  }
  const reader = (stream as ReadableStream<unknown>).getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      if (!isBytes(read.value)) {
        throw refusal("call", `the stream of a blob has Uint8Arrays, not ${shown(read.value)}`);
      }
      yield read.value;
    }
  } finally {
    // A stream that is given up half-way is told so.
    reader.cancel().catch(() => undefined);
  }
}

function isSourceOfStream(source: unknown): source is Blob {
  return typeof Blob === "function" && source instanceof Blob;
}
