/** Starts the page: a game of its own, or the one whose name is in the address. */

import { connectObjects, type Connection, type Ref } from "@iolite/objects";
import { createRoot } from "react-dom/client";

import { Game } from "../objects.js";
import { App } from "./App";
import { problemOf } from "./problemOf";
import "./duel.css";

/** The player of this tab, also after a reload. */
function ownName(): string {
  const name = sessionStorage.getItem("word-duel.player") ?? crypto.randomUUID();
  sessionStorage.setItem("word-duel.player", name);
  return name;
}

async function start(): Promise<void> {
  const root = createRoot(document.getElementById("root") as HTMLElement);
  const id = location.hash.slice(1) || crypto.randomUUID().slice(0, 8);
  history.replaceState(null, "", `#${id}`);
  addEventListener("hashchange", () => location.reload());
  const player = ownName();
  let game: Ref<Game> | undefined;
  const show = (connection: Connection) => game && root.render(<App game={game} player={player} connection={connection} />);
  try {
    const host = await connectObjects({ classes: [Game], keep: `word-duel/${player}`, onConnection: show });
    game = await host.get(Game, id, () => new Game());
    show(host.connection);
  } catch (error) {
    root.render(<p role="alert">{problemOf(error)}</p>);
  }
}

void start();
