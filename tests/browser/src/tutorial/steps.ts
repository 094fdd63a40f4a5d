/** The steps of `docs/tutorial.md`: its files, and its commands. */

export interface TutorialFile {
  readonly kind: "file";
  readonly path: string;
  readonly content: string;
}

export interface TutorialCommands {
  readonly kind: "commands";
  readonly script: string;
}

export type Step = TutorialFile | TutorialCommands;

const QUOTED_FROM = "examples/shopping-list/";

/** Blocks that are quoted from the example's folder are files of the app; blocks of `sh` are typed. Any other is for the reader only. */
export function stepsOf(page: string): readonly Step[] {
  const blocks = page.matchAll(/(?:^<!-- from (?<from>\S+) -->\n)?^```(?<language>\w*)\n(?<content>[\s\S]*?)^```$/gm);
  return [...blocks].flatMap(({ groups = {} }): Step[] => {
    const { from, language, content = "" } = groups;
    if (from !== undefined) {
      return [{ kind: "file", path: from.replace(QUOTED_FROM, ""), content }];
    }
    return language === "sh" ? [{ kind: "commands", script: content }] : [];
  });
}
