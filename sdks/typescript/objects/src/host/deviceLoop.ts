/**
 * Drives the module's device: inputs with their time, outputs, its deadline, and its link.
 *
 * Invariant: outputs are carried out between two calls of the device, never inside one, and never inside of a call of the app.
 */

import type { Link } from "@iolite/client/link";

import type { Platform } from "../platform/platform.js";
import { Device, OutputKind } from "../wasm/iolite_wasm_objects.js";

/** The requests of the device beside its link, in the module's order. */
export interface DeviceEvents {
  /** `keep`: the epoch with which the state is kept. */
  restore(className: string, id: string, state: Uint8Array, keep: number | undefined): void;
  forget(className: string, id: string): void;
  save(className: string, id: string): void;
  run(run: number, className: string, id: string, method: string, args: Uint8Array, caller: string): void;
  answered(ticket: number, result: Uint8Array | undefined, failure: unknown): void;
  created(ticket: number, isNew: boolean, failure: unknown): void;
  found(ticket: number, isThere: boolean, failure: unknown): void;
  /** The node that this host is, in its life under a store. */
  linkOpen(node: string, life: number, store: string): void;
  linkLost(): void;
  /** There is no good token. The device asks for another one. */
  linkRefused(message: string): void;
  /** A token is to be given with `setToken`, or `tokenFailed` to be said. */
  tokenWanted(): void;
  linkEnded(message: string): void;
  /** A connection could not be made, or the server sent what is not known here. */
  trouble(message: string): void;
}

type Output = [kind: OutputKind, ...rest: never[]];

/** The longest time that timers take. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class DeviceLoop {
  #link: Link | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Infinity;
  #isDue = false;
  #isClosed = false;

  /** `make` gets the time: of a clock that only goes forward, and since 1970. */
  constructor(
    readonly platform: Platform,
    readonly url: string,
    readonly events: DeviceEvents,
    readonly device: Device,
  ) {
    this.#soon();
  }

  /** Tells the device something. What follows from it comes later. */
  input<T>(act: (device: Device) => T): T {
    this.device.at(performance.now(), Date.now());
    this.#soon();
    return act(this.device);
  }

  /** Ends the link, and lets the device answer what is open. */
  close(): void {
    if (this.#isClosed) {
      return;
    }
    this.#disconnect();
    this.input((device) => device.linkLost());
    this.#drain();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#disconnect();
  }

  #soon(): void {
    if (!this.#isDue) {
      this.#isDue = true;
      queueMicrotask(() => {
        this.#isDue = false;
        this.#drain();
      });
    }
  }

  /** Inside of a method, too, this may be called: by `close`. */
  #drain(): void {
    while (!this.#isClosed) {
      const output = this.device.poll() as Output | undefined;
      if (output === undefined) {
        return this.#arm();
      }
      this.#perform(output);
    }
  }

  #perform([kind, ...rest]: Output): void {
    const { events } = this;
    switch (kind) {
      case OutputKind.Connect:
        return this.#connect();
      case OutputKind.Disconnect:
        return this.#disconnect();
      case OutputKind.Send:
        return this.#link?.send(...(rest as unknown as [Uint8Array]));
      case OutputKind.Restore:
        return events.restore(...(rest as unknown as Parameters<DeviceEvents["restore"]>));
      case OutputKind.Forget:
        return events.forget(...(rest as unknown as Parameters<DeviceEvents["forget"]>));
      case OutputKind.Save:
        return events.save(...(rest as unknown as Parameters<DeviceEvents["save"]>));
      case OutputKind.Run:
        return events.run(...(rest as unknown as Parameters<DeviceEvents["run"]>));
      case OutputKind.Answered:
        return events.answered(...(rest as unknown as Parameters<DeviceEvents["answered"]>));
      case OutputKind.Created:
        return events.created(...(rest as unknown as Parameters<DeviceEvents["created"]>));
      case OutputKind.Found:
        return events.found(...(rest as unknown as Parameters<DeviceEvents["found"]>));
      case OutputKind.LinkOpen:
        return events.linkOpen(...(rest as unknown as Parameters<DeviceEvents["linkOpen"]>));
      case OutputKind.LinkLost:
        return events.linkLost();
      case OutputKind.LinkRefused:
        return events.linkRefused(...(rest as unknown as [string]));
      case OutputKind.TokenWanted:
        return events.tokenWanted();
      case OutputKind.LinkEnded:
        return events.linkEnded(...(rest as unknown as [string]));
      case OutputKind.Problem:
        return events.trouble(...(rest as unknown as [string]));
    }
  }

  #connect(): void {
    if (this.#isClosed) {
      return;
    }
    const link = this.platform.openLink(this.url, {
      opened: () => this.#happened(link, (device) => device.linked()),
      lost: (why) => {
        if (why !== undefined) {
          this.events.trouble(why);
        }
        this.#happened(link, (device) => device.linkLost());
      },
      frame: (bytes) => this.#happened(link, (device) => this.#take(device, bytes)),
    });
    this.#link = link;
  }

  #happened(link: Link, act: (device: Device) => void): void {
    if (this.#link === link && !this.#isClosed) {
      this.input(act);
      this.#drain();
    }
  }

  #take(device: Device, bytes: Uint8Array): void {
    try {
      device.frame(bytes);
    } catch (error) {
      if (typeof error !== "string") {
        throw error;
      }
      this.events.trouble(`the server sent what is not known here: ${error}`);
      this.#disconnect();
    }
  }

  #disconnect(): void {
    this.#link?.close();
    this.#link = undefined;
  }

  /** A timer that comes too early does no harm, so it is set anew only for an earlier deadline. */
  #arm(): void {
    const deadline = this.device.deadline();
    if (deadline === undefined || deadline >= this.#timerAt) {
      return;
    }
    clearTimeout(this.#timer);
    this.#timerAt = deadline;
    const ms = Math.min(Math.max(0, Math.ceil(deadline - performance.now())), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      this.input((device) => device.onDeadline());
      this.#drain();
    }, ms);
  }
}
