/**
 * Asks the app's function for tokens.
 *
 * Invariant: one question is open at a time. Its answer is told once, and not at all if the app has set a token meanwhile.
 */

import { shown, textOf } from "../arguments/checks.js";
import type { TokenSource } from "../tabs/tokens.js";
import type { TokenFunction } from "./types.js";

export interface TokenAnswers {
  token(token: string): void;
  /** The function has failed, or gave no token. */
  failed(message: string): void;
}

export class TokenQuestions implements TokenSource {
  readonly current = undefined;
  readonly #ask: TokenFunction;
  readonly #answers: TokenAnswers;
  /** `vain`: the function is asked, and nobody waits for its answer. */
  #state: "idle" | "asked" | "vain" = "idle";

  constructor(ask: TokenFunction, answers: TokenAnswers) {
    this.#ask = ask;
    this.#answers = answers;
  }

  /** A token is wanted. A question that is open still is this one. */
  wanted(): void {
    const isOpen = this.#state !== "idle";
    this.#state = "asked";
    if (!isOpen) {
      // Later, since the core works at this moment, and the function may call the client.
      void Promise.resolve().then(() => this.#ask()).then(
        (token) => this.#answered(token),
        (error: unknown) => this.#end(() => this.#answers.failed(messageOf(error))),
      );
    }
  }

  /** The answer that is on its way is of no use, unless another one is wanted before it is here. */
  set(): void {
    this.#state = this.#state === "asked" ? "vain" : this.#state;
  }

  /** The app's function gives the better ones. */
  offer(): void {
    return;
  }

  /** The core asks by itself when one was refused. */
  next(): undefined {
    return undefined;
  }

  #answered(token: unknown): void {
    if (typeof token === "string" && token !== "") {
      return this.#end(() => this.#answers.token(token));
    }
    const given = token === "" ? "an empty string" : shown(token);
    this.#end(() => this.#answers.failed(`the function token gave ${given}, and has to give a token, which is a string: let it throw while there is none`));
  }

  #end(tell: () => void): void {
    const isWanted = this.#state === "asked";
    this.#state = "idle";
    if (isWanted) {
      tell();
    }
  }
}

/** For the person, so a long one is cut. */
function messageOf(error: unknown): string {
  const message = error instanceof Error && error.message !== "" ? error.message : textOf(error);
  return message.slice(0, 1000);
}
