// The table of scripts/measure-transactions: a row for each point of the grid and system, the median of its runs.
// Usage: node scripts/measure-transactions-table.mjs RUNS
import { median, readRuns, short } from "./measurements.mjs";

const runs = readRuns(process.argv[2]);

/** How far the runs of a point are apart, as a share of their median. @param {number[]} numbers */
const spread = (numbers) => `${Math.round((100 * (Math.max(...numbers) - Math.min(...numbers))) / median(numbers))} %`;

const groups = new Map();
for (const { beside, ...own } of runs) {
    const { workload, keys, delay_ms, clients } = own;
    for (const record of [{ system: "iolite", ...own }, ...beside]) {
        const name = JSON.stringify([workload, keys, delay_ms, clients, record.system]);
        groups.set(name, [...(groups.get(name) ?? []), record]);
    }
}

const columns = [
    ["a second", (of) => short(of((record) => record.throughput_per_s))],
    ["apart", (_, records) => spread(records.map((record) => record.throughput_per_s))],
    ["ms p50", (of) => short(of((record) => record.latency_ms.p50))],
    ["p99", (of) => short(of((record) => record.latency_ms.p99))],
    ["commit ms p50", (of) => short(of((record) => record.commit_latency_ms.p50))],
    ["p99", (of) => short(of((record) => record.commit_latency_ms.p99))],
    ["write commit ms p50", (of) => short(of((record) => record.write_commit_latency_ms.p50))],
    ["p99", (of) => short(of((record) => record.write_commit_latency_ms.p99))],
    ["aborts in 100", (of) => short(of((record) => (100 * record.aborts) / (record.aborts + record.committed)))],
    ["retries in 100", (of) => short(of((record) => (100 * record.retries) / (record.aborts + record.committed)))],
    ["unknown", (_, records) => String(records.reduce((sum, record) => sum + record.unknown, 0))],
    ["lost", (_, records) => String(records.reduce((sum, record) => sum + record.lost_updates + record.violations, 0))],
    ["CPU us, busiest", (of) => short(of((record) => record.busiest_node.cpu_us_per_op))],
    ["all nodes", (of) => short(of((record) => sum(record.nodes, (node) => node.cpu_us_per_op)))],
    ["messages, busiest", (of) => short(of((record) => record.busiest_node.messages_per_op))],
    ["all nodes", (of) => short(of(messages))],
    ["projected peak", (of) => short(of((record) => record.busiest_node.projected_peak_per_s))],
    ["client CPU us", (of) => short(of((record) => record.client_cpu_us_per_op))],
    ["syncs a write, all nodes", (of) => short(of(syncs))],
    ["disk's sync ms", (of) => short(of((record) => record.fsync_ms.p50 ?? 0))],
];

/** @template T @param {T[]} list @param {(one: T) => number} figure */
function sum(list, figure) {
    return list.reduce((all, one) => all + figure(one), 0);
}

/** Of all nodes together. */
function syncs(record) {
    return sum(record.syncs_per_write ?? [], (node) => node.syncs);
}

/** Of all nodes together: what goes between two of them is counted at both. */
function messages(record) {
    return sum(record.nodes, (node) => node.client_messages_per_op + node.peer_segments_per_op / 2);
}

const heads = ["workload", "keys", "delay ms", "clients", "system", ...columns.map(([head]) => head)];
console.log(`| ${heads.join(" | ")} |`);
console.log(`|${heads.map((_, index) => (index === 0 || index === 4 ? "---|" : "---:|")).join("")}`);
for (const [name, records] of groups) {
    const of = (field) => median(records.map(field));
    console.log(`| ${[...JSON.parse(name), ...columns.map(([, text]) => text(of, records))].join(" | ")} |`);
}

console.log("\n## What is synced\n");
console.log("Counted by strace in each run: enough syncs for two of three nodes, or the run fails.\n");
console.log("| system | version | isolation | setting | counted |\n|---|---|---|---|---|");
const systems = new Map([...groups.values()].map((records) => [records[0].system, records]));
for (const [system, records] of systems) {
    const { version, isolation, durability_setting } = records[0];
    const verified = [...new Set(records.map((record) => record.durability_verified))].join(", ");
    console.log(`| ${system} | ${version} | ${isolation} | ${durability_setting} | ${verified} |`);
}

/** Iolite's median by another's, of the points that both have. */
function ratios(system, figure) {
    const found = [];
    for (const [name, records] of groups) {
        const [workload, keys, delay, clients, own] = JSON.parse(name);
        if (own !== "iolite") {
            continue;
        }
        const other = groups.get(JSON.stringify([workload, keys, delay, clients, system]));
        if (other !== undefined) {
            const by = median(records.map(figure)) / median(other.map(figure));
            found.push(`${workload}, ${keys} keys, ${delay} ms, ${clients} clients: ${short(by)}`);
        }
    }
    return found;
}

const throughput = (record) => record.throughput_per_s;
const aims = [
    ["Commit latency by OCC-Store's, aim at 50 ms: at most 0.55", "occ-store", (record) => record.write_commit_latency_ms.p50],
    ["Projected peak by OCC-Store's, aim: at least 3", "occ-store", (record) => record.busiest_node.projected_peak_per_s],
    ["Projected peak by Lock-Store's, aim: at least 3", "lock-store", (record) => record.busiest_node.projected_peak_per_s],
    ["Throughput by etcd's, aim: above 1", "etcd", throughput],
    ["Throughput by PostgreSQL's, aim: above 1", "postgres", throughput],
    ["Throughput by that of Redis with WAIT, aim: at least 0.5", "redis", throughput],
];
console.log("\n## Iolite's medians by those of others");
for (const [head, system, figure] of aims) {
    console.log(`\n${head}:\n`);
    for (const line of ratios(system, figure)) {
        console.log(`- ${line}`);
    }
}
