/** Serves one folder of files on a free port of 127.0.0.1, with an empty page at `/`, for what needs no Iolite server. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

/** It names an icon, since Chromium reports a missing one as an error. */
const EMPTY_PAGE = '<!doctype html><title>Empty</title><link rel="icon" href="data:,">';

const TYPES: Record<string, string> = {
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

export interface FileServer {
  /** Without a slash at the end. */
  readonly origin: string;
  close(): Promise<void>;
}

export async function serveFiles(folder: string): Promise<FileServer> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    if (path === "/") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(EMPTY_PAGE);
      return;
    }
    readFile(join(folder, path)).then(
      (content) => response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain" }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
