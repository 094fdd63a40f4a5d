/** Starts the page. */

import { startPage } from "examples-page";

import { App } from "./App";
import { mutators } from "./mutators";
import "./board.css";

startPage("word-board", mutators, App);
