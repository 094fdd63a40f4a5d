//! Settings, figures and checks of a run, as cells.

use std::time::Duration;

use serde_json::{Value, json};

use super::Shape;
use super::network::Network;
use super::person::FAST_SHARE;
use super::plan::{Kind, Mix};
use super::tables::CONSISTENCY;
use super::tally::{Figures, Tally};
use crate::arguments::{AppWorkload, Durability};
use crate::cells::Cells;

pub fn name() -> String {
    AppWorkload::Swiftsocial.name()
}

pub fn settings(network: &Network, mix: Mix, shape: Shape, durability: Durability) -> Value {
    json!({
        "centres": 1,
        "consistency": CONSISTENCY,
        "users": network.users,
        "friends": network.friends,
        "clients": shape.clients,
        "cache_rows": shape.cache_rows,
        "updates": mix.updates,
        "locality": mix.locality,
        "delay_ms": shape.delay.as_millis(),
        "seconds": shape.seconds.as_secs(),
        "durability": durability.name(),
        "update_ends": "durable on the device",
    })
}

/// A cell for all transactions, for reads, updates, hits and misses, and for each kind.
pub fn figures(cells: &mut Cells, tally: &Tally, shape: Shape, took: Duration) {
    let all = tally.figures(|_, _| true);
    let reads = tally.figures(|kind, _| !kind.writes());
    let updates = tally.figures(|kind, _| kind.writes());
    let misses = tally.figures(|_, missed| missed);
    let per_second = all.count as f64 / took.as_secs_f64();
    let mut whole = cell("all", &all);
    whole["throughput_per_s"] = json!(per_second);
    cells.push(whole);
    cells.push(cell("reads", &reads));
    cells.push(cell("updates", &updates));
    cells.push(cell("hits", &tally.figures(|_, missed| !missed)));
    cells.push(cell("misses", &misses));
    for kind in Kind::ALL {
        cells.push(cell(kind.name(), &tally.figures(|own, _| own == kind)));
    }
    let shown = tally.shown();
    cells.push(cell("updates until they are shown", &shown));
    let delay_ms = shape.delay.as_secs_f64() * 1e3;
    if delay_ms > 0.0 {
        cells.ratio("transactions within 0.02 of the delay, of all", all.fast as f64, all.count as f64);
        let all_shown = (reads.fast + shown.fast) as f64;
        cells.ratio("transactions within 0.02 of the delay, updates until they are shown", all_shown, all.count as f64);
        cells.ratio("reads within 0.02 of the delay, of all reads", reads.fast as f64, reads.count as f64);
        cells.ratio("updates within 0.02 of the delay, of all updates", updates.fast as f64, updates.count as f64);
    }
    cells.ratio("transactions that miss, of all", all.misses as f64, all.count as f64);
    cells.ratio("p90 of 0.02 of the delay", all.latency_ms.p90, FAST_SHARE * delay_ms);
    if misses.count > 0 {
        cells.ratio("p50 of misses of the delay", misses.latency_ms.p50, delay_ms);
    }
}

/// Faults of what was read while the run went on, and of a run that did not measure all.
pub fn checks(cells: &mut Cells, tally: &Tally) {
    checks_of_pages(cells, tally);
    for writes in [false, true] {
        if tally.figures(|kind, _| kind.writes() == writes).count == 0 {
            cells.fault(format!("no transaction {}", if writes { "wrote" } else { "only read" }));
        }
    }
}

/// Faults of what was read while the run went on.
pub fn checks_of_pages(cells: &mut Cells, tally: &Tally) {
    let Tally { torn, went_back, pages, .. } = tally;
    if *torn > 0 {
        cells.fault(format!("{torn} of {pages} pages had a message without its visit, or a visit without its message"));
    }
    if *went_back > 0 {
        cells.fault(format!("{went_back} of {pages} pages had fewer messages than the client had seen or written"));
    }
}

fn cell(of: &str, figures: &Figures) -> Value {
    let Figures { count, fast, misses, latency_ms } = figures;
    json!({"of": of, "transactions": count, "latency_ms": latency_ms, "misses": misses, "fast": fast})
}
