//! A counter with a check beside the same counter without: additions commute, until a check reads the whole of it.

use iolite::Options;
use serde_json::json;

use super::cast::{Part, start};
use super::revoke::result;
use super::room::name_of;
use super::served::{Served, connect};
use super::speakers::{Speech, totals};
use super::tables::{Guard, tables};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::ClientProcess;
use crate::latency::Latencies;
use crate::talk::{RunResult, ToClient};

/// How many add to each counter.
const WRITERS: u32 = 8;
/// How long one counter is added to, before it is the turn of the other.
const TURN_SECONDS: u32 = 1;

/// The writers of one counter, and what their turns came to.
struct Side {
    name: &'static str,
    clients: ClientProcess,
    sum: RunResult,
    latency: Latencies,
    seconds: u32,
}

/// # Errors
/// When a server or a client fails.
pub fn measure(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<()> {
    let served = Served::start(arguments, &tables(), &Guard::Rules.rights())?;
    let at = served.address();
    let side = |name, speech| -> anyhow::Result<Side> {
        let users = (0..WRITERS).map(name_of).collect();
        let mut clients = start(&at, Part::Speakers { users, speech })?;
        clients.expect_ready()?;
        Ok(Side { name, clients, sum: RunResult::default(), latency: Latencies::default(), seconds: 0 })
    };
    let mut sides = [side("with a check", Speech::Purse)?, side("without a check", Speech::Tally)?];
    for _ in 0..arguments.seconds.div_ceil(TURN_SECONDS) {
        sides.iter_mut().try_for_each(Side::turn)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (purse, tally) = runtime.block_on(async {
        let operator = connect(&served.near(), tables(), Options::new()).await?;
        totals(&operator).await
    })?;
    for (side, total) in sides.iter().zip([purse, tally]) {
        let Side { name, sum, latency, .. } = side;
        cells.push(json!({
            "of": "counter", "counter": name, "writers": WRITERS, "committed": sum.committed,
            "throughput_per_s": side.throughput_per_s(), "commit_latency_ms": latency.percentiles(),
            "attempts_per_op": side.attempts_per_op(),
        }));
        if u64::try_from(total).ok() != Some(sum.committed) || sum.rejected > 0 {
            let RunResult { committed, rejected, .. } = sum;
            cells.fault(format!(
                "{name}: {committed} additions committed, {rejected} were denied, and the counter is {total}"
            ));
        }
    }
    let [with, without] = &sides;
    cells.ratio("counter: op/s with a check of without", with.throughput_per_s(), without.throughput_per_s());
    cells.ratio("counter: attempts an op with a check of without", with.attempts_per_op(), without.attempts_per_op());
    Ok(())
}

impl Side {
    fn turn(&mut self) -> anyhow::Result<()> {
        self.clients.tell(&ToClient::Run { seconds: TURN_SECONDS })?;
        let result = result(&mut self.clients)?;
        self.latency.add(&result.commit_latency);
        self.sum.committed += result.committed;
        self.sum.attempts += result.attempts;
        self.sum.rejected += result.rejected;
        self.seconds += TURN_SECONDS;
        Ok(())
    }

    fn throughput_per_s(&self) -> f64 {
        self.sum.committed as f64 / f64::from(self.seconds)
    }

    fn attempts_per_op(&self) -> f64 {
        if self.sum.committed == 0 { 0.0 } else { self.sum.attempts as f64 / self.sum.committed as f64 }
    }
}
