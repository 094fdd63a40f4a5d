/** Makes blobs of bytes. */

import { refusal, shown } from "../arguments/checks.js";
import { bytesOf, isBytes } from "../arguments/values.js";
import { type BlobValue, makeBlob } from "./value.js";

/** Bytes of a blob that lies in its row. */
const INLINE_BYTES_MAX = 4096;

/**
 * A blob of these bytes, of at most 4 KiB. `client.blobs.put()` makes longer ones.
 *
 * @throws code `call` for anything but a Uint8Array, and for a longer one.
 */
export function blobOf(bytes: Uint8Array): BlobValue {
  if (!isBytes(bytes)) {
    throw refusal("call", `a blob is made of a Uint8Array, not of ${shown(bytes)}`);
  }
  const content = bytesOf(bytes, "call", "the content of a blob");
  if (content.length > INLINE_BYTES_MAX) {
    throw refusal("call", `a blob of ${content.length} bytes: make those of more than ${INLINE_BYTES_MAX} with client.blobs.put()`);
  }
  return makeBlob(content);
}
