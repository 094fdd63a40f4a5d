/**
 * Signs the user of this device out: the tabs end, and what the device kept is removed.
 *
 * Invariant: unless it is to be discarded, nothing is removed while something pends: a mutation, a call that the tab which leads has not taken over, or a conflict.
 * The tab that leads decides so, since only it knows of all of them.
 */

import { IoliteError } from "../errors.js";
import { newTabId, type TabMessage } from "../tabs/tabChannel.js";
import type { FollowerHost } from "./followerHost.js";
import type { LeaderHost } from "./leaderHost.js";

type Message = Extract<TabMessage, { readonly kind: "signOut" | "staysIn" | "signedOut" }>;

interface Place {
  readonly host: LeaderHost | FollowerHost | undefined;
  /** @throws when there will be no core any more. */
  checkUsable(): void;
  /** @throws while nobody answers what is called here. */
  checkAnswered(): void;
  /** Resolves when this tab leads or follows, and is not about to do the other. */
  placed(): Promise<void>;
  /** How many mutations are pending, as this tab knows. */
  pendingCount(): number;
  /** The tables whose conflicts a person decides. */
  readonly conflictTables: readonly string[];
  post(message: Message): void;
  /** Ends this tab, and removes what the device has. */
  endAndErase(): Promise<void>;
  /** Ends this tab, as another one signs out. If it leads, it keeps the lead until what the device has is removed. */
  endForOther(): void;
}

interface Asked {
  readonly discard: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class SignOut {
  readonly #place: Place;
  readonly #tab = newTabId();
  /** While the tab that leads is asked. */
  #asked: Asked | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  async signOut(discard: boolean): Promise<void> {
    const place = this.#place;
    place.checkUsable();
    await place.placed();
    place.checkUsable();
    place.checkAnswered();
    if (!discard) {
      this.#checkPending();
    }
    await (place.host?.role === "leader" ? this.#tellOthers(place.host, discard, this.#tab) : this.#askLeader(discard));
    await place.endAndErase();
  }

  hear(message: Message): void {
    const { host } = this.#place;
    switch (message.kind) {
      case "signOut":
        if (host?.role === "leader") {
          this.#signOutFor(host, message.from, message.discard);
        }
        return;
      case "staysIn":
        if (message.to === this.#tab) {
          this.giveUp(new IoliteError("pending", message.problem));
        }
        return;
      case "signedOut":
        if (message.by !== this.#tab) {
          return this.#place.endForOther();
        }
        this.#asked?.resolve();
        this.#asked = undefined;
        return;
    }
  }

  /** Another tab leads, or this one does: what was asked is asked again. */
  attached(): void {
    const asked = this.#asked;
    const { host } = this.#place;
    if (asked === undefined) {
      return;
    }
    if (host?.role === "leader") {
      this.#asked = undefined;
      this.#tellOthers(host, asked.discard, this.#tab).then(asked.resolve, asked.reject);
    } else {
      this.#place.post({ kind: "signOut", from: this.#tab, discard: asked.discard });
    }
  }

  /** Ends the question: it will not be answered any more. */
  giveUp(error: IoliteError): void {
    this.#asked?.reject(error);
    this.#asked = undefined;
  }

  #askLeader(discard: boolean): Promise<void> {
    this.giveUp(new IoliteError("call", "signOut was called again before this call of it was done"));
    return new Promise((resolve, reject) => {
      this.#asked = { discard, resolve, reject };
      this.#place.post({ kind: "signOut", from: this.#tab, discard });
    });
  }

  #signOutFor(host: LeaderHost, tab: number, discard: boolean): void {
    this.#tellOthers(host, discard, tab).then(
      () => this.#place.endForOther(),
      (error: Error) => this.#place.post({ kind: "staysIn", to: tab, problem: error.message }),
    );
  }

  /** Tells all tabs to end, as one of them signs out. @throws code `pending`. */
  async #tellOthers(host: LeaderHost, discard: boolean, tab: number): Promise<void> {
    if (!discard) {
      this.#checkPending();
      const conflicts = this.#place.conflictTables.reduce((sum, table) => sum + host.conflicts(table).length, 0);
      refuseWhile(conflicts, "conflict is not decided", "conflicts are not decided");
      refuseWhile(await host.outboxLength(), "call of a tab is not taken over yet", "calls of tabs are not taken over yet");
      if (this.#place.host !== host) {
        throw new IoliteError("not-ready", "another tab has just taken the lead: sign out again");
      }
      // What was called meanwhile.
      this.#checkPending();
    }
    this.#place.post({ kind: "signedOut", by: tab });
  }

  #checkPending(): void {
    refuseWhile(this.#place.pendingCount(), "mutation is pending", "mutations are pending");
  }
}

function refuseWhile(count: number, one: string, many: string): void {
  if (count > 0) {
    const what = count === 1 ? `1 ${one}, and would be lost` : `${count} ${many}, and would be lost`;
    throw new IoliteError("pending", `${what}: sign out when nothing pends, or give it up with signOut({ discard: true })`);
  }
}
