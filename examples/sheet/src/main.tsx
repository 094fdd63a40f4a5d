/** Starts the page. */

import { startPage } from "examples-page";

import { App } from "./App";
import { mutators } from "./model";
import "./sheet.css";

startPage("sheet", mutators, App);
