/** Operands: values that a rule looks at, and the tests of them. */

import type { ScalarName } from "../schema/column.js";
import type { OperandJson, RuleJson } from "./json.js";
import { type Constant, type Holds, type Kind, literal } from "./kinds.js";
import { RuleProblem } from "./problem.js";
import { Rule } from "./rule.js";

declare const kindOf: unique symbol;
declare const nullable: unique symbol;
declare const isClaim: unique symbol;
declare const isSubject: unique symbol;
declare const memberOf: unique symbol;
declare const elementOf: unique symbol;

/** A value of a kind: one that a rule looks at, or a constant. */
export type Value<K extends Kind, N extends boolean = false> = Operand<K, boolean> | Claim | Constant<K, N>;

/** Ways to compare, and their names in JSON. */
const RELATIONS = {
  is: "equal",
  isNot: "notEqual",
  less: "less",
  atMost: "atMost",
  greater: "greater",
  atLeast: "atLeast",
  beginsWith: "beginsWith",
  contains: "contains",
} as const;

/** A way to compare, as rules call it. */
export type Relation = keyof typeof RELATIONS;

/** @internal */
export function isRelation(name: string): name is Relation {
  return Object.hasOwn(RELATIONS, name);
}

/** A value that a rule looks at. */
abstract class Looked implements Holds {
  constructor(
    /** @internal */ readonly json: OperandJson,
    /** @internal */ readonly scalar: ScalarName | undefined,
    /** @internal */ readonly name: string,
  ) {}

  /** @internal */
  test(relation: Relation, other: unknown): Rule {
    return new Rule(this.testJson(comparison(this, relation, other)));
  }

  /** @internal */
  testJson(is: unknown): RuleJson {
    return { test: { is, of: this.json } };
  }

  /** @internal */
  within(values: readonly unknown[]): Rule {
    return new Rule({ in: { of: this.json, set: setJson(this, values) } });
  }
}

/** One value of a kind: a column, the time, or a part of what is asked for. */
export class Operand<K extends Kind, N extends boolean = false> extends Looked {
  declare readonly [kindOf]: K;
  declare readonly [nullable]: N;

  /** Whether both are equal. */
  is(other: Value<K, N>): Rule {
    return this.test("is", other);
  }

  /** Whether both are there, and differ. */
  isNot(other: Value<K, N>): Rule {
    return this.test("isNot", other);
  }

  /** Whether it comes before. */
  less(other: Value<K>): Rule {
    return this.test("less", other);
  }

  atMost(other: Value<K>): Rule {
    return this.test("atMost", other);
  }

  greater(other: Value<K>): Rule {
    return this.test("greater", other);
  }

  atLeast(other: Value<K>): Rule {
    return this.test("atLeast", other);
  }

  /** Whether a text begins so. */
  beginsWith(this: Operand<"string", boolean>, other: Value<"string">): Rule {
    return this.test("beginsWith", other);
  }

  /** Whether it is in a set: one that `mine` made, a claim that is a list, or these constants. */
  in(set: Mine<K> | ("string" extends K ? Claim : never)): Rule;
  in(...values: readonly Constant<K, N>[]): Rule;
  in(...values: readonly unknown[]): Rule {
    return this.within(values);
  }
}

/** A column that is a set. */
export class SetOperand<K extends Kind> extends Looked {
  declare readonly [memberOf]: K;

  /** Whether it has this member. */
  contains(member: Value<K>): Rule {
    return this.test("contains", member);
  }
}

/** Kinds of claims, which the gateway's settings name. */
type ClaimKind = "string" | "number" | "bool";
type ClaimValue = Operand<"string", boolean> | Operand<"number", boolean> | Operand<"bool", boolean> | Claim | Constant<ClaimKind, false>;

/** A claim: what the user's token says under a name. A token that lacks it satisfies no test of it. */
export class Claim extends Looked {
  declare readonly [isClaim]: true;

  is(other: ClaimValue): Rule {
    return this.test("is", other);
  }

  isNot(other: ClaimValue): Rule {
    return this.test("isNot", other);
  }

  less(other: ClaimValue): Rule {
    return this.test("less", other);
  }

  atMost(other: ClaimValue): Rule {
    return this.test("atMost", other);
  }

  greater(other: ClaimValue): Rule {
    return this.test("greater", other);
  }

  atLeast(other: ClaimValue): Rule {
    return this.test("atLeast", other);
  }

  beginsWith(other: Value<"string">): Rule {
    return this.test("beginsWith", other);
  }

  /** Whether a claim that is a list has this text. */
  contains(text: Value<"string">): Rule {
    return this.test("contains", text);
  }

  in(set: Mine<ClaimKind>): Rule;
  in(...values: readonly Constant<ClaimKind, false>[]): Rule;
  in(...values: readonly unknown[]): Rule {
    return this.within(values);
  }

  /** @internal */
  override testJson(is: unknown): RuleJson {
    const { claim } = this.json as { readonly claim: string };
    return { claim: { is, name: claim } };
  }
}

/** The user's name at the issuer: the claim `sub`, a text. */
export class Subject extends Operand<"string"> {
  declare readonly [isSubject]: true;
}

/** Values of a column of rows that name the user. Make one with `mine()`. */
export class Mine<out K extends Kind> {
  declare readonly [elementOf]: K;

  /** @internal */
  constructor(
    /** @internal */ readonly json: Readonly<Record<string, unknown>>,
    /** @internal */ readonly scalar: ScalarName,
    /** @internal */ readonly name: string,
  ) {}
}

/** @internal A comparison as data. */
export function comparison(of: Holds, relation: Relation, other: unknown): Readonly<Record<string, OperandJson>> {
  return { [RELATIONS[relation]]: operandJson(of, other) };
}

/** @internal An operand or a constant as data. */
export function operandJson(of: Holds, other: unknown): OperandJson {
  if (other instanceof SetOperand) {
    throw new RuleProblem(`${of.name} is compared with ${other.name}, which is a set: ask ${other.name}.contains(…)`);
  }
  if (!(other instanceof Looked)) {
    return literal(other, of);
  }
  mustBeAlike(of, other);
  return other.json;
}

function mustBeAlike(of: Holds, other: Holds): void {
  if (of.scalar !== undefined && other.scalar !== undefined && of.scalar !== other.scalar) {
    throw new RuleProblem(`${of.name} is of type ${of.scalar}, and ${other.name} of type ${other.scalar}: compare what is alike`);
  }
}

function setJson(of: Holds, values: readonly unknown[]): unknown {
  const [only] = values;
  if (only instanceof Mine) {
    mustBeAlike(of, only);
    return { mine: only.json };
  }
  if (only instanceof Claim) {
    return only.json;
  }
  if (values.length === 0 || Array.isArray(only)) {
    throw new RuleProblem(`${of.name}.in(…) takes a set of mine(…), a claim that is a list, or constants one by one: .in("open", "closed")`);
  }
  return { values: values.map((value) => literal(value, of)) };
}
