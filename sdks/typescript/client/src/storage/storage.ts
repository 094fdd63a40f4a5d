/** Where a client keeps its data on this device: a map of keys to values. */

/** Keys and values in turn; a value that is undefined deletes its key. */
export type Changes = readonly (Uint8Array | undefined)[];

export interface Storage {
  readonly kind: "indexeddb" | "memory";
  /** Resolves, to a reason, when nothing can be read or written any more although nobody here closed it. */
  readonly lost: Promise<string>;
  /** Everything that is stored: keys and values in turn. */
  load(): Promise<Uint8Array[]>;
  /** What is stored under keys that begin with this byte, in the same form. */
  loadBeginningWith(byte: number): Promise<Uint8Array[]>;
  /** Applies changes, all or none. Resolves when a crash of the device no longer undoes them. */
  write(changes: Changes): Promise<void>;
  close(): void;
}
