/**
 * All reactive transactions of a tab. Those that begin before there is a core, and those of one that has ended, are told to the next.
 */

import type { Closure } from "../transaction/runClosure.js";
import type { CoreHost } from "./coreHost.js";
import type { Notifier } from "./notifier.js";
import { OneObservation } from "./observation.js";
import type { ConnectionState, View } from "./types.js";

export class Observations {
  readonly #notifier: Notifier;
  readonly #byReaction = new Map<number, OneObservation>();
  readonly #waiting = new Set<OneObservation>();
  #host: CoreHost | undefined;
  #givenUp: Error | undefined;

  constructor(notifier: Notifier) {
    this.#notifier = notifier;
  }

  /** The core is there. The caller drains it. */
  attach(host: CoreHost): void {
    this.#host = host;
    this.#waiting.forEach((observation) => this.#register(host, observation));
    this.#waiting.clear();
  }

  /** The core ends. What is shown stays until there is another one, or for good. */
  detach(): void {
    this.#host = undefined;
    for (const observation of this.#byReaction.values()) {
      observation.reaction = undefined;
      this.#waiting.add(observation);
    }
    this.#byReaction.clear();
    this.carryOver();
  }

  /** What is shown stays until what another core, or another leader, has is there. */
  carryOver(): void {
    [...this.#byReaction.values(), ...this.#waiting].forEach((observation) => observation.carryOver());
  }

  /** The last core has ended. */
  giveUp(error: Error): void {
    this.#givenUp = error;
    this.#waiting.forEach((observation) => observation.giveUp(error));
  }

  begin(closure: Closure, view: View): OneObservation {
    const observation = new OneObservation(closure, view, this.#notifier, (ended) => this.#end(ended));
    if (this.#givenUp !== undefined) {
      observation.giveUp(this.#givenUp);
    } else if (this.#host === undefined) {
      this.#waiting.add(observation);
    } else {
      this.#register(this.#host, observation);
      this.#host.drain();
    }
    return observation;
  }

  of(reaction: number): OneObservation | undefined {
    return this.#byReaction.get(reaction);
  }

  /** Missing data can come again, or cannot come. */
  connected(status: ConnectionState["status"]): void {
    switch (status) {
      case "online":
        return this.#reachable(true);
      case "refused":
        return this.#reachable(false);
      case "offline":
      case "connecting":
        // The core says what cannot come: perhaps another gateway is tried, or what is missing is in the storage of the tab that leads. What
        // could not be had stays so while one retry follows another.
        return;
    }
  }

  #reachable(reachable: boolean): void {
    this.#byReaction.forEach((observation) => observation.reachable(reachable));
  }

  #register(host: CoreHost, observation: OneObservation): void {
    const reaction = host.callOnly((core) => core.register(observation.view));
    // Its first result does not wait for a turn.
    host.callOnly((core) => core.letReact(false));
    observation.reaction = reaction;
    this.#byReaction.set(reaction, observation);
  }

  #end(observation: OneObservation): void {
    this.#waiting.delete(observation);
    const { reaction } = observation;
    if (reaction !== undefined && this.#byReaction.delete(reaction)) {
      this.#host?.call((core) => core.stop(reaction));
    }
  }
}
