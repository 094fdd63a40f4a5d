/** Values that TypeScript forbids somewhere and JavaScript lets through, by names for messages. */

const thrower = (): never => {
  throw new Error("of the app");
};

/** `reenter`: what code of the app would call from a getter. */
export function wrongValues(reenter: () => void): Readonly<Record<string, unknown>> {
  const detached = Uint8Array.of(1, 2, 3);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const revoked = Proxy.revocable([], {});
  revoked.revoke();
  const traps = { get: thrower, has: thrower, ownKeys: thrower, getPrototypeOf: thrower, getOwnPropertyDescriptor: thrower };
  const reentering = (target: object): object =>
    new Proxy(target, {
      get: (own, name) => (reenter(), Reflect.get(own, name) as unknown),
      ownKeys: (own) => (reenter(), Reflect.ownKeys(own)),
      getPrototypeOf: (own) => (reenter(), Reflect.getPrototypeOf(own)),
    });
  const longer = [1];
  Object.defineProperty(longer, "0", { get: thrower });
  class Note {
    id = "x";
  }
  return {
    undefined: undefined,
    null: null,
    number: 5,
    negative: -1,
    fraction: 0.5,
    NaN: Number.NaN,
    Infinity: Number.POSITIVE_INFINITY,
    inexact: 2 ** 53,
    bigint: 1n,
    "too large a bigint": 1n << 70n,
    true: true,
    false: false,
    "empty string": "",
    string: "text",
    "half of a character": "a\ud800",
    "huge string": "x".repeat(2 ** 24 + 1),
    symbol: Symbol("s"),
    function: () => 1,
    "function without a name": Object.defineProperty(() => 1, "name", { get: thrower }),
    date: new Date(0),
    map: new Map([["a", 1]]),
    set: new Set([1]),
    "plain object": { a: 1 },
    "empty object": {},
    instance: new Note(),
    array: [1, 2],
    "nested array": [[[1]]],
    // A hole.
    sparse: [1, , 3],
    "array with a getter": longer,
    "object with a getter": { get length(): number { return thrower(); }, get a(): number { return thrower(); } },
    "object without a text": { toString: thrower, valueOf: thrower, toJSON: thrower, [Symbol.toPrimitive]: thrower },
    "throwing iterator": { [Symbol.iterator]: thrower },
    "throwing proxy": new Proxy({}, traps),
    "throwing proxy of an array": new Proxy([], traps),
    "revoked proxy": revoked.proxy,
    "proxy that calls the client": reentering({ a: 1 }),
    "array that calls the client": reentering(["a"]),
    bytes: Uint8Array.of(1),
    "bytes with a length of their own": Object.defineProperty(Uint8Array.of(1), "length", { get: thrower }),
    "detached bytes": detached,
    "proxy of bytes": new Proxy(Uint8Array.of(1), {}),
    floats: Float64Array.of(1),
    buffer: new ArrayBuffer(8),
    promise: Promise.resolve(1),
    error: new Error("e"),
    boxed: Object("text") as unknown,
  };
}
