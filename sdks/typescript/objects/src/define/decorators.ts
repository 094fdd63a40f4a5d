/** Decorators as JavaScript has them. Engines run none yet, so TypeScript lowers them: `defineObject` is the same without. */

import type { Parser } from "@iolite/client";

import { type ClassOptions, defineObject, type ObjectClass } from "./definition.js";
import { mark } from "./marks.js";

/** Above a class: its objects can live and be called anywhere. It stands above other decorators of the class. */
export function sapphire(name: string, options: ClassOptions = {}) {
  return <C extends ObjectClass<object>>(type: C, _context: ClassDecoratorContext<C>): void => defineObject(name, type, options);
}

/** Above a method that only reads: such methods run side by side, and changes that they make count for nothing. Above other decorators of the method. */
export function read() {
  return (method: (...args: never) => unknown, _context: ClassMethodDecoratorContext): void => mark(method, { reads: true });
}

/** Above a method: `parser` looks at the arguments as an array, where the object is, before the method runs. Above other decorators of the method. */
export function args<Args extends readonly unknown[]>(parser: Parser<Args>) {
  return <This>(method: (this: This, ...args: [...Args]) => unknown, _context: ClassMethodDecoratorContext<This>): void => mark(method, { parser });
}
