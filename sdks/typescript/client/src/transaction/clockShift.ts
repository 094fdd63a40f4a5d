/** Makes the clock another one while a function runs, so that a closure which asks it shows. */

const SHIFT_MS = 3_600_000;

export function withShiftedClock<T>(run: () => T): T {
  const real = globalThis.Date;
  const shifted = (): number => real.now() + SHIFT_MS;
  globalThis.Date = new Proxy(real, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [shifted()] : args, newTarget) as object,
    get: (target, name) => (name === "now" ? shifted : (Reflect.get(target, name) as unknown)),
  });
  try {
    return run();
  } finally {
    globalThis.Date = real;
  }
}
