//! From a call to each view, of a strong table and of a log, beside the same sheet on Yjs and Hocuspocus: figure 3.13 of the paper.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::seats::{Seats, agree, calls, expect_ready};
use super::talk::{Call, Calls, Subject, ToMember};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::cluster::ClusterDirectory;
use crate::hocuspocus::Hocuspocus;
use crate::latency::{Latencies, Percentiles};
use crate::part::PartProcess;
use crate::peer::Peer;
use crate::server::Server;
use crate::{metrics, probe};

/// Calls before the first that counts.
const WARM_UP: u32 = 5;

/// Percentiles of the delays of each view.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    pub optimistic: Percentiles,
    pub durable: Option<Percentiles>,
    pub confirmed: Percentiles,
    pub delivered: Option<Percentiles>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut cells = Cells::new(
        &super::name(),
        json!({"clients": arguments.clients, "seconds": arguments.seconds, "durability": arguments.durability.name()}),
    );
    let sync_ms = probe::sync_ms(arguments.durability)?;
    let (own, journal_ms) = on_iolite(arguments, &mut cells)?;
    let peer = match arguments.transactions.beside.is_empty() {
        true => None,
        false => Some(on_hocuspocus(arguments, &mut cells)?),
    };
    for (of, made) in &own {
        let mut cell = record(of.name(), made);
        cell.insert("delay_ms".to_owned(), json!(arguments.delay_ms()));
        cell.insert("fsync_ms".to_owned(), json!(sync_ms));
        cell.insert("journal_sync_ms".to_owned(), json!(journal_ms));
        if let (Subject::Log, Some((version, made))) = (of, &peer) {
            let mut beside = record("log", made);
            beside.insert("system".to_owned(), json!(Peer::Hocuspocus.name()));
            beside.insert("version".to_owned(), json!(version));
            cell.insert("beside".to_owned(), json!([beside]));
        }
        cells.push(Value::Object(cell));
        let delays = Delays::of(&made.calls);
        ratios(&mut cells, of.name(), &delays, arguments.delay_ms(), sync_ms, journal_ms.unwrap_or_default());
        if let (Subject::Log, Some((_, made))) = (of, &peer) {
            let others = Delays::of(&made.calls);
            cells.ratio("log confirmed of hocuspocus", delays.confirmed.p50, others.confirmed.p50);
            cells.ratio("log delivered of hocuspocus", delays.delivered_ms(), others.delivered_ms());
        }
    }
    cells.print(arguments.json)
}

/// Each subject, and the calls that were measured of it.
type Made = Vec<(Subject, Calls)>;

/// The calls of each subject, and the median of the journal's syncs in milliseconds.
fn on_iolite(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<(Made, Option<f64>)> {
    let server = Server::of(arguments)?;
    let address = server.clients_address();
    let mut seats = Seats::empty(ClusterDirectory::new(arguments.durability)?);
    for number in 0..arguments.clients as usize {
        seats.members.push(seats.start(number, &address)?);
    }
    seats.members.iter_mut().try_for_each(expect_ready)?;
    let mut made = Vec::new();
    for of in [Subject::Strong, Subject::Log] {
        made.push((of, called(&mut seats.members[0], of, arguments)?));
    }
    made.iter().for_each(|(of, made)| faults(cells, of.name(), made));
    agree(&mut seats.members, "iolite", cells)?;
    let journal = metrics::number(&server.metrics()?, "iolite_journal_sync_seconds{quantile=\"0.5\"}");
    end(seats.members)?;
    Ok((made, journal.map(|seconds| seconds * 1e3)))
}

fn on_hocuspocus(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<(String, Calls)> {
    let server = Hocuspocus::start(arguments.durability, Duration::from_millis(u64::from(arguments.delay_ms())))?;
    let names = (0..arguments.clients).map(|number| format!("member-{number}"));
    let mut members = names.map(|name| server.sheet(&name)).collect::<anyhow::Result<Vec<_>>>()?;
    members.iter_mut().try_for_each(expect_ready)?;
    let made = called(&mut members[0], Subject::Log, arguments)?;
    faults(cells, "hocuspocus", &made);
    agree(&mut members, "hocuspocus", cells)?;
    end(members)?;
    Ok((server.version().to_owned(), made))
}

fn called(member: &mut PartProcess, of: Subject, arguments: &Arguments) -> anyhow::Result<Calls> {
    member.tell(&ToMember::Calls { of, seconds: arguments.seconds, warm_up: WARM_UP })?;
    calls(member)
}

pub fn end(members: Vec<PartProcess>) -> anyhow::Result<()> {
    for mut member in members {
        member.tell(&ToMember::End)?;
        member.end()?;
    }
    Ok(())
}

/// Notes what calls found wrong.
pub fn faults(cells: &mut Cells, of: &str, made: &Calls) {
    let violations: u64 = made.calls.iter().map(|call| call.violations).sum();
    if violations > 0 {
        cells.fault(format!("{of}: {violations} times a view did not show a call that it should have"));
    }
    if made.unknown > 0 {
        cells.fault(format!("{of}: {} calls did not come to their end", made.unknown));
    }
    if made.calls.is_empty() {
        cells.fault(format!("{of}: no call was made"));
    }
}

fn record(of: &str, made: &Calls) -> Map<String, Value> {
    let Delays { optimistic, durable, confirmed, delivered } = Delays::of(&made.calls);
    let all = [
        ("of", json!(of)),
        ("calls", json!(made.calls.len())),
        ("optimistic", json!(optimistic)),
        ("durable", json!(durable)),
        ("confirmed", json!(confirmed)),
        ("delivered", json!(delivered)),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The ratios that aims are about. Of confirmed and delivered, the syncs of the device and of the server are taken off first.
fn ratios(cells: &mut Cells, of: &str, delays: &Delays, delay_ms: u32, sync_ms: Option<f64>, journal_ms: f64) {
    let round_trip = f64::from(delay_ms);
    let durable = delays.durable.map_or(0.0, |durable| durable.p50);
    let syncs = durable + journal_ms;
    cells.ratio(&format!("{of} optimistic of a round trip"), delays.optimistic.p50, round_trip);
    cells.ratio(&format!("{of} durable of a sync"), durable, sync_ms.unwrap_or_default());
    cells.ratio(&format!("{of} confirmed of a round trip"), delays.confirmed.p50 - syncs, round_trip);
    cells.ratio(&format!("{of} delivered of a round trip"), delays.delivered_ms() - syncs, round_trip);
}

impl Delays {
    pub fn of(calls: &[Call]) -> Delays {
        let of = |delay: &dyn Fn(&Call) -> Option<u64>| {
            let mut latencies = Latencies::default();
            let delays: Vec<u64> = calls.iter().filter_map(delay).collect();
            delays.iter().for_each(|nanos| latencies.record(*nanos));
            (!delays.is_empty()).then(|| latencies.percentiles())
        };
        Delays {
            optimistic: of(&|call| Some(call.optimistic)).unwrap_or_default(),
            durable: of(&|call| call.durable),
            confirmed: of(&|call| Some(call.confirmed)).unwrap_or_default(),
            delivered: of(&|call| call.delivered),
        }
    }

    /// The median.
    pub fn delivered_ms(&self) -> f64 {
        self.delivered.map_or(0.0, |delivered| delivered.p50)
    }
}
