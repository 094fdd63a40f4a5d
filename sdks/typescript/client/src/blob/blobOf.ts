/** Makes blobs of bytes. */

import { refusal, shown } from "../arguments/checks.js";
import { bytesOf, isBytes } from "../arguments/values.js";
import { type BlobValue, makeBlob } from "./value.js";

/** Bytes of a blob that lies in its row. */
const INLINE_BYTES_MAX = 4096;

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
  return makeBlob(content);
}
