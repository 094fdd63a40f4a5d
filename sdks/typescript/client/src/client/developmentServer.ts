/** Finds `iolite dev` and its token, so that nobody has to copy them. */

import { IoliteError } from "../errors.js";

/** What `createClient` takes of it. */
export interface DevelopmentServer {
  readonly url: string;
  readonly token: string;
}

/** What `iolite dev` tells its own pages, and programs on the same machine. */
const ANSWER = "/iolite.json";

/**
 * Asks the `iolite dev` behind an address, by default the page's own, where sessions begin and for its token:
 * `createClient({ ...(await developmentServer()), ... })`. When it does not answer, what it said last in this browser is given.
 *
 * @throws IoliteError with code `unavailable` when there is none, and was none.
 */
export async function developmentServer(address: string = globalThis.location?.origin): Promise<DevelopmentServer> {
  if (address === undefined || !URL.canParse(ANSWER, address)) {
    throw new IoliteError("call", 'pass the address of `iolite dev`, such as "http://127.0.0.1:7777"');
  }
  const asked = new URL(ANSWER, address);
  const answer = (await ask(asked)) ?? kept(asked);
  if (answer === undefined) {
    throw new IoliteError(
      "unavailable",
      `no \`iolite dev\` answers at ${asked.href}: is it running? It serves a page itself with --app DIR; ` +
        "another server has to pass /sync and /iolite.json on to it",
    );
  }
  keep(asked, answer);
  const url = new URL(answer.url, asked);
  url.protocol = url.protocol.replace("http", "ws");
  return { url: url.href, token: answer.token };
}

async function ask(address: URL): Promise<DevelopmentServer | undefined> {
  try {
    const response = await fetch(address, { cache: "no-store" });
    return response.ok ? read(await response.text()) : undefined;
  } catch {
    return undefined;
  }
}

function keep(address: URL, answer: DevelopmentServer): void {
  try {
    globalThis.localStorage?.setItem(nameOf(address), JSON.stringify(answer));
  } catch {
    // Private modes have no room: then the page needs the server to start.
  }
}

function kept(address: URL): DevelopmentServer | undefined {
  try {
    return read(globalThis.localStorage?.getItem(nameOf(address)));
  } catch {
    return undefined;
  }
}

function nameOf(address: URL): string {
  return `iolite ${address.href}`;
}

/** Nothing if it is something else: servers of bundlers answer with the app's page where they know nothing. */
function read(json: string | null | undefined): DevelopmentServer | undefined {
  try {
    const { url, token } = JSON.parse(json ?? "") as Partial<DevelopmentServer>;
    return typeof url === "string" && typeof token === "string" ? { url, token } : undefined;
  } catch {
    return undefined;
  }
}
