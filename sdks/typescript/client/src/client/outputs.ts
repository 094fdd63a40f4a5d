/** What the core asks for, in the package's own types. */

import type { Changes } from "../storage/storage.js";
import { OutputKind } from "../wasm/iolite_wasm.js";
import type { ConnectionState, MutationStatus } from "./types.js";

type RawStatus = readonly [state: string, ...rest: unknown[]];

export type CoreOutput =
  | { readonly kind: OutputKind.Connect | OutputKind.Disconnect }
  | { readonly kind: OutputKind.Send; readonly frame: Uint8Array }
  | { readonly kind: OutputKind.Persist; readonly id: number; readonly changes: Changes }
  | {
      readonly kind: OutputKind.RunMutation;
      readonly counter: number;
      readonly name: string | undefined;
      readonly args: string | undefined;
    }
  | { readonly kind: OutputKind.RunReaction | OutputKind.Unavailable; readonly reaction: number }
  | { readonly kind: OutputKind.Mutation; readonly counter: number; readonly status: MutationStatus }
  | {
      readonly kind: OutputKind.Connection;
      readonly status: ConnectionState["status"];
      readonly refusal: ConnectionState["refusal"];
      readonly message: string | undefined;
    }
  | { readonly kind: OutputKind.ReactionFailed; readonly reaction: number; readonly message: string }
  | { readonly kind: OutputKind.ToTab | OutputKind.ReadOutbox | OutputKind.Adopted };

/** Reads one output; its parts are named in the core's `OutputKind`. */
export function readOutput(raw: readonly unknown[]): CoreOutput {
  const [kind, first, second, third] = raw as [OutputKind, never, never, never];
  switch (kind) {
    case OutputKind.Connect:
    case OutputKind.Disconnect:
      return { kind };
    case OutputKind.Send:
      return { kind, frame: first };
    case OutputKind.Persist:
      return { kind, id: first, changes: second };
    case OutputKind.RunMutation:
      return { kind, counter: first, name: second, args: third };
    case OutputKind.RunReaction:
    case OutputKind.Unavailable:
      return { kind, reaction: first };
    case OutputKind.Mutation:
      return { kind, counter: first, status: readStatus(second) };
    case OutputKind.Connection:
      return { kind, status: first, refusal: second, message: third };
    case OutputKind.ReactionFailed:
      return { kind, reaction: first, message: second };
    // For tabs that follow: the core asks only once one has joined, and no tab does yet.
    case OutputKind.ToTab:
    case OutputKind.ReadOutbox:
    case OutputKind.Adopted:
      return { kind };
  }
}

/** `["pending", durable, sent, wouldReject]`, or the final state and its reason. */
export function readStatus([state, ...rest]: RawStatus): MutationStatus {
  switch (state) {
    case "pending": {
      const [durable, sent, wouldReject] = rest as [boolean, boolean, string | undefined];
      return { state, durable, sent, wouldReject };
    }
    case "confirmed":
      return { state };
    case "rejected":
    case "quarantined":
    case "cancelled":
      return { state, reason: String(rest[0]) };
    default:
      throw new Error(`the core has a state that this package does not know: ${state}`);
  }
}
