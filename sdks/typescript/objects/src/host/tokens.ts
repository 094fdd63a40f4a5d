/** The option `token` of `connectObjects`: a text, or a function that is asked for one. In development a text may speak for a user, too. */

import type { TokenFunction } from "./types.js";

/** Why a function has failed that gave something else. */
export const NO_TOKEN = "the function token has to give a token, which is a text: let it throw while there is none";

/** The names of users have at most so many bytes. */
const SUB_BYTES = 256;

export function isToken(given: unknown): given is string {
  return typeof given === "string" && given !== "";
}

/** Why the app's function has failed. For the person, so a long one is cut. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error && error.message !== "" ? error.message : String(error);
  return message.slice(0, 1000);
}

/** The token with the user for whom it speaks. `refuse` throws. */
export function tokenAs(token: string | TokenFunction, as: unknown, refuse: (problem: string) => never): string | TokenFunction {
  if (as === undefined) {
    return token;
  }
  if (typeof token === "function") {
    return refuse("as speaks for a user with the development token, which is a text. With a function as token, your backend says who the user is: leave as out");
  }
  const user = typeof as === "object" && as !== null && !Array.isArray(as) ? (as as Record<string, unknown>) : refuse('as is an object, such as { sub: "ann" }');
  const { sub } = user;
  if (typeof sub !== "string" || sub === "" || new TextEncoder().encode(sub).length > SUB_BYTES) {
    refuse(`as needs sub, the name of the user: a text of 1 to ${SUB_BYTES} bytes, such as { sub: "ann" }`);
  }
  for (const [claim, value] of Object.entries(user)) {
    if (!isClaim(value)) {
      refuse(`as.${claim} is a text, a whole number, true or false, or an array of texts`);
    }
  }
  return `${token} as ${JSON.stringify(user)}`;
}

function isClaim(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value) || (Array.isArray(value) && value.every((one) => typeof one === "string"));
}
