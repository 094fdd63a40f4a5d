/** Starts the page. */

import { myId, startPage } from "examples-page";

import { App } from "./App";
import { mutators } from "./mutators";
import "./board.css";

startPage("word-board", mutators, App, { as: { sub: myId() } });
