//! One remote operation below many pending ones, in one client without a server.
//!
//! Either the remote operation changes what all pending ones have read, or they have ints of their own. What the optimistic view shows is checked after
//! each measurement.

use std::process::ExitCode;
use std::time::Instant;

use iolite_client::View;
use serde_json::json;

use super::machine::{Member, REMOTE};
use crate::cells::Cells;
use crate::latency::Latencies;

/// 1 MB and 64 KB of ints.
const STATES: [i64; 2] = [131_072, 8_192];
/// Remote operations that are measured.
const REMOTE_OPERATIONS: i64 = 11;
const PEEKS: i64 = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All pending operations have read what the remote one changes.
    Shared,
    /// None has.
    Own,
}

/// The times of one combination, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Measured {
    rebase: f64,
    one_run: f64,
    peek_of_none: f64,
    peek: f64,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Shared => "shared",
            Kind::Own => "own",
        }
    }
}

pub fn run(pending: &[u32], as_json: bool) -> anyhow::Result<ExitCode> {
    let settings = json!({"remote_operations": REMOTE_OPERATIONS, "peeks": PEEKS, "bytes_of_an_int": 8});
    let mut cells = Cells::new(&super::name(), settings);
    let mut least: Option<(u32, [f64; 2])> = None;
    for count in pending {
        let mut of_sizes = [[0.0; 2]; 2];
        for (size, ints) in STATES.into_iter().enumerate() {
            for (place, kind) in [Kind::Shared, Kind::Own].into_iter().enumerate() {
                let measured = measure(ints, i64::from(*count), kind, &mut cells)?;
                of_sizes[size][place] = measured.rebase;
                if size == 0 {
                    let of = |what: &str| format!("{count} {}: {what}", kind.name());
                    cells.ratio(&of("rebase of one run of the closures"), measured.rebase, measured.one_run);
                    cells.ratio(&of("peek p99 of that with none pending"), measured.peek, measured.peek_of_none);
                }
            }
        }
        for (place, kind) in [Kind::Shared, Kind::Own].into_iter().enumerate() {
            let [large, small] = of_sizes.map(|of_kinds| of_kinds[place]);
            cells.ratio(&format!("{count} {}: rebase with 1 MB of that with 64 KB", kind.name()), large, small);
            if let Some((fewest, rebases)) = least {
                let more = f64::from(*count) / f64::from(fewest);
                let name = format!("{count} {}: rebase by the pending operation of that with {fewest}", kind.name());
                cells.ratio(&name, large / more, rebases[place]);
            }
        }
        least = least.or(Some((*count, of_sizes[0])));
    }
    cells.print(as_json)
}

fn measure(ints: i64, pending: i64, kind: Kind, cells: &mut Cells) -> anyhow::Result<Measured> {
    let mut member = Member::with_state_of(ints)?;
    let none = peeks(&member, ints)?;
    member.take_counted();
    let begun = Instant::now();
    for number in 0..pending {
        member.call(kind.name(), own_int(number, ints))?;
    }
    let calls_ms = milliseconds(begun);
    let first = member.take_counted();
    let mut rebases = Latencies::default();
    for _ in 0..REMOTE_OPERATIONS {
        let frame = member.remote("remote", "")?;
        let begun = Instant::now();
        member.hear(frame);
        rebases.record(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    let rebased = member.take_counted();
    let under = peeks(&member, ints)?;
    check(&member, ints, pending, kind, cells)?;
    let one_run = first.run_nanos as f64 / 1e6;
    let rebase = rebases.percentiles();
    let runs = rebased.runs as f64 / REMOTE_OPERATIONS as f64;
    cells.push(json!({
        "pending": pending, "of": kind.name(), "state_bytes": ints * 8, "rebase_ms": rebase, "closures_run": runs,
        "one_run_of_the_closures_ms": one_run, "calls_ms": calls_ms,
        "closures_ms": rebased.run_nanos as f64 / 1e6 / REMOTE_OPERATIONS as f64,
        "peek_ms": under, "peek_with_none_ms": none,
    }));
    Ok(Measured { rebase: rebase.p50, one_run, peek_of_none: none.p99, peek: under.p99 })
}

/// The int of a pending operation. With more operations than ints, some have the same.
fn own_int(number: i64, ints: i64) -> i64 {
    1 + number % (ints - 1)
}

fn peeks(member: &Member, ints: i64) -> anyhow::Result<crate::latency::Percentiles> {
    let mut latencies = Latencies::default();
    for number in 0..PEEKS {
        let at = own_int(number * 7, ints);
        let begun = Instant::now();
        member.int(View::Optimistic, at)?;
        latencies.record(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    Ok(latencies.percentiles())
}

/// Notes what the views show otherwise than the operations make it.
fn check(member: &Member, ints: i64, pending: i64, kind: Kind, cells: &mut Cells) -> anyhow::Result<()> {
    let of = format!("{pending} pending of {}, {ints} ints", kind.name());
    if member.pending() != usize::try_from(pending)? {
        cells.fault(format!("{of}: {} operations are pending", member.pending()));
    }
    let confirmed = member.int(View::Confirmed, REMOTE)?;
    if confirmed != REMOTE_OPERATIONS {
        cells.fault(format!("{of}: {confirmed} remote operations have taken effect, of {REMOTE_OPERATIONS}"));
    }
    let each = match kind {
        Kind::Shared => 1 + REMOTE_OPERATIONS,
        Kind::Own => 1,
    };
    for at in 1..ints.min(pending + 1) {
        let times = (pending - at) / (ints - 1) + 1;
        let (found, wanted) = (member.int(View::Optimistic, at)?, times * each);
        if found != wanted {
            cells.fault(format!("{of}: int {at} is {found} in the optimistic view, instead of {wanted}"));
            break;
        }
    }
    Ok(())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_operation_runs_the_pending_ones_again_that_have_read_what_it_changes_and_no_others() {
        for (kind, runs) in [(Kind::Shared, 30), (Kind::Own, 0)] {
            let mut cells = Cells::new("rebase", json!({}));
            // With 20 ints, the last eleven operations have ints of earlier ones.
            let mut member = Member::with_state_of(20).expect("it is filled");
            for number in 0..30 {
                member.call(kind.name(), own_int(number, 20)).expect("there is room");
            }
            assert_eq!(member.take_counted().runs, 30, "each runs when it is called");
            for _ in 0..REMOTE_OPERATIONS {
                let frame = member.remote("remote", "").expect("there is room");
                member.hear(frame);
                assert_eq!(member.take_counted().runs, runs);
            }
            check(&member, 20, 30, kind, &mut cells).expect("all is held");
            assert_eq!(cells.faults(), &[] as &[String]);
            let wrong = check(&member, 20, 31, kind, &mut cells);
            assert!(wrong.is_ok() && !cells.faults().is_empty(), "one operation too few is found");
        }
    }
}
