/** The stage of the tests of the small examples, and what all their pages have. */

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";

import { type IoliteServer, startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { onStageOf, RESULTS, type StageOf } from "../stage.js";
import { Visitor } from "../visitor.js";

export type Stage = StageOf<IoliteServer, Visitor>;

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;

/** `app` is a folder of `examples/`. If it has rights, they are in effect. */
export function onStage(app: string, play: (stage: Stage) => Promise<void>): Promise<void> {
  const rights = `sdks/golden/rights/${app}.json`;
  const withRights = existsSync(repositoryPath(rights)) ? { rights } : {};
  const start = (): Promise<IoliteServer> => startIolite({ app: `examples/${app}/dist`, ...withRights });
  return onStageOf({ start, Person: Visitor }, play);
}

/** Pictures are for people: no test looks at them. */
export async function savePicture(person: Visitor, name: string): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await person.page.screenshot({ path: `${RESULTS}/${name}.png`, animations: "disabled" });
}
