// The tables of scripts/measure-detours: one for each question, a row for each point and system, the median of its runs.
// Usage: node scripts/measure-detours-table.mjs RUNS
import { median, readRuns, short } from "./measurements.mjs";

const questions = {
    down: ["A replica down", ["down"], ["slow_paths"]],
    skew: ["Four coordinators whose clocks are spread over so many ms", ["skew_ms"], ["again", "aborts"]],
    clients: ["More clients", ["clients"], ["again", "slow_paths", "aborts"]],
    batching: ["Baselines whose log takes one entry at a time", [], ["cpu", "messages", "peak"]],
};

const figures = {
    throughput: ["a second", (record) => record.throughput_per_s],
    p50: ["ms p50", (record) => record.latency_ms.p50],
    p99: ["p99", (record) => record.latency_ms.p99],
    commit: ["write commit ms p50", (record) => record.write_commit_latency_ms.p50],
    commit99: ["p99", (record) => record.write_commit_latency_ms.p99],
    slow_paths: ["slow paths a transaction", (record) => record.slow_paths_per_op],
    again: ["proposed again in 100", (record) => 100 * record.proposed_again_per_op],
    aborts: ["aborts in 100", (record) => (100 * record.aborts) / (record.aborts + record.committed)],
    cpu: ["CPU us, busiest", (record) => record.busiest_node.cpu_us_per_op],
    messages: ["messages, busiest", (record) => record.busiest_node.messages_per_op],
    peak: ["projected peak", (record) => record.busiest_node.projected_peak_per_s],
};

const runs = readRuns(process.argv[2]);
for (const [question, [head, fields, own]] of Object.entries(questions)) {
    const points = new Map();
    for (const { beside, ...run } of runs.filter((one) => one.question === question)) {
        for (const record of [{ ...run, system: "iolite" }, ...beside]) {
            const name = [run.workload, run.delay_ms, record.system, ...fields.map((field) => run[field])].join(" | ");
            points.set(name, [...(points.get(name) ?? []), record]);
        }
    }
    const columns = ["throughput", "p50", "p99", "commit", "commit99", ...own].map((name) => figures[name]);
    console.log(`\n## ${head}\n`);
    console.log(`| workload | delay ms | system | ${[...fields.map((field) => field.replace("_", " ")), ...columns.map(([text]) => text)].join(" | ")} |`);
    console.log(`|---|---:|---|${[...fields, ...columns].map(() => "---:|").join("")}`);
    for (const [name, records] of points) {
        console.log(`| ${name} | ${columns.map(([, figure]) => short(median(records.map(figure)))).join(" | ")} |`);
    }
}
