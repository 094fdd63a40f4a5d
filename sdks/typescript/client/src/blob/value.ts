/**
 * Blobs as an app holds them.
 *
 * Invariant: a blob never changes: what it gives of its content is a copy. This package reads the content without asking a property of what an app made.
 */

import { refusal } from "../arguments/checks.js";

const ofThisPackage = Symbol("made by this package");

/** The content of a blob that lies in its row, or the text that names the chunks of a longer one. */
export type BlobContent = Uint8Array | string;

/** Where a blob was read. */
export interface CellOfBlob {
  readonly table: string;
  readonly key: readonly unknown[];
  readonly column: string;
}

/** A value of a column `s.blob()`. Make one with `blobOf()`, or with `client.blobs.put()` if it may be longer than 4 KiB. */
export class BlobValue {
  readonly #content: BlobContent;
  readonly #digest: string | undefined;
  readonly #length: number;
  #cell: CellOfBlob | undefined;

  /** @internal */
  constructor(maker: unknown, content: BlobContent, length: number, digest?: string) {
    if (maker !== ofThisPackage) {
      throw refusal("call", "make a blob with blobOf(), or with client.blobs.put()");
    }
    this.#content = content;
    this.#length = length;
    this.#digest = digest;
  }

  /** Bytes of content. */
  get length(): number {
    return this.#length;
  }

  /** Names the content, as 64 hexadecimal digits; undefined for one that `blobOf()` made, until it is read from a row. Blobs of equal length and digest are equal. */
  get digest(): string | undefined {
    return this.#digest;
  }

  /**
   * A copy of the content, of a blob of up to 4 KiB.
   *
   * @throws code `call` for a longer one: `client.blobs.open()` reads it.
   */
  bytes(): Uint8Array {
    if (typeof this.#content === "string") {
      throw refusal("call", `a blob of ${this.#length} bytes is read with client.blobs.open()`);
    }
    return this.#content.slice();
  }

  /** @internal Notes where a blob was just read. Nobody else has it yet. */
  static readAt(value: unknown, cell: CellOfBlob): void {
    if (typeof value === "object" && value !== null && #content in value) {
      value.#cell = cell;
    }
  }

  /** @internal The cell that a blob was read from; undefined for one that was made here. */
  static cellOf(blob: BlobValue): CellOfBlob | undefined {
    return blob.#cell;
  }

  /** @internal The content, which is not to be changed. Undefined for anything but a blob. */
  static contentOf(value: unknown): BlobContent | undefined {
    return typeof value === "object" && value !== null && #content in value ? value.#content : undefined;
  }
}

/** @internal A blob as the module takes it. An app cannot make one, so no object of its own is taken for a blob. */
export class BlobForCore {
  readonly #isOne = true;

  constructor(readonly blob: BlobContent) {}

  static is(value: object): value is BlobForCore {
    return #isOne in value;
  }
}

/** @internal The bytes are nobody else's. The core says digest and length. */
export function makeBlob(content: BlobContent, digest?: string, length?: number): BlobValue {
  return new BlobValue(ofThisPackage, content, length ?? content.length, digest);
}

/** @internal A blob of the text that names its chunks. */
export function blobOfTree(tree: { readonly length: number; readonly digest: string }): BlobValue {
  return makeBlob(JSON.stringify({ $blob: tree }), tree.digest, tree.length);
}
