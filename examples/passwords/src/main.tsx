/** Starts the page. */

import { startPage } from "examples-page";

import { App } from "./App";
import { mutators } from "./model";
import "./passwords.css";

startPage("passwords", mutators, App);
