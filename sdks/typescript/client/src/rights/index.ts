/** Rights: who may do what with the rows of a schema, as data that servers judge. Clients carry no rules, so pages do not import this. */

export type { OperandsOf } from "./columns.js";
export type { Bounds, Conditions } from "./conditions.js";
export {
  defineRights,
  type Deployment,
  type LiveRules,
  type LogRules,
  type ObjectRules,
  open,
  Rights,
  type RuleIn,
  type Rules,
  type TableRules,
} from "./defineRights.js";
export type { Constant, Kind, KindOf } from "./kinds.js";
export type { Claim, Mine, Operand, SetOperand, Subject, Value } from "./operand.js";
export type { Allowed, Changes, Ops } from "./ops.js";
export { RightsOf, RightsTest, rightsTest, type Who } from "./rightsTest.js";
export { everybody, nobody, Rule } from "./rule.js";
export { type Followed, mine, type Rows } from "./rows.js";
export type {
  CallScene,
  CheckScene,
  CreateScene,
  DeleteScene,
  JoinScene,
  ObjectScene,
  ReadScene,
  RunScene,
  UpdateScene,
} from "./scenes.js";
export { type RightsTestCode, RightsTestError } from "./testing/error.js";
export type { Change, ChangesIn, Deed, Given, GivenRow } from "./testing/types.js";
export { type User, user } from "./user.js";
