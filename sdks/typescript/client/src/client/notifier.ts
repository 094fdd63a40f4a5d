/** Calls back the app, never while the core works or a closure runs. Who is called, listeners.ts knows. */

export class Notifier {
  readonly #due = new Set<() => void>();
  #flushing = false;

  /** Has `deliver` called with the next flush, once however often it is asked for. */
  add(deliver: () => void): void {
    this.#due.add(deliver);
  }

  flush(): void {
    if (this.#flushing) {
      return;
    }
    this.#flushing = true;
    try {
      // What is added meanwhile is called too.
      for (const deliver of this.#due) {
        this.#due.delete(deliver);
        deliver();
      }
    } finally {
      this.#flushing = false;
    }
  }
}
