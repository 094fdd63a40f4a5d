/**
 * A link to a server over a WebSocket, in frames of bytes. Clients use it, and so does `@iolite/objects`, which imports it as `@iolite/client/link`.
 *
 * Invariants: it imports nothing, so that a page of objects downloads no client with it; a link that was closed here reports nothing more.
 */

/** One connection to a server. */
export interface Link {
  send(frame: Uint8Array): void;
  /** Ends it. Nothing is reported afterwards. */
  close(): void;
}

export interface LinkEvents {
  opened(): void;
  /** The connection ended, or could not be made. `why`: if that is known. Browsers seldom tell. */
  lost(why?: string): void;
  frame(bytes: Uint8Array): void;
}

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
    queueMicrotask(() => events.lost(`no connection to this address is allowed here: ${reason}`));
    return { send: () => undefined, close: () => undefined };
  }
  let open = true;
  let problem: string | undefined;
  socket.binaryType = "arraybuffer";
  socket.onopen = () => open && events.opened();
  // An error is followed by a close. Node says what it was.
  socket.onerror = (event) => {
    problem = (event as { message?: string }).message;
  };
  socket.onclose = ({ reason }) => {
    if (open) {
      open = false;
      events.lost([problem, reason].find((words) => words !== undefined && words !== ""));
    }
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
