/**
 * The addresses of the gateways that a client may connect to.
 *
 * Invariant: data centres keep the order that the app gave, since the core numbers gateways through and prefers the first data centre.
 */

import { copied, isInstance, plainMembersOf, refusal, shown } from "../arguments/checks.js";
import { isArray } from "../arguments/values.js";

/** The addresses of each data centre's gateways, the preferred data centre first. A server without data centres counts as one. */
export type Gateways = readonly (readonly string[])[];

/** The addresses among the options of `createClient`, before anything is known of them. */
interface Given {
  readonly url?: unknown;
  readonly centres?: unknown;
}

/** Data centres of a group. No group has more. */
const CENTRES_MAX = 7;

/** As the names of data centres in a group: none looks like a number, which JavaScript would move to the front. */
const CENTRE_NAME = /^[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** @throws code `call`, for addresses that are missing or wrong, and for `url` beside `centres`. */
export function gatewaysOf({ url, centres }: Given): Gateways {
  if (url !== undefined && centres !== undefined) {
    throw refusal("call", "createClient takes url or centres, not both: put the address of url under the name of its data centre");
  }
  if (centres !== undefined) {
    return addressesOfCentres(centres);
  }
  if (url === undefined) {
    throw refusal("call", "createClient needs the address of a server: pass url, or centres for those of several data centres");
  }
  return [addressesOf(url, "url", "createClient needs the address of a server, or several")];
}

function addressesOfCentres(centres: unknown): Gateways {
  const members = plainMembersOf(centres, "call", "centres");
  if (members.length === 0 || members.length > CENTRES_MAX) {
    throw refusal("call", `centres has the addresses of 1 to ${CENTRES_MAX} data centres, not of ${members.length}`);
  }
  return members.map(([name, addresses]) => {
    if (!CENTRE_NAME.test(name)) {
      throw refusal("call", `centres: the name of a data centre is 1 to 32 of a-z, 0-9 and -, begins with a letter and does not end with -; it is not ${shown(name)}`);
    }
    return addressesOf(addresses, `centres.${name}`, `centres.${name} has no address: add one, or leave the data centre out`);
  });
}

function addressesOf(given: unknown, name: string, whenNone: string): readonly string[] {
  const addresses = copied("call", name, () => (isArray(given) ? Array.from(given, (one) => addressOf(one, name)) : [addressOf(given, name)]));
  if (addresses.length === 0) {
    throw refusal("call", whenNone);
  }
  addresses.forEach(checkAddress);
  return addresses;
}

function addressOf(given: unknown, name: string): string {
  if (typeof given === "string") {
    return given;
  }
  if (isInstance(given, URL)) {
    return given.href;
  }
  throw refusal("call", `${name} is the address of a server, or an array of them, not ${shown(given)}`);
}

function checkAddress(address: string): void {
  const protocol = URL.canParse(address) ? new URL(address).protocol : "";
  if (protocol !== "ws:" && protocol !== "wss:") {
    throw refusal("call", `the address of a server begins with ws:// or wss://, not ${JSON.stringify(address)}`);
  }
  if (new URL(address).pathname === "/") {
    throw refusal("call", `the address ${JSON.stringify(address)} has no path: ${new URL("/sync", address).href} is where \`iolite dev\` listens`);
  }
}
