/** Where a client keeps its data on this device: a map of keys to values. */

/** Keys and values in turn; a value that is undefined deletes its key. */
export type Changes = readonly (Uint8Array | undefined)[];

/** Another tab leads by now: what was to be written is not stored. */
export class OvertakenError extends Error {
  override readonly name = "OvertakenError";

  constructor() {
    super("another tab leads now");
  }
}

/** `taken`: a tab that led before stands still, and may go on to write when it wakes. `given`: there is none. */
export type Lead = "given" | "taken";

export interface Storage {
  readonly kind: "indexeddb" | "memory";
  /** Resolves, to a reason, when nothing can be read or written any more although nobody here closed it. */
  readonly lost: Promise<string>;
  /** Everything that is stored: keys and values in turn. */
  load(): Promise<Uint8Array[]>;
  /** What is stored under keys that begin with this byte, in the same form. */
  loadBeginningWith(byte: number): Promise<Uint8Array[]>;
  /**
   * Everything that is stored, for the tab that leads from now on. No write of a tab that led before is taken after that, and this tab's only until another one
   * leads: then they fail with `OvertakenError`.
   */
  lead(how: Lead): Promise<Uint8Array[]>;
  /** This tab leads no more: its writes are those of a tab that follows. */
  follow(): void;
  /** Whether no other tab has led since this one began to. */
  leads(): Promise<boolean>;
  /** Whether the tab that leads heeds that another one may overtake it. */
  isFenced(): Promise<boolean>;
  /** Applies changes, all or none. Resolves when a crash of the device no longer undoes them. */
  write(changes: Changes): Promise<void>;
  close(): void;
  /** Removes all of it from the device, and ends who led or leads. For a storage that is closed. Rejects where the device does not let it go. */
  erase(): Promise<void>;
}
