/** Ids: 128 random bits, written as 32 hexadecimal digits. */

declare const isId: unique symbol;

/** The value of an `s.id()` column. */
export type Id = string & { readonly [isId]: true };

const PATTERN = /^[0-9a-f]{32}$/;

/** Checks a text that comes from elsewhere, such as an address or a form. */
export function asId(text: string): Id {
  const lower = text.toLowerCase();
  if (!PATTERN.test(lower)) {
    throw new TypeError(`an id is 32 hexadecimal digits, not ${JSON.stringify(text.slice(0, 64))}`);
  }
  return lower as Id;
}

/** A new id, for arguments of mutations. Inside a closure use `tx.newId()`, which gives the same one at every run. */
export function newId(): Id {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") as Id;
}
