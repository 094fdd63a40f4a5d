/** The words for a refused connection: the cause as the server says it, and what to do. `docs/reference/errors.md` has the same, longer. */

import type { ConnectionState } from "../client/types.js";

type Refusal = NonNullable<ConnectionState["refusal"]>;

const REMEDIES: Record<Refusal, string> = {
  unauthorized: "Give the token of this server: it is printed when `iolite dev` starts, and a new data directory has a new one. In development use developmentServer(), or load the page again. Where users sign in, the message says what is wrong with the token.",
  "other-user": "Sign in as the user before, whose changes are then sent. Or remove them with signOut({ discard: true }), and open a client for the new user.",
  schema: "Change the schema back, or in development end the server, remove its data directory (.iolite) and start it again. A schema may only grow.",
  version: "Install the versions of @iolite/client and of the server that belong together, and load the page again.",
  replaced: "Another copy of this client has taken over. Use that one, or call goOnline() to take the connection back.",
  limit: "Ask for less: the message names the limit.",
};

/** One line for a log. Nothing while the connection is not refused. */
export function adviceOf({ status, refusal, message }: ConnectionState): string | undefined {
  if (status !== "refused" || refusal === undefined) {
    return undefined;
  }
  const cause = (message ?? "the server does not say why").replace(/\.$/, "");
  return `Iolite: this client is refused (${refusal}): ${cause}. ${REMEDIES[refusal]} Mutations wait meanwhile, and nothing is lost.`;
}

export function remedyOf({ refusal }: ConnectionState): string | undefined {
  return refusal === undefined ? undefined : REMEDIES[refusal];
}
