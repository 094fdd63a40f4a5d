/** A client whose state a test sets by hand, and which counts what is observed. */

import type { Observation, Reactive, ReactOptions, View } from "@iolite/client";

import type { RegisteredClient } from "../register.js";

export class FakeObservation implements Observation<unknown> {
  state: Reactive<unknown> = { status: "loading", data: undefined, error: undefined };
  stopped = false;
  readonly #callbacks = new Set<(state: Reactive<unknown>) => void>();

  constructor(
    readonly run: () => unknown,
    readonly view: View | undefined,
  ) {}

  become(state: Reactive<unknown>): void {
    this.state = state;
    this.#callbacks.forEach((callback) => callback(state));
  }

  onChange(callback: (state: Reactive<unknown>) => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  stop(): void {
    this.stopped = true;
  }
}

export class FakeClient {
  readonly observations: FakeObservation[] = [];
  /** How an observation begins. */
  first: Reactive<unknown> = { status: "loading", data: undefined, error: undefined };
  readonly mutate = { move: (): string => "moved" };
  connection: unknown = { status: "offline" };
  pending: readonly unknown[] = [];
  refused: readonly unknown[] = [];
  readonly #callbacks = new Set<() => void>();

  observe(closure: (tx: never) => unknown, options: ReactOptions): FakeObservation {
    const observation = new FakeObservation(() => closure({} as never), options.view);
    observation.state = this.first;
    this.observations.push(observation);
    return observation;
  }

  change(change: Partial<Pick<FakeClient, "connection" | "pending" | "refused">>): void {
    Object.assign(this, change);
    this.#callbacks.forEach((callback) => callback());
  }

  readonly onConnectionChange = (callback: () => void): (() => void) => this.#watch(callback);
  readonly onPendingChange = (callback: () => void): (() => void) => this.#watch(callback);
  readonly onRefusedChange = (callback: () => void): (() => void) => this.#watch(callback);

  get asClient(): RegisteredClient {
    return this as unknown as RegisteredClient;
  }

  #watch(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }
}
