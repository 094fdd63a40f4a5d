// Prints the runs of scripts/measure as a Markdown table: a file of commands and one of reports, a line a run.
import { readFileSync } from "node:fs";

const [commands, reports] = process.argv.slice(2).map((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
const rounded = (value) => (value === null ? "none" : value >= 100 ? Math.round(value).toString() : value.toFixed(2));
const runs = reports.map((line, index) => ({ ...JSON.parse(line), command: commands[index] }));

/** Heading, and what of a run stands below it. */
const columns = [
  ["Workload", (run) => run.workload],
  ["Durability", (run) => run.durability],
  ["op/s", (run) => rounded(run.throughput_per_s)],
  ["p50 ms", (run) => rounded(run.latency_ms.p50)],
  ["p99 ms", (run) => rounded(run.latency_ms.p99)],
  ["Committed", (run) => run.committed],
  ["Retries", (run) => run.retries],
  ["Unknown", (run) => run.unknown],
  ["Lost updates", (run) => run.lost_updates],
  ["Violations", (run) => run.violations],
  ["Bytes up", (run) => rounded(run.bytes_up_per_op)],
  ["Bytes down", (run) => rounded(run.bytes_down_per_op)],
  ["fsync p50 ms", (run) => rounded(run.fsync_ms.p50)],
];
const row = (cells) => `| ${cells.join(" | ")} |`;

console.log(row(columns.map(([heading]) => heading)));
console.log(row(columns.map((_, index) => (index < 2 ? "---" : "---:"))));
runs.forEach((run) => console.log(row(columns.map(([, cell]) => cell(run)))));
console.log(`\nThe commands:\n\n\`\`\`\n${runs.map((run) => run.command).join("\n")}\n\`\`\``);
