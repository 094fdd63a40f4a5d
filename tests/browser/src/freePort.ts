/** Ports for the servers of tests. */

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports of connections that go out, so that none of these takes it while the process is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (free) {
      await new Promise((resolve) => server.close(resolve));
      return port;
    }
  }
}
