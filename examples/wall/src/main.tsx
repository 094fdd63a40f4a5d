/** Starts the page. */

import { startPage } from "examples-page";

import { App } from "./App";
import { mutators } from "./model";
import "./wall.css";

startPage("wall", mutators, App);
