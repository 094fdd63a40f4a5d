/** What a core asks for, in the package's own types. */

import type { Changes } from "../storage/storage.js";
import type { TabId } from "../tabs/tabChannel.js";
import { OutputKind } from "../wasm/iolite_wasm.js";
import type { ConnectionState, MutationStatus, PendingStatus, SettledStatus } from "./types.js";

type RawStatus = readonly [state: string, ...rest: unknown[]];

/** How far a call is that this tab made while it did not lead. */
export type CallStatus =
  /** On its way to the disk. */
  | { readonly state: "called" }
  /** On the disk. */
  | { readonly state: "stored" }
  /** A mutation of the client that all tabs share. */
  | { readonly state: "queued"; readonly counter: number; readonly status: PendingStatus }
  | { readonly state: "ended"; readonly status: SettledStatus };

/** What the app may want to know. */
export type News =
  | { readonly kind: OutputKind.Mutation; readonly counter: number; readonly status: MutationStatus; readonly attempt: number }
  | { readonly kind: OutputKind.Delivered; readonly counter: number }
  | { readonly kind: OutputKind.LogStopped; readonly log: number | undefined; readonly reason: string }
  | { readonly kind: OutputKind.LogDiffers; readonly log: number | undefined; readonly index: number }
  | { readonly kind: OutputKind.LogMembers; readonly log: number | undefined }
  | { readonly kind: OutputKind.Conflicts; readonly table: string }
  | { readonly kind: OutputKind.Call; readonly ticket: string; readonly status: CallStatus }
  | {
      readonly kind: OutputKind.Connection;
      readonly status: ConnectionState["status"];
      readonly refusal: ConnectionState["refusal"];
      readonly message: string | undefined;
    }
  /** The data centre's name, or undefined while the client moves. */
  | { readonly kind: OutputKind.Centre; readonly centre: string | undefined }
  | { readonly kind: OutputKind.Unavailable; readonly reaction: number }
  | { readonly kind: OutputKind.ReactionFailed; readonly reaction: number; readonly message: string };

/** What only a core that leads, or only one that follows, asks for. */
export type OwnOutput =
  | { readonly kind: OutputKind.Connect; readonly gateway: number }
  | { readonly kind: OutputKind.Disconnect | OutputKind.ReadOutbox | OutputKind.Adopted | OutputKind.TokenWanted }
  | { readonly kind: OutputKind.Send | OutputKind.ToLeader; readonly bytes: Uint8Array }
  | { readonly kind: OutputKind.BlobsConnect; readonly gateway: number }
  | { readonly kind: OutputKind.BlobsDisconnect }
  | { readonly kind: OutputKind.BlobsSend; readonly bytes: Uint8Array }
  | { readonly kind: OutputKind.ChunkLoad | OutputKind.ChunkLook; readonly asker: number; readonly chunk: string }
  | { readonly kind: OutputKind.ChunkKeep; readonly chunk: string; readonly bytes: Uint8Array }
  | { readonly kind: OutputKind.Fetched; readonly download: number; readonly problem: string | undefined }
  | { readonly kind: OutputKind.ToTab; readonly tab: TabId; readonly bytes: Uint8Array };

export type CoreOutput =
  | News
  | OwnOutput
  | { readonly kind: OutputKind.Persist; readonly id: number; readonly changes: Changes }
  | {
      readonly kind: OutputKind.RunMutation;
      readonly counter: number;
      readonly name: string | undefined;
      readonly args: string | undefined;
    }
  | { readonly kind: OutputKind.RunReplay; readonly name: string; readonly args: string }
  | { readonly kind: OutputKind.RunReaction; readonly reaction: number };

/** Reads one output; its parts are named in the core's `OutputKind`. */
export function readOutput(raw: readonly unknown[]): CoreOutput {
  const [kind, first, second, third] = raw as [OutputKind, never, never, never];
  switch (kind) {
    case OutputKind.Connect:
    case OutputKind.BlobsConnect:
      return { kind, gateway: first };
    case OutputKind.ChunkLoad:
    case OutputKind.ChunkLook:
      return { kind, asker: first, chunk: second };
    case OutputKind.ChunkKeep:
      return { kind, chunk: first, bytes: second };
    case OutputKind.Fetched:
      return { kind, download: first, problem: second };
    case OutputKind.BlobsDisconnect:
      return { kind };
    case OutputKind.Disconnect:
    case OutputKind.ReadOutbox:
    case OutputKind.Adopted:
    case OutputKind.TokenWanted:
      return { kind };
    case OutputKind.Send:
    case OutputKind.BlobsSend:
    case OutputKind.ToLeader:
      return { kind, bytes: first };
    case OutputKind.ToTab:
      return { kind, tab: first, bytes: second };
    case OutputKind.Persist:
      return { kind, id: first, changes: second };
    case OutputKind.RunMutation:
      return { kind, counter: first, name: second, args: third };
    case OutputKind.RunReplay:
      return { kind, name: first, args: second };
    case OutputKind.LogStopped:
      return { kind, log: first, reason: second };
    case OutputKind.LogDiffers:
      return { kind, log: first, index: second };
    case OutputKind.LogMembers:
      return { kind, log: first };
    case OutputKind.Conflicts:
      return { kind, table: first };
    case OutputKind.RunReaction:
    case OutputKind.Unavailable:
      return { kind, reaction: first };
    case OutputKind.Mutation:
      return { kind, counter: first, status: readStatus(second), attempt: third };
    case OutputKind.Delivered:
      return { kind, counter: first };
    case OutputKind.Call:
      return { kind, ticket: first, status: readCallStatus(second) };
    case OutputKind.Connection:
      // The core says that the data can be removed from the device, and knows no name for that.
      return { kind, status: first, refusal: second, message: second === "other-user" ? `${third}: db.signOut()` : third };
    case OutputKind.Centre:
      return { kind, centre: first };
    case OutputKind.ReactionFailed:
      return { kind, reaction: first, message: second };
  }
}

/** `["pending", durable, sent, wouldReject, inConflict, centres]`, or the final state and its reason. */
export function readStatus([state, ...rest]: RawStatus): MutationStatus {
  switch (state) {
    case "pending": {
      const [durable, sent, wouldReject, inConflict, centres] = rest as [boolean, boolean, string | undefined, boolean, number];
      return { state, durable, sent, wouldReject, ...(inConflict ? { inConflict } : {}), ...(centres > 0 ? { centres } : {}) };
    }
    case "confirmed":
    case "overruled":
      return { state };
    case "rejected":
    case "quarantined":
    case "cancelled":
      return { state, reason: String(rest[0]) };
    default:
      throw new Error(`the core has a state that this package does not know: ${state}`);
  }
}

/** As the core's `OutputKind.Call` says. */
export function readCallStatus(raw: readonly unknown[]): CallStatus {
  const [state, counter, status] = raw as [string, number, RawStatus];
  switch (state) {
    case "called":
    case "stored":
      return { state };
    case "queued":
      return { state, counter, status: readStatus(status) as PendingStatus };
    case "ended":
      return { state, status: readStatus(status) as SettledStatus };
    case "confirmed-earlier":
      return { state: "ended", status: { state: "confirmed" } };
    default:
      throw new Error(`the core has a state of calls that this package does not know: ${state}`);
  }
}
