/** A client whose state a test sets by hand, and which counts what is observed. */

import { type Difference, type DifferenceOptions, IoliteError, type Observation, type Reactive, type ReactOptions, type View } from "@iolite/client";

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

/** A log that a test stops. */
export class FakeLog {
  readonly do = {};
  position = 0;
  stopped: string | undefined;
  left = 0;
  readonly differs = undefined;
  /** Why it cannot be left. */
  pending: IoliteError | undefined;
  readonly #callbacks = new Set<(reason: string) => void>();

  onStopped(callback: (reason: string) => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  get listeners(): number {
    return this.#callbacks.size;
  }

  stop(reason: string): void {
    this.stopped = reason;
    this.#callbacks.forEach((callback) => callback(reason));
  }

  leave(): void {
    if (this.pending !== undefined) {
      throw this.pending;
    }
    this.left += 1;
  }
}

export class FakeClient {
  readonly logs = new Map<unknown, FakeLog>();
  /** Whether another tab joins logs. */
  follows = false;
  readonly observations: FakeObservation[] = [];
  /** How an observation begins. */
  first: Reactive<unknown> = { status: "loading", data: undefined, error: undefined };
  readonly mutate = { move: (): string => "moved" };
  connection: unknown = { status: "offline" };
  pending: readonly unknown[] = [];
  refused: readonly unknown[] = [];
  viewsNumber = 0;
  /** Closures of peeks get this. */
  held: unknown = {};
  differing: readonly Difference[] = [];
  /** The views that were looked at, and what was compared. */
  readonly peeked: (View | undefined)[] = [];
  readonly compared: unknown[][] = [];
  readonly #callbacks = new Set<() => void>();

  log(_definition: unknown, instance: unknown): FakeLog {
    if (this.follows) {
      throw new IoliteError("not-leading", "another tab leads");
    }
    const log = this.logs.get(instance) ?? new FakeLog();
    this.logs.set(instance, log);
    return log;
  }

  observe(closure: (tx: never) => unknown, options: ReactOptions): FakeObservation {
    const observation = new FakeObservation(() => closure({} as never), options.view);
    observation.state = this.first;
    this.observations.push(observation);
    return observation;
  }

  peek<T>(closure: (tx: never) => T, options: ReactOptions): T {
    this.peeked.push(options.view);
    return closure(this.held as never);
  }

  difference(a: View, b: View, options: DifferenceOptions): readonly Difference[] {
    this.compared.push([a, b, options.table]);
    return structuredClone(this.differing);
  }

  /** How often reactions were to run at once. */
  settlings = 0;

  settled(): Promise<void> {
    this.settlings += 1;
    return Promise.resolve();
  }

  /** A view may show something else now. */
  viewsChange(held: unknown = this.held): void {
    this.held = held;
    this.viewsNumber += 1;
    this.#callbacks.forEach((callback) => callback());
  }

  get listeners(): number {
    return this.#callbacks.size;
  }

  change(change: Partial<Pick<FakeClient, "connection" | "pending" | "refused">>): void {
    Object.assign(this, change);
    this.#callbacks.forEach((callback) => callback());
  }

  readonly onConnectionChange = (callback: () => void): (() => void) => this.#watch(callback);
  readonly onPendingChange = (callback: () => void): (() => void) => this.#watch(callback);
  readonly onRefusedChange = (callback: () => void): (() => void) => this.#watch(callback);
  readonly onViewsChange = (callback: () => void): (() => void) => this.#watch(callback);

  get asClient(): RegisteredClient {
    return this as unknown as RegisteredClient;
  }

  #watch(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }
}
