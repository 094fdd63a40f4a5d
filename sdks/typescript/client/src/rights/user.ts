/** The user who asks, as the token says it. */

import { literal } from "./kinds.js";
import { Claim, Subject } from "./operand.js";
import { RuleProblem } from "./problem.js";
import { Rule } from "./rule.js";

/** The user as rules know them. */
export interface User {
  /** The user's name at the issuer: a text. */
  readonly sub: Subject;
  /** Another claim of the token. The gateway's settings name it with its type. */
  claim(name: string): Claim;
  /** Whether the claim `roles`, which is a list of texts, has this one. */
  role(role: string): Rule;
  /** Whether a claim is true. */
  flag(name: string): Rule;
}

const OWN: User = {
  sub: new Subject({ claim: "sub" }, "string", "user.sub"),
  claim,
  role: (role) => claim("roles").contains(role),
  flag: (name) => new Rule(claim(name).testJson({ equal: literal(true, { scalar: "bool", name }) })),
};

function claim(name: string): Claim {
  if (typeof name !== "string" || name === "") {
    throw new RuleProblem(`user.claim(…) takes the name of a claim, such as user.claim("team"), not ${typeof name}`);
  }
  return new Claim({ claim: name }, name === "sub" ? "string" : undefined, `user.${name}`);
}

/** The user who asks: `user.sub` is their name, and `user.claim("team")` what their token says beside. */
export const user: User = new Proxy(OWN, {
  get: (own, name) => {
    if (typeof name === "string" && !Object.hasOwn(own, name)) {
      throw new RuleProblem(`there is no user.${name}: write user.claim(${JSON.stringify(name)})`);
    }
    return own[name as keyof User];
  },
});
