// The tables of scripts/measure-game, measure-diamond and measure-propagate: a row for each point and system, the median of its runs.
// Usage: node scripts/measure-apps-table.mjs game|diamond|propagate RUNS
import { median, readRuns, short } from "./measurements.mjs";

const [name, file] = process.argv.slice(2);

const p50 = ["ms p50", (record) => record.latency_ms.p50];
const p99 = ["p99", (record) => record.latency_ms.p99];
const throughput = ["a second", (record) => record.throughput_per_s];
const bytes = [
    ["bytes up", (record) => record.bytes_up_per_op],
    ["bytes down", (record) => record.bytes_down_per_op],
];
const wrong = ["lost or wrong", (record) => record.lost_updates + record.violations];
/** Of one kind of transaction, if the run had it. */
const of = (kind, figure) => (record) => (record.transactions[kind] ? figure(record.transactions[kind]) : NaN);
const perHundred = (one) => (one.aborts + one.committed === 0 ? 0 : (100 * one.aborts) / (one.aborts + one.committed));

const tables = {
    game: {
        points: ["durability", "delay_ms"],
        columns: [["round ms p50", p50[1]], p99, ["move ms p50", (record) => record.commit_latency_ms.p50], ["rounds", (record) => record.rounds], ...bytes, wrong],
        compared: ["round p50 by the first's", (record) => record.latency_ms.p50],
    },
    diamond: {
        points: ["only", "durability", "keys", "zipf", "clients", "delay_ms"],
        columns: [
            throughput,
            p50,
            p99,
            ["mean ms", (record) => record.mean_latency_ms ?? NaN],
            ["open", (record) => record.open ?? NaN],
            ["oldest ms", (record) => record.oldest_open_ms ?? NaN],
            ["aborts in 100", perHundred],
            ["get-timeline a second", of("get-timeline", (one) => one.throughput_per_s)],
            ["post-tweet a second", of("post-tweet", (one) => one.throughput_per_s)],
            ["its aborts in 100", of("post-tweet", perHundred)],
            ["like a second", of("like", (one) => one.throughput_per_s)],
            ["its aborts in 100", of("like", perHundred)],
            ["CPU us, stores", (record) => record.cpu_us_per_op.stores],
            ["front", (record) => record.cpu_us_per_op.front],
            ["clients", (record) => record.cpu_us_per_op.clients],
            wrong,
        ],
        compared: ["throughput by the first's", (record) => record.throughput_per_s],
    },
    propagate: {
        points: ["workload", "sessions", "durability"],
        columns: [p50, p99, throughput, ["CPU us, server", (record) => record.cpu_us_per_op?.server ?? NaN], ["clients", (record) => record.cpu_us_per_op?.clients ?? NaN], ...bytes, ["memory a session", (record) => record.memory_bytes_per_session ?? NaN], ["disk's sync ms", (record) => record.fsync_ms.p50 ?? NaN], wrong],
        compared: ["p50 by the first's", (record) => record.latency_ms.p50],
    },
};

const { points, columns, compared } = tables[name];
const figure = (number) => (Number.isNaN(number) ? "-" : number === 0 ? "0" : short(number));

/** All runs of a point, by system. */
const groups = new Map();
for (const { beside, ...own } of readRuns(file)) {
    const point = points.map((key) => own[key] ?? "-");
    const systems = groups.get(JSON.stringify(point)) ?? new Map();
    for (const record of [own, ...beside]) {
        systems.set(record.system, [...(systems.get(record.system) ?? []), record]);
    }
    groups.set(JSON.stringify(point), systems);
}

const heads = [...points.map((key) => key.replace("_", " ")), "system", ...columns.map(([head]) => head), compared[0]];
console.log(`| ${heads.join(" | ")} |`);
console.log(`|${heads.map((_, index) => (index <= points.length ? "---|" : "---:|")).join("")}`);
for (const [point, systems] of groups) {
    const of = (records, figure) => median(records.map(figure));
    const [first] = systems.values();
    for (const [system, records] of systems) {
        const cells = columns.map(([, of_record]) => figure(of(records, of_record)));
        const ratio = short(of(records, compared[1]) / of(first, compared[1]));
        console.log(`| ${[...JSON.parse(point), system, ...cells, ratio].join(" | ")} |`);
    }
}
