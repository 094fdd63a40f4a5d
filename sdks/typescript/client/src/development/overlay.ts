/**
 * A small overlay of a page in development: it shows when the server refuses this client, why, and what to do; and how many mutations wait or were refused meanwhile.
 * It is not there while all is well, so it never covers a page that works. It has a shadow root, so no style of the page reaches it.
 */

import type { Client } from "../client/types.js";
import { remedyOf } from "./advice.js";

const STYLE = `
  div { position: fixed; z-index: 2147483647; inset: auto 1rem 1rem auto; max-width: min(28rem, calc(100vw - 2rem)); box-sizing: border-box;
    padding: 0.9rem 1.1rem; border-radius: 12px; font: 14px/1.5 system-ui, sans-serif; color: #fff; background: #3a1f3d; box-shadow: 0 6px 30px #0007; }
  h2 { margin: 0 0 0.3rem; font-size: 15px; } p { margin: 0.3rem 0; overflow-wrap: anywhere; }
  button { margin-top: 0.4rem; padding: 0.25rem 0.7rem; font: inherit; color: #fff; background: none; border: 1px solid #d9c6dc; border-radius: 6px; cursor: pointer; }
  button:focus-visible { outline: 2px solid #fff; outline-offset: 2px; }`;

type Shown = Pick<Client, "connection" | "onConnectionChange" | "pending" | "onPendingChange" | "refused" | "onRefusedChange">;

/** Keeps the overlay in step with the client. Hiding it lasts until another cause comes. */
export function showOverlay(client: Shown, page: Document): void {
  let host: HTMLElement | undefined;
  let hidden: string | undefined;
  function draw(): void {
    const { refusal, message } = client.connection;
    host?.remove();
    host = undefined;
    const cause = client.connection.status === "refused" ? `${refusal}: ${message}` : undefined;
    if (cause === undefined) {
      hidden = undefined;
    } else if (cause !== hidden) {
      host = overlayOf(page, wordsOf(client), () => {
        hidden = cause;
        draw();
      });
      page.body.append(host);
    }
  }
  client.onConnectionChange(draw);
  client.onPendingChange(draw);
  client.onRefusedChange(draw);
  draw();
}

function wordsOf({ connection, pending, refused }: Shown): readonly string[] {
  const counts = `${pending.length} ${pending.length === 1 ? "change waits" : "changes wait"} on this device, ${refused.length} refused.`;
  return [connection.message ?? "The server does not say why.", remedyOf(connection) ?? "", counts];
}

function overlayOf(page: Document, words: readonly string[], hide: () => void): HTMLElement {
  const host = page.createElement("iolite-overlay");
  const root = host.attachShadow({ mode: "open" });
  const style = page.createElement("style");
  style.textContent = STYLE;
  const box = page.createElement("div");
  box.setAttribute("role", "alert");
  box.setAttribute("aria-label", "Iolite, in development");
  const title = page.createElement("h2");
  title.textContent = "The server refuses this page";
  const lines = words.map((line) => Object.assign(page.createElement("p"), { textContent: line }));
  const button = Object.assign(page.createElement("button"), { type: "button", textContent: "Hide" });
  button.addEventListener("click", hide);
  box.append(title, ...lines, button);
  root.append(style, box);
  return host;
}
