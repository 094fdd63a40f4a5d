/** All accounts as the bytes of one blob. */

import type { Account } from "../account.js";

export function packed(accounts: readonly Account[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(accounts));
}

export function unpacked(bytes: Uint8Array): readonly Account[] {
  return JSON.parse(new TextDecoder().decode(bytes)) as readonly Account[];
}
