/** The fields of an account in words. */

import type { Field } from "./account";

export const LABELS: Readonly<Record<Field, string>> = { name: "Name", user: "User", password: "Password", url: "Address", notes: "Notes" };
