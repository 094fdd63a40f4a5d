//! The cells of `object-null`: Iolite's record for each number of calls in flight, with the other systems that were measured so in its `beside`.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::latency::Percentiles;

use super::ROUNDS;
use super::pair::{Loop, Pair};

pub fn cells(pairs: &mut [Pair], arguments: &Arguments, frame_bytes: u64) -> anyhow::Result<Cells> {
    let settings = json!({
        "seconds": arguments.seconds, "warm_up_s": arguments.transactions.warm_up, "rounds": ROUNDS, "echo_bytes": frame_bytes,
    });
    let mut cells = Cells::new(&super::name(), settings);
    let (iolite, peers) = pairs.split_first().expect("Iolite is measured in every run");
    for own in &iolite.loops {
        let same = || loops(peers).filter(|(_, one)| one.in_flight == own.in_flight);
        let mut cell = json!({"from": "process", "to": "process", "in_flight": own.in_flight});
        add(&mut cell, record(iolite, own));
        let beside = same().map(|(pair, one)| {
            let mut system = json!({"system": pair.arm.name()});
            add(&mut system, record(pair, one));
            system
        });
        cell["beside"] = beside.collect();
        cells.push(cell);
        for (pair, one) in same() {
            let name = |what: &str| format!("{} in flight: {what} of {}", own.in_flight, pair.arm.name());
            cells.ratio(&name("p50"), own.latency().p50, one.latency().p50);
            cells.ratio(&name("calls per second"), own.calls_per_second(), one.calls_per_second());
        }
    }
    for pair in pairs {
        if let Some(fault) = pair.fault()? {
            cells.fault(fault);
        }
    }
    Ok(cells)
}

/// A line for each system and number of calls in flight.
pub fn table(pairs: &[Pair]) -> String {
    let mut text =
        format!("{:<16} {:>9} {:>9} {:>9} {:>9} {:>10}\n", "", "in flight", "p50 us", "p90 us", "p99 us", "calls/s");
    for (pair, one) in loops(pairs) {
        row(&mut text, pair.arm.name(), one.in_flight, one.latency(), one.calls_per_second());
    }
    text
}

pub fn row(text: &mut String, name: &str, in_flight: u32, latency: Percentiles, rate: f64) {
    let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(|ms| ms * 1000.0);
    let _ = writeln!(text, "{name:<16} {in_flight:>9} {p50:>9.1} {p90:>9.1} {p99:>9.1} {rate:>10.0}");
}

fn record(pair: &Pair, one: &Loop) -> Value {
    json!({
        "version": pair.version, "calls": one.calls(), "latency_ms": one.latency(), "round_p50_ms": one.medians_ms(),
        "throughput_per_s": one.calls_per_second(),
    })
}

/// Adds the keys of a record to those that are there.
fn add(to: &mut Value, record: Value) {
    if let (Value::Object(to), Value::Object(record)) = (to, record) {
        to.extend(record);
    }
}

fn loops(pairs: &[Pair]) -> impl Iterator<Item = (&Pair, &Loop)> {
    pairs.iter().flat_map(|pair| pair.loops.iter().map(move |one| (pair, one)))
}
