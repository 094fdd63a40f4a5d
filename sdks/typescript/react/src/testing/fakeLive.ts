/** Bindings whose state a test sets by hand, and which keep what was written. */

import { IoliteError, type LiveScalar, type LiveText, type Reactive } from "@iolite/client";

import { FakeHandle } from "./fakeHandle.js";

abstract class FakeBinding<T> {
  state: Reactive<T> = { status: "loading", data: undefined, error: undefined };
  /** Of the writes, in order. */
  readonly handles: FakeHandle[] = [];
  /** Why nothing can be written. */
  refusal: Error | undefined;
  readonly #callbacks = new Set<(state: Reactive<T>) => void>();

  get value(): T | undefined {
    return this.state.data;
  }

  get listeners(): number {
    return this.#callbacks.size;
  }

  become(data: T): void {
    this.state = { status: "ready", data, error: undefined };
    this.#callbacks.forEach((callback) => callback(this.state));
  }

  onChange(callback: (state: Reactive<T>) => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  protected call(write: () => void): FakeHandle {
    if (this.refusal !== undefined) {
      throw this.refusal;
    }
    write();
    const handle = new FakeHandle();
    this.handles.push(handle);
    return handle;
  }
}

export class FakeLive<T> extends FakeBinding<T> implements LiveScalar<T> {
  readonly written: T[] = [];

  set(value: T): FakeHandle {
    return this.call(() => this.written.push(value));
  }
}

/** A text that a test changes as others do. While `written` is undefined this tab takes the lead. */
export class FakeText extends FakeBinding<string> implements LiveText {
  written: string | undefined;
  readonly splices: [number, number, string][] = [];

  override become(text: string): void {
    this.written = text;
    super.become(text);
  }

  insert(at: number, text: string): FakeHandle {
    return this.splice(at, 0, text);
  }

  remove(at: number, length: number): FakeHandle {
    return this.splice(at, length, "");
  }

  splice(at: number, removed: number, text: string): FakeHandle {
    return this.call(() => {
      const own = this.written;
      if (own === undefined) {
        throw new IoliteError("not-ready", "this tab takes the lead");
      }
      this.splices.push([at, removed, text]);
      this.written = own.slice(0, at) + text + own.slice(at + removed);
    });
  }
}
