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
    const why = error instanceof Error ? error.message : String(error);
    queueMicrotask(() => events.lost(why));
    return { send: () => undefined, close: () => undefined };
  }
  let open = true;
  let why: string | undefined;
  socket.binaryType = "arraybuffer";
  socket.onopen = () => open && events.opened();
  socket.onclose = () => {
    if (open) {
      open = false;
      events.lost(why);
    }
  };
  // An error is followed by a close. Node says what it was.
  socket.onerror = (event) => {
    why = (event as { message?: string }).message;
  };
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
