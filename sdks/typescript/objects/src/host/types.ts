/** The types of a host of objects, for apps. */

import type { ObjectClass } from "../define/definition.js";
import type { Ref } from "../refs.js";

export interface ConnectOptions {
  /** The server, such as `ws://127.0.0.1:7777/sync`. In a page of `iolite dev`, by default the page's own. */
  readonly url?: string | URL;
  /**
   * The token that lets this process in. A function is asked for it: before the first connection, when 80 % of a token's life have passed, and when the server
   * refuses one. So the connection outlives a token. While the function throws, it is asked again after a pause. All tokens have to be of one user: with
   * another user's the connection ends.
   */
  readonly token?: string | TokenFunction;
  /** In development: the user for whom the development token speaks, whose `sub` is what methods see as the caller. */
  readonly as?: DevelopmentUser;
  /** The classes whose objects may be here. Objects of other classes can be called all the same. */
  readonly classes?: readonly ObjectClass<object>[];
  /** `server`: this process is part of the service, and no device of a user. Not in a page. */
  readonly kind?: "device" | "server";
  /**
   * The name of this node: a UUID. A process that starts again under its name takes its place: objects that the earlier process had are gone, and begin anew
   * when they are wanted. Only one process at a time has a name. By default it is drawn.
   */
  readonly node?: string;
  /**
   * The page keeps the objects that it has in IndexedDB under this name: each write is on the disk before it is answered. A page that is opened again under the
   * name has them again, once its server says that nobody else has. Give each user of the app a name of their own. Only in a page, with https or on localhost.
   */
  readonly keep?: string;
  /** How long a call, or a question for an object, waits for its answer. By default 10,000. */
  readonly callMs?: number;
  /** Told whenever the connection changes. */
  readonly onConnection?: (connection: Connection) => void;
}

/** Gives a token, such as one that the app's backend has just issued. */
export type TokenFunction = () => string | Promise<string>;

/** A user with claims: texts, whole numbers, flags, and lists of texts. */
export interface DevelopmentUser {
  readonly sub: string;
  readonly [claim: string]: string | number | boolean | readonly string[];
}

/** `lost`: the host connects again by itself. `refused`: there is no good token, as the message says, and the host asks for another one. `ended`: it does not, and the message says why. */
export type Connection =
  | { readonly state: "open" }
  | { readonly state: "lost" }
  | { readonly state: "refused"; readonly message: string }
  | { readonly state: "ended"; readonly message: string };

/** This process among those that have objects. */
export interface ObjectHost {
  /** Finds an object, or creates it from what `initial` gives. */
  get<T extends object>(type: ObjectClass<T>, id: string, initial: () => T): Promise<Ref<T>>;
  /**
   * Creates an object. Without an id it gets a new one.
   *
   * Rejects with a `CallError` of reason `conflict` if it is there already.
   */
  create<T extends object>(type: ObjectClass<T>, id: string | undefined, initial: T): Promise<Ref<T>>;
  /** Finds an object, and resolves to `undefined` if there is none. */
  find<T extends object>(type: ObjectClass<T>, id: string): Promise<Ref<T> | undefined>;
  readonly connection: Connection;
  /** The node that this process is, as its server has named it: `moveTo` takes it. `undefined` until a server has let it in. */
  readonly node: string | undefined;
  /** Ends the connection. Calls that are open reject, and objects that are here can be reached no more. */
  close(): void;
}
