/**
 * The token of a tab, and those that other tabs offer to the one that leads while its own is refused: a tab may have been opened with a
 * newer one.
 *
 * Invariant: a token that was refused is not tried again before the app sets one.
 */

export class Tokens {
  #current: string;
  readonly #offered = new Set<string>();
  readonly #refused = new Set<string>();

  constructor(token: string) {
    this.#current = token;
  }

  get current(): string {
    return this.#current;
  }

  /** The app, in any tab, has set it: what was known of others is outdated. */
  set(token: string): void {
    this.#current = token;
    this.#offered.clear();
    this.#refused.clear();
  }

  offer(token: string): void {
    this.#offered.add(token);
  }

  /** The current one was refused. The next one, if there is any, is current now. */
  next(): string | undefined {
    this.#refused.add(this.#current);
    const next = [...this.#offered].find((token) => !this.#refused.has(token));
    this.#current = next ?? this.#current;
    return next;
  }
}
