/** Web Locks for Node, which has none before version 24: exclusive ones, in the order in which they were asked for. */

type Callback = (lock: Lock | null) => unknown;

export class FakeLocks {
  readonly #queues = new Map<string, (() => Promise<void>)[]>();
  /** Takes the lock of a name from who holds it. */
  readonly #break = new Map<string, () => void>();

  readonly query = async (): Promise<LockManagerSnapshot> => {
    const held = [...this.#queues].filter(([, queue]) => queue.length > 0);
    return { held: held.map(([name]) => ({ name })) };
  };

  readonly request = (async (name: string, options: LockOptions | Callback, callback?: Callback): Promise<unknown> => {
    const [wanted, run] = typeof options === "function" ? [{}, options] : [options, callback];
    if (run === undefined) {
      throw new TypeError("a lock is requested with a callback");
    }
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    if (wanted.steal === true) {
      this.#break.get(name)?.();
      return this.#hold(name, run, queue);
    }
    if (wanted.ifAvailable === true && queue.length > 0) {
      return run(null);
    }
    return new Promise((resolve, reject) => {
      const turn = (): Promise<void> => this.#hold(name, run, queue, turn).then(resolve, reject);
      wanted.signal?.addEventListener("abort", () => {
        const place = queue.indexOf(turn);
        if (place > 0) {
          queue.splice(place, 1);
          reject(wanted.signal?.reason);
        }
      });
      if (queue.push(turn) === 1) {
        void turn();
      }
    });
  }) as LockManager["request"];

  /** Holds the lock, which is at the front of the queue, until it is given back or taken. */
  async #hold(name: string, run: Callback, queue: (() => Promise<void>)[], own: () => Promise<void> = () => Promise.resolve()): Promise<unknown> {
    if (queue[0] !== own) {
      queue.unshift(own);
    }
    let isHeld = true;
    const broken = new Promise<never>((_, reject) => {
      this.#break.set(name, () => {
        isHeld = false;
        queue.shift();
        reject(new DOMException("it was stolen", "AbortError"));
      });
    });
    try {
      return await Promise.race([run({ name, mode: "exclusive" }), broken]);
    } finally {
      if (isHeld) {
        this.#break.delete(name);
        queue.shift();
        void queue[0]?.();
      }
    }
  }
}
