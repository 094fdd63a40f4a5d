/**
 * React hooks over `@iolite/client`. Tell them the type of your client once, and they are typed from its schema:
 *
 *     declare module "@iolite/react" {
 *       interface Register {
 *         client: typeof client;
 *       }
 *     }
 */

export { CheckBox, type CheckBoxProps } from "./bindings/CheckBox.js";
export { LiveList, type LiveListProps } from "./bindings/LiveList.js";
export type { OnError } from "./bindings/onError.js";
export { TextArea, type TextAreaProps } from "./bindings/TextArea.js";
export { TextBox, type TextBoxProps } from "./bindings/TextBox.js";
export { IoliteProvider, type IoliteProviderProps, useClient } from "./provider.js";
export type * from "./register.js";
export { type ConflictsResult, useConflicts } from "./useConflicts.js";
export { useDifference } from "./useDifference.js";
export type { HeldResult } from "./useHeld.js";
export type { KeepOptions } from "./useKept.js";
export { useConnectionState } from "./useConnectionState.js";
export { type LiveResult, useLive } from "./useLive.js";
export { type LogOptions, type LogResult, useLog } from "./useLog.js";
export { useMutation } from "./useMutation.js";
export { usePending } from "./usePending.js";
export { type ReactiveResult, useReactive } from "./useReactive.js";
export { useRefused } from "./useRefused.js";
export { useUnconfirmed } from "./useUnconfirmed.js";
export { useView } from "./useView.js";
