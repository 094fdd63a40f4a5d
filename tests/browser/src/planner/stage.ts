/** The stage of the room planner's tests. */

import { type IoliteServer, startIolite } from "../ioliteServer.js";
import { onStageOf, type PersonOptions, RESULTS, type StageOf } from "../stage.js";
import { Person } from "./person.js";

export { type PersonOptions, RESULTS };
export type Stage = StageOf<IoliteServer, Person>;

const start = (): Promise<IoliteServer> => startIolite({ app: "examples/room-planner/dist" });

export function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  return onStageOf({ start, Person }, play);
}
