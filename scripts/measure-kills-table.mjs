// Makes the table of scripts/measure-kills of its lines of JSON: the longest pauses in milliseconds, the median of all kills of a kind and the worst.
import { median, readRuns } from "./measurements.mjs";

const runs = readRuns(process.argv[2]);
const delays = [...new Set(runs.map((run) => run.delay_ms))];
const kinds = [
  ["nothing", () => false],
  ["a gateway", (victim) => victim.startsWith("gateway-")],
  ["a replica", (victim) => victim.startsWith("store-")],
  ["a client", (victim) => !/[- ]/.test(victim)],
];

function pauses(delay, isKind, kind) {
  const of = runs.filter((run) => run.delay_ms === delay);
  return kind === "nothing"
    ? of.map((run) => run.undisturbed_longest_pause_ms)
    : of.flatMap((run) => run.kills.filter(({ victim }) => isKind(victim)).map((kill) => kill.longest_pause_ms));
}

console.log(`| The longest time without a round, when this was killed | ${delays.map((delay) => `${delay} ms from clients to gateways and back: median, worst`).join(" | ")} |`);
console.log(`|---|${delays.map(() => "---:|").join("")}`);
for (const [kind, isKind] of kinds) {
  const cells = delays.map((delay) => {
    const found = pauses(delay, isKind, kind);
    return `${median(found).toFixed(0)} ms, ${Math.max(...found)} ms (of ${found.length})`;
  });
  console.log(`| ${kind} | ${cells.join(" | ")} |`);
}
const total = (key) => runs.reduce((sum, run) => sum + run[key], 0);
console.log(`\nRounds in all ${runs.length} runs: ${total("rounds")}. Lost: ${total("lost")}. Doubled: ${total("doubled")}. Out of turn or miscounted: ${total("violations")}.`);
