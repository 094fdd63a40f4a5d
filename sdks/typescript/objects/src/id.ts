/** Ids: 128 bits, written as 32 hexadecimal digits. */

export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** An id as the module takes it, from one that may be written as a UUID. Undefined: it is none. */
export function idOf(given: unknown): string | undefined {
  const isId = typeof given === "string" && /^(?:[\da-f]{32}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i.test(given);
  return isId ? given.replaceAll("-", "").toLowerCase() : undefined;
}
