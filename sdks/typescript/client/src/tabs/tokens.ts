/**
 * The token of a tab that was opened with one, and those that other tabs offer to the one that leads while its own is refused: a tab may have been opened with a
 * newer one.
 *
 * Invariant: a token that was refused is not tried again before the app sets one.
 */

/** Where a tab has its tokens from. */
export interface TokenSource {
  /** The token that a core is opened with, and that other tabs may try. Undefined where the core asks. */
  readonly current: string | undefined;
  /** The app, in any tab, has set it. */
  set(token: string): void;
  /** Another tab has it. */
  offer(token: string): void;
  /** The current one was refused. The next one, if there is any, is current now. */
  next(): string | undefined;
  /** The core asks. */
  wanted(): void;
}

export class Tokens implements TokenSource {
  #current: string;
  readonly #offered = new Set<string>();
  readonly #refused = new Set<string>();

  constructor(token: string) {
    this.#current = token;
  }

  get current(): string {
    return this.#current;
  }

  /** Forgets what was known of other tokens. */
  set(token: string): void {
    this.#current = token;
    this.#offered.clear();
    this.#refused.clear();
  }

  offer(token: string): void {
    this.#offered.add(token);
  }

  next(): string | undefined {
    this.#refused.add(this.#current);
    const next = [...this.#offered].find((token) => !this.#refused.has(token));
    this.#current = next ?? this.#current;
    return next;
  }

  /** The core was opened with a token. */
  wanted(): void {
    throw new Error("no core asks for a token that has one");
  }
}
