/**
 * Blobs as an app holds them.
 *
 * Invariant: a blob never changes: what it gives of its content is a copy. This package reads the content without asking a property of what an app made.
 */

import { refusal } from "../arguments/checks.js";

const ofThisPackage = Symbol("made by this package");

/** A value of a column `s.blob()`. Make one with `blobOf()`. */
export class BlobValue {
  readonly #content: Uint8Array;
  readonly #digest: string | undefined;

  /** @internal */
  constructor(maker: unknown, content: Uint8Array, digest?: string) {
    if (maker !== ofThisPackage) {
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

  /** @internal The content, which is not to be changed. Undefined for anything but a blob. */
  static contentOf(value: unknown): Uint8Array | undefined {
    return typeof value === "object" && value !== null && #content in value ? value.#content : undefined;
  }
}

/** @internal A blob as the module takes it. An app cannot make one, so no object of its own is taken for a blob. */
export class BlobForCore {
  readonly #isOne = true;

  constructor(readonly blob: Uint8Array) {}

  static is(value: object): value is BlobForCore {
    return #isOne in value;
  }
}

/** @internal The bytes are nobody else's. The core says the digest. */
export function makeBlob(content: Uint8Array, digest?: string): BlobValue {
  return new BlobValue(ofThisPackage, content, digest);
}
