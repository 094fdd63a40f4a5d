/** The table of contents: the pages in their order, and the file of the repository that each is made of. */

import { readdirSync } from "node:fs";

import { repositoryPath } from "./settings.js";

export interface Page {
  /** From the repository's root. */
  readonly file: string;
  /** On the site, without an ending. */
  readonly path: string;
  /** In the sidebar; the page's heading if it is not said. */
  readonly title?: string;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

const guide = (name: string): Page => ({ file: `docs/guides/${name}.md`, path: `guides/${name}` });
const running = (name: string, file = `docs/${name}.md`): Page => ({ file, path: `operations/${name}` });
const protocol = (name: string): Page => ({ file: `docs/protocols/${name}.md`, path: `protocols/${name}` });
const how = (name: string): Page => ({ file: `docs/${name}.md`, path: `how/${name}` });

const DECISIONS = readdirSync(repositoryPath("docs/decisions"))
  .filter((file) => /^\d/.test(file))
  .sort()
  .map((file): Page => ({ file: `docs/decisions/${file}`, path: `decisions/${file.replace(/\.md$/, "")}` }));

/** Written by programs when the site is made: they have no file in the repository. */
export const MADE = {
  client: "reference/typescript/client/",
  react: "reference/typescript/react/",
  objects: "reference/typescript/objects/",
  commandLine: "reference/command-line",
} as const;

export const SECTIONS: readonly Section[] = [
  {
    title: "Start",
    pages: [
      { file: "docs/tutorial.md", path: "start/tutorial" },
      { file: "README.md", path: "start/about", title: "What Iolite is" },
      { file: "examples/README.md", path: "start/examples" },
      ...["chat", "word-board", "murmur", "sheet", "album", "passwords", "wall", "todo", "word-duel", "room-planner", "hundred-game", "guides"].map((name) => ({
        file: `examples/${name}/README.md`,
        path: `start/examples/${name}`,
      })),
    ],
  },
  {
    title: "Guides",
    pages: [
      { file: "docs/guides/README.md", path: "guides/index", title: "All guides" },
      ...["take-it-into-your-app", "schema", "mutators", "forms", "lists", "offline", "users", "rights", "device", "managers", "testing", "schema-changes", "deploy"].map(guide),
      { file: "docs/blobs.md", path: "guides/blobs" },
      { file: "docs/merging.md", path: "guides/merging" },
      { file: "docs/sync.md", path: "guides/sync" },
    ],
  },
  {
    title: "Reference",
    pages: [
      { file: "sdks/typescript/client/README.md", path: "reference/client" },
      { file: "sdks/typescript/react/README.md", path: "reference/react" },
      { file: "sdks/typescript/objects/README.md", path: "reference/objects" },
      { file: "sdks/rust/README.md", path: "reference/rust", title: "Rust" },
      { file: "docs/reference/errors.md", path: "reference/errors" },
      { file: "docs/limits.md", path: "reference/limits" },
    ],
  },
  {
    title: "Operations",
    pages: [running("operations"), running("security"), running("centres"), running("backup"), running("postgres")],
  },
  {
    title: "How it works",
    pages: [
      { file: "ARCHITECTURE.md", path: "how/architecture" },
      ...["memory", "emulator", "faults", "models", "torture", "histories", "performance", "claims", "lines-of-code"].map(how),
      { file: "benchmarks/README.md", path: "how/benchmarks" },
      { file: "CONTRIBUTING.md", path: "how/contributing" },
    ],
  },
  {
    title: "Protocols",
    pages: ["session", "client", "operations", "gateway", "delivery", "logs", "blobs", "rowsync", "causal", "centres", "objects", "coordinator", "replica", "feed", "tabs", "node", "memory", "journal", "links", "wire", "ir", "tapir", "postgres"].map(
      protocol,
    ),
  },
  {
    title: "Decisions",
    pages: [{ file: "docs/decisions/README.md", path: "decisions/index", title: "All decisions" }, ...DECISIONS],
  },
];

export const PAGES: readonly Page[] = SECTIONS.flatMap(({ pages }) => pages);
