/**
 * Objects whose unknown names are errors. In plain JavaScript, where no compiler looks, `tx.itmes` would be undefined, and the error be one
 * about reading properties of it.
 */

/** `known` as it is, but that another name than its own throws. Names of every object, and symbols, are let through. */
export function withKnownNames<T extends object>(known: T, unknownName: (name: string) => Error): T {
  const strict = new Proxy(Object.prototype, {
    get: (target, name, receiver) => {
      if (typeof name === "string" && !(name in target) && !ASKED_OF_EVERY_OBJECT.has(name)) {
        throw unknownName(name);
      }
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  return Object.setPrototypeOf(known, strict) as T;
}

/** What the language and those who print objects look for. */
const ASKED_OF_EVERY_OBJECT = new Set(["then", "toJSON", "inspect", "$$typeof", "nodeType", "asymmetricMatch"]);
