/** A link over a WebSocket, in frames of bytes. */

import type { Link, LinkEvents } from "./platform.js";

/** The part of the standard class that is used. */
export interface WebSocketClass {
  new (url: string): WebSocket;
}

export function openWebSocketLink(implementation: WebSocketClass, url: string, events: LinkEvents): Link {
  let socket: WebSocket;
  try {
    socket = new implementation(url);
  } catch (error) {
    // Such as ws:// from a page that came by https.
    const reason = error instanceof Error ? error.message : String(error);
    queueMicrotask(() => events.lost(`the browser forbids this address of a server: ${reason}`));
    return { send: () => undefined, close: () => undefined };
  }
  let open = true;
  const lose = (): void => {
    if (open) {
      open = false;
      events.lost();
    }
  };
  socket.binaryType = "arraybuffer";
  socket.onopen = () => open && events.opened();
  socket.onclose = lose;
  // An error is followed by a close.
  socket.onerror = () => undefined;
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (open && data instanceof ArrayBuffer) {
      events.frame(new Uint8Array(data));
    }
  };
  return {
    send: (frame) => {
      if (open && socket.readyState === socket.OPEN) {
        socket.send(frame as Uint8Array<ArrayBuffer>);
      }
    },
    close: () => {
      open = false;
      socket.close();
    },
  };
}
