/** Starts the page. */

import { App } from "./App";
import { start } from "./chat";
import "./chat.css";

start(App);
