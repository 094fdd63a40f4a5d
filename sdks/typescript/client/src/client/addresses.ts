/** The addresses of a server's gateways. */

import { copied, refusal, shown } from "../arguments/checks.js";
import { isArray } from "../arguments/values.js";

/** @throws code `call`, for what is no address. */
export function addressesOf(url: unknown): readonly string[] {
  return copied("call", "url", () => (isArray(url) ? Array.from(url, addressOf) : [addressOf(url)]));
}

function addressOf(url: unknown): string {
  if (typeof url === "string") {
    return url;
  }
  if (url instanceof URL) {
    return url.href;
  }
  throw refusal("call", `url is the address of a server, or an array of them, not ${shown(url)}`);
}
