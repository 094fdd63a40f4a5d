/**
 * Says that a tab may write as the one that leads: it holds a Web Lock of its own from before it opens the storage until its last write has ended.
 *
 * Invariant: nobody takes this lock from it. So other tabs know of a tab that stands still, also if they have no room to fence it out.
 */

import { newId } from "../id.js";
import { type Deferred, deferred } from "./deferred.js";

export class WriterMark {
  readonly #locks: Pick<LockManager, "request" | "query">;
  readonly #prefix: string;
  #held: Deferred | undefined;

  /** `name`: the storage's. */
  constructor(locks: Pick<LockManager, "request" | "query">, name: string) {
    this.#locks = locks;
    this.#prefix = `${name}/writes/`;
  }

  /** Resolves, when this tab has its mark, to whether another tab has one. */
  async begin(): Promise<"alone" | "beside others"> {
    const own = this.#prefix + newId();
    const held = (this.#held = deferred());
    await new Promise<void>((resolve, reject) => {
      const hold = (): Promise<void> => {
        resolve();
        return held.promise;
      };
      this.#locks.request(own, hold).catch(reject);
    });
    const { held: all = [] } = await this.#locks.query();
    return all.some(({ name = "" }) => name !== own && name.startsWith(this.#prefix)) ? "beside others" : "alone";
  }

  /** Ends the mark: the last write of this tab has ended. */
  end(): void {
    this.#held?.resolve();
  }
}
