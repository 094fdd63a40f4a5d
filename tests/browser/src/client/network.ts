/** The network of a person's pages, which a test can cut. */

import type { BrowserContext, WebSocketRoute } from "playwright-core";

/** Cuts and lets through what a person's pages say to the server. */
export class Network {
  private readonly open = new Set<WebSocketRoute>();
  private isUp = true;

  async of(context: BrowserContext): Promise<void> {
    await context.routeWebSocket(/\/sync/, (socket) => {
      if (this.isUp) {
        socket.connectToServer();
        this.open.add(socket);
      } else {
        void socket.close();
      }
    });
  }

  async cut(): Promise<void> {
    this.isUp = false;
    await Promise.all([...this.open].map((socket) => socket.close()));
    this.open.clear();
  }

  mend(): void {
    this.isUp = true;
  }
}
