/**
 * Blobs: large values that a row names.
 *
 * Invariant: a blob never changes. What it gives of its content is a copy. Its content is read here, and not through the properties of what an app made.
 */

import { refusal, shown } from "./arguments/checks.js";
import { bytesOf, isBytes } from "./arguments/values.js";

/** Bytes of a blob that lies in its row. */
const INLINE_BYTES_MAX = 4096;

const key = Symbol("made by this package");

/** A value of a column `s.blob()`. Make one with `blobOf()`. */
export class BlobValue {
  readonly #content: Uint8Array;
  readonly #digest: string | undefined;

  /** @internal */
  constructor(made: unknown, content: Uint8Array, digest?: string) {
    if (made !== key) {
      throw refusal("call", "make a blob with blobOf()");
    }
    this.#content = content;
    this.#digest = digest;
  }

  /** Bytes of content. */
  get length(): number {
    return this.#content.length;
  }

  /** Names the content, as 64 hexadecimal digits; undefined until the blob is read from a row. Blobs of equal length and digest are equal. */
  get digest(): string | undefined {
    return this.#digest;
  }

  /** A copy of the content. */
  bytes(): Uint8Array {
    return this.#content.slice();
  }

  /** @internal The content if it really is a blob, without asking a property of it. */
  static contentOf(value: unknown): Uint8Array | undefined {
    return typeof value === "object" && value !== null && #content in value ? value.#content : undefined;
  }
}

/**
 * A blob of these bytes, for now of at most 4 KiB.
 *
 * @throws code `call` for anything but a Uint8Array, and for a longer one.
 */
export function blobOf(bytes: Uint8Array): BlobValue {
  if (!isBytes(bytes)) {
    throw refusal("call", `a blob is made of a Uint8Array, not of ${shown(bytes)}`);
  }
  const content = bytesOf(bytes, "call", "the content of a blob");
  if (content.length > INLINE_BYTES_MAX) {
    throw refusal("call", `a blob of ${content.length} bytes: those of more than ${INLINE_BYTES_MAX} are not built yet`);
  }
  return new BlobValue(key, content);
}

/** @internal As the core makes one: the bytes are nobody else's. */
export function blobOfCore(digest: string, content: Uint8Array): BlobValue {
  return new BlobValue(key, content, digest);
}
