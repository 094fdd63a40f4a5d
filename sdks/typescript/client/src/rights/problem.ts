/** Something wrong with a rule, found while it is made. `defineRights` puts table and rule in front. */

import { SchemaError } from "../errors.js";

export class RuleProblem extends SchemaError {}
