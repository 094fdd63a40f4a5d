/** The option `token` of `createClient`: a text, or a function that is asked for one. In development a text may speak for a user, too. */

import { copied, hasHalfCharacter, plainMembersOf, refusal, shown, textArgument } from "../arguments/checks.js";
import { isArray } from "../arguments/values.js";
import type { DevelopmentUser, TokenFunction } from "./types.js";

/** The names of users have at most so many bytes. */
const SUB_BYTES = 256;

/** The token that the client works with. `as` becomes a part of the text. @throws code `call`, for what is no token, and for an `as` that no server takes. */
export function tokenOf({ token, as }: { readonly token?: unknown; readonly as?: unknown }): string | TokenFunction {
  if (typeof token === "function") {
    if (as !== undefined) {
      throw refusal("call", "createClient: as speaks for a user with the development token, which is a string. With a function as token, your backend says who the user is: leave as out");
    }
    return token as TokenFunction;
  }
  if (typeof token !== "string") {
    throw refusal("call", `createClient needs a string for token, or a function that gives one, not ${shown(token)}`);
  }
  const text = textArgument(token, "call", "token");
  return as === undefined ? text : `${text} as ${JSON.stringify(userOf(as))}`;
}

/** A copy, with claims that a token can have. */
function userOf(as: unknown): DevelopmentUser {
  const claims = plainMembersOf(as, "call", "as").map(([claim, value]) => [claim, claimOf(claim, value)] as const);
  const user = Object.fromEntries(claims);
  const { sub } = user;
  if (typeof sub !== "string" || sub === "" || new TextEncoder().encode(sub).length > SUB_BYTES) {
    throw refusal("call", `as needs sub, the name of the user: a string of 1 to ${SUB_BYTES} bytes, such as { sub: "ann" }, not ${shown(sub)}`);
  }
  return { ...user, sub };
}

function claimOf(claim: string, value: unknown): DevelopmentUser[string] {
  const given = isArray(value) ? copied("call", `as.${claim}`, () => Array.from(value)) : value;
  const isText = (one: unknown): one is string => typeof one === "string" && !hasHalfCharacter(one);
  if (isText(given) || typeof given === "boolean" || Number.isSafeInteger(given)) {
    return given as string | boolean | number;
  }
  if (isArray(given) && given.every(isText)) {
    return given;
  }
  throw refusal("call", `as.${claim} is a string, a whole number, true or false, or an array of strings, not ${shown(value)}`);
}
