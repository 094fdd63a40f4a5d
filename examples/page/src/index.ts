/** What the pages of the examples have in common: how they start, who uses them, and how they show the connection and what was refused. */

export { AskButton } from "./AskButton";
export { type ConnectionWords, connectionWords } from "./connectionWords";
export { type Me, myId, useMe } from "./me";
export { NetworkSwitch } from "./NetworkSwitch";
export { Notice } from "./Notice";
export { openClient } from "./openClient";
export { Refusals } from "./Refusals";
export { registerServiceWorker } from "./registerServiceWorker";
export { SecondWindow } from "./SecondWindow";
export { startPage } from "./startPage";
export { StatusChip } from "./StatusChip";
export { Switch } from "./Switch";
export { SyncChip } from "./SyncChip";
export { type Mark, MARK_WORDS, useMarks } from "./useMarks";
export { useRoute } from "./useRoute";
