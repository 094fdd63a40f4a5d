/** A plugin for Vite: its server starts an `iolite dev`, and passes on to it what pages ask of Iolite. So one command runs both. */

import { resolve } from "node:path";

import { type RunningServer, startServer } from "./startServer.js";

export interface IoliteOptions {
  /** The data directory, `.iolite` if not given. */
  readonly data?: string;
}

interface Passed {
  readonly proxy: Record<string, string | { readonly target: string; readonly ws: true }>;
}

/** The part of a plugin that Vite needs. Vite's own type is not named, so that this package does not need Vite. */
export interface IolitePlugin {
  readonly name: "iolite";
  readonly apply: "serve";
  config(): Promise<{ server?: Passed; preview?: Passed }>;
}

/** Give it to `plugins`. It does nothing in a build, nor where Vitest runs: a test starts a server of its own. */
export function iolite({ data = ".iolite" }: IoliteOptions = {}): IolitePlugin {
  return {
    name: "iolite",
    apply: "serve",
    async config() {
      if (process.env["VITEST"] !== undefined) {
        return {};
      }
      const { origin } = await running(resolve(data));
      const socket = { target: origin, ws: true as const };
      const proxy = { "/sync": socket, "/blobs": socket, "/iolite.json": origin };
      return { server: { proxy }, preview: { proxy } };
    },
  };
}

const RUNNING = Symbol.for("servers of @iolite/cli/vite");

/** One for each data directory: when its settings change, Vite makes its new server before it closes the old one, and loads this file anew. */
function running(data: string): Promise<RunningServer> {
  const all = ((globalThis as { [RUNNING]?: Map<string, Promise<RunningServer>> })[RUNNING] ??= new Map());
  let server = all.get(data);
  if (server === undefined) {
    server = startServer({ data });
    server.catch(() => all.delete(data));
    all.set(data, server);
  }
  return server;
}
