/**
 * Rules: tests, joined by and, or, not.
 *
 * Invariant: a test that is made for a rule is in it. Else `a && b` would be `b` alone, and let in whom `a` was to keep out.
 */

import type { RuleJson } from "./json.js";
import { RuleProblem } from "./problem.js";

declare const isRule: unique symbol;

/** The rules that were made since a function of a rule began. */
let made: Set<Rule> | undefined;

/** Whether somebody may do something: made of tests of columns and claims, joined by `and`, `or` and `not`. */
export class Rule {
  declare readonly [isRule]: true;

  /** @internal */
  constructor(
    /** @internal */ readonly json: RuleJson,
    /** @internal */ readonly uses: readonly Rule[] = [],
  ) {
    made?.add(this);
  }

  /** Both, and all others that are given. */
  and(...others: readonly [Rule, ...Rule[]]): Rule {
    return joined("and", this, others);
  }

  /** One of them, or more. */
  or(...others: readonly [Rule, ...Rule[]]): Rule {
    return joined("or", this, others);
  }

  /** The opposite. What is missing, such as a claim that a token lacks, satisfies neither a test nor its opposite. */
  not(): Rule {
    return new Rule({ not: this.json }, [this]);
  }
}

/** Everybody who has signed in, anonymous users included. */
export const everybody: Rule = new Rule({ and: [] });

/** No user at all, as where a rule is left out. */
export const nobody: Rule = new Rule({ or: [] });

function joined(how: "and" | "or", first: Rule, others: readonly Rule[]): Rule {
  const wrong = others.find((other) => !(other instanceof Rule));
  if (others.length === 0 || wrong !== undefined) {
    throw new RuleProblem(`.${how}() takes rules, such as row.owner.is(user.sub), not ${others.length === 0 ? "nothing" : typeof wrong}`);
  }
  const before = how in first.json ? (first.json[how] as readonly RuleJson[]) : [first.json];
  return new Rule({ [how]: [...before, ...others.map(({ json }) => json)] }, [first, ...others]);
}

/** Runs a function that gives a rule, and looks whether each test that it makes is in that rule. */
export function wholeRule(rule: unknown, scene: unknown): Rule {
  if (rule instanceof Rule) {
    return rule;
  }
  if (typeof rule !== "function") {
    throw new RuleProblem(`write a function, such as ({ row }) => row.owner.is(user.sub), or everybody, not ${typeof rule}`);
  }
  const own = new Set<Rule>();
  made = own;
  let result: unknown;
  try {
    result = rule(scene);
  } finally {
    made = undefined;
  }
  if (!(result instanceof Rule)) {
    const got = result instanceof Promise ? "a promise" : typeof result;
    throw new RuleProblem(`its function returned ${got}: return a rule, such as row.owner.is(user.sub), and join rules by .and(), .or() and .not()`);
  }
  const unused = [...own].find((each) => !uses(result).has(each));
  if (unused !== undefined) {
    throw new RuleProblem(`it does not use ${JSON.stringify(unused.json)}: join rules by .and() and .or(), not by && and ||, or remove that test`);
  }
  return result;
}

/** A rule, and all that it is made of. */
function uses(rule: Rule): ReadonlySet<Rule> {
  const seen = new Set([rule]);
  seen.forEach((each) => each.uses.forEach((part) => seen.add(part)));
  return seen;
}
