/** Web Locks for Node, which has none before version 24: exclusive ones, in the order in which they were asked for. */

type Callback = (lock: Lock | null) => unknown;

export class FakeLocks {
  readonly #queues = new Map<string, (() => Promise<void>)[]>();

  readonly request = (async (name: string, options: LockOptions | Callback, callback?: Callback): Promise<unknown> => {
    const [wanted, run] = typeof options === "function" ? [{}, options] : [options, callback];
    if (run === undefined) {
      throw new TypeError("a lock is requested with a callback");
    }
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    if (wanted.ifAvailable === true && queue.length > 0) {
      return run(null);
    }
    return new Promise((resolve, reject) => {
      const turn = async (): Promise<void> => {
        try {
          resolve(await run({ name, mode: "exclusive" }));
        } catch (error) {
          reject(error);
        }
        queue.shift();
        void queue[0]?.();
      };
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
}
