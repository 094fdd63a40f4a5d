// Makes the table of scripts/measure-kills of its lines of JSON: the longest pauses in milliseconds, the median of all kills of a kind and the worst.
import { readFileSync } from "node:fs";

const runs = readFileSync(process.argv[2], "utf8").trim().split("\n").map((line) => JSON.parse(line));
const delays = [...new Set(runs.map((run) => run.delay_ms))];
const kinds = [
  ["nothing", () => false],
  ["a gateway", (victim) => victim.startsWith("gateway-")],
  ["a replica", (victim) => victim.startsWith("store-")],
  ["a client", (victim) => !/[- ]/.test(victim)],
];

function pauses(delay, isKind, kind) {
  const of = runs.filter((run) => run.delay_ms === delay);
  const found = kind === "nothing"
    ? of.map((run) => run.undisturbed_longest_pause_ms)
    : of.flatMap((run) => run.kills.filter(({ victim }) => isKind(victim)).map((kill) => kill.longest_pause_ms));
  return found.sort((a, b) => a - b);
}

console.log(`| The longest time without a round, when this was killed | ${delays.map((delay) => `${delay} ms from clients to gateways and back: median, worst`).join(" | ")} |`);
console.log(`|---|${delays.map(() => "---:|").join("")}`);
for (const [kind, isKind] of kinds) {
  const cells = delays.map((delay) => {
    const found = pauses(delay, isKind, kind);
    return `${found[Math.floor(found.length / 2)]} ms, ${found.at(-1)} ms (of ${found.length})`;
  });
  console.log(`| ${kind} | ${cells.join(" | ")} |`);
}
const total = (key) => runs.reduce((sum, run) => sum + run[key], 0);
console.log(`\nRounds in all ${runs.length} runs: ${total("rounds")}. Lost: ${total("lost")}. Doubled: ${total("doubled")}. Out of turn or miscounted: ${total("violations")}.`);
