/**
 * A TCP proxy that can be cut: it then drops every connection at once and refuses new ones, as if the network were gone. It can be held, too: then nothing
 * passes, and nobody is told, as in a tunnel. And it can be a long one.
 */

import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";

export interface CuttableLink {
  /** Where the server seems to be. The same before and after a cut. Without a slash at the end. */
  readonly origin: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Only of a link without a delay. */
  hold(): void;
  letGo(): void;
  close(): Promise<void>;
}

/** No proxy in between: what happens to the server happens to the page, and nothing else can. */
export function directTo(port: number): CuttableLink {
  const refuse = (): Promise<never> => Promise.reject(new Error("there is no proxy that could be cut"));
  const refuseToHold = (): never => {
    throw new Error("there is no proxy that could be held");
  };
  return { origin: `http://127.0.0.1:${port}`, cut: refuse, mend: refuse, hold: refuseToHold, letGo: refuseToHold, close: () => Promise.resolve() };
}

/** What is sent takes `delayMs` in each direction. */
export async function linkTo(targetPort: number, delayMs = 0): Promise<CuttableLink> {
  /** The pages' ends of the connections. */
  const sockets = new Set<Socket>();
  /** From where to where bytes pass. */
  const ways = new Map<Socket, Socket>();
  const listener = createServer((near) => join(near, connect(targetPort, "127.0.0.1"), { sockets, ways, delayMs }));
  await listen(listener, 0);
  const { port } = listener.address() as AddressInfo;
  async function cut(): Promise<void> {
    const closed = new Promise((resolve) => listener.close(resolve));
    sockets.forEach((socket) => socket.destroy());
    await closed;
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    cut,
    mend: () => listen(listener, port),
    hold: () => {
      if (delayMs > 0) {
        throw new Error("a long link cannot be held");
      }
      ways.forEach((to, from) => from.unpipe(to).pause());
    },
    letGo: () => ways.forEach((to, from) => from.pipe(to)),
    close: () => (listener.listening ? cut() : Promise.resolve()),
  };
}

interface Proxied {
  readonly sockets: Set<Socket>;
  readonly ways: Map<Socket, Socket>;
  readonly delayMs: number;
}

function join(near: Socket, far: Socket, { sockets, ways, delayMs }: Proxied): void {
  sockets.add(near);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.setNoDelay(true);
    // An error is followed by "close".
    one.on("error", () => undefined);
    one.on("close", () => {
      sockets.delete(one);
      ways.delete(one);
      // What is on its way arrives.
      setTimeout(() => other.destroy(), delayMs);
    });
    if (delayMs === 0) {
      ways.set(one, other);
      one.pipe(other);
    } else {
      one.on("data", (bytes: Buffer) => setTimeout(() => other.write(bytes), delayMs));
      one.on("end", () => setTimeout(() => other.end(), delayMs));
    }
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}
