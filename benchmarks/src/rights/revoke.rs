//! A room of writers, while one of them is put out and taken in again many times a second.
//!
//! Invariant: the one commits nothing while they are out. The history of the room says so, in the order of the commits.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::bail;
use iolite::Options;
use serde_json::json;

use super::cast::{Part, start};
use super::history::judge;
use super::room::{fill, name_of};
use super::served::{Served, connect};
use super::speakers::{Speech, discussed, history, topics};
use super::tables::{Guard, Member, Room, tables};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::{Address, ClientProcess};
use crate::latency::Latencies;
use crate::talk::{FromClient, RunResult, ToClient};

const ROOM: i64 = 1;
const OWNER: &str = "owner";
/// The one who comes and goes.
const ONE: &str = "one";
/// Topics of the room. Two writers conflict on the same one.
const TOPICS: i64 = 64;
/// Removals a second, and as many admissions.
const REMOVALS_PER_S: u32 = 10;
/// How long the room runs with removals, or without, before it is the turn of the other.
const TURN_SECONDS: u32 = 1;
/// Writers of one process.
const WRITERS_OF_A_PROCESS: u32 = 16;

/// The results of all turns of one kind.
#[derive(Default)]
struct Sum {
    others: RunResult,
    one: RunResult,
    latency: Latencies,
    seconds: u32,
}

/// All processes of the room.
struct Cast {
    others: Vec<ClientProcess>,
    one: ClientProcess,
    owner: ClientProcess,
}

/// # Errors
/// When a server or a client fails.
pub fn measure(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<()> {
    let writers = arguments.rights.writers;
    let served = Served::start(arguments, &tables(), &Guard::Rules.rights())?;
    let near = served.near();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(prepare(&near, writers))?;
    let mut cast = Cast::gather(&served.address(), writers)?;
    // The one is let in.
    cast.toggle()?;
    let (mut without, mut with) = (Sum::default(), Sum::default());
    for _ in 0..arguments.seconds.div_ceil(TURN_SECONDS) {
        cast.turn(&mut without, false)?;
        cast.turn(&mut with, true)?;
    }
    cast.end()?;
    let (said, total) = runtime.block_on(read(&near))?;
    let verdict = judge(said.iter().map(String::as_str));
    for (name, sum) in [("without removals", &without), ("with removals", &with)] {
        cells.push(json!({
            "of": "revoke", "turn": name, "writers": writers, "committed": sum.others.committed, "aborts": aborts(&sum.others),
            "aborts_per_op": aborts_per_op(&sum.others), "commit_latency_ms": sum.latency.percentiles(),
            "throughput_per_s": f64::from(u32::try_from(sum.others.committed)?) / f64::from(sum.seconds),
            "one_committed": sum.one.committed, "one_denied": sum.one.rejected,
        }));
    }
    cells.push(json!({
        "of": "history", "removals": verdict.removals, "spoken": verdict.spoken, "while_out": verdict.while_out,
    }));
    cells.ratio(
        "revoke: aborts of the others, with removals of without",
        aborts_per_op(&with.others),
        aborts_per_op(&without.others),
    );
    if verdict.while_out > 0 {
        cells.fault(format!("{} commits of the one while they were out", verdict.while_out));
    }
    let committed = without.one.committed + with.one.committed;
    if verdict.spoken != committed {
        cells.fault(format!("the one was told of {committed} commits, and the history has {}", verdict.spoken));
    }
    let committed = without.others.committed + with.others.committed;
    if u64::try_from(total).ok() != Some(committed) {
        cells.fault(format!("the others were told of {committed} commits, and the topics have {total}"));
    }
    if without.others.rejected + with.others.rejected + without.one.rejected > 0 {
        cells.fault("members were denied what they may do".to_owned());
    }
    if with.one.rejected == 0 {
        cells.fault("the one was never denied anything, so nothing was tried while they were out".to_owned());
    }
    Ok(())
}

fn aborts(result: &RunResult) -> u64 {
    result.attempts.saturating_sub(result.committed + result.rejected)
}

fn aborts_per_op(result: &RunResult) -> f64 {
    if result.committed == 0 { 0.0 } else { aborts(result) as f64 / result.committed as f64 }
}

fn add(sum: &mut RunResult, result: &RunResult) {
    sum.committed += result.committed;
    sum.attempts += result.attempts;
    sum.rejected += result.rejected;
}

/// By the operator. The one is no member at first.
async fn prepare(near: &Address, writers: u32) -> anyhow::Result<()> {
    let operator = connect(near, tables(), Options::new()).await?;
    fill(&operator, vec![Room { id: ROOM, owner: OWNER.to_owned() }]).await?;
    let others = (1..writers).map(name_of).chain([OWNER.to_owned()]);
    fill(&operator, others.map(|user| Member { room: ROOM, user }).collect()).await?;
    fill(&operator, topics(ROOM, TOPICS)).await?;
    operator.close().await;
    Ok(())
}

async fn read(near: &Address) -> anyhow::Result<(Vec<String>, i64)> {
    let operator = connect(near, tables(), Options::new()).await?;
    Ok((history(&operator, ROOM).await?, discussed(&operator, ROOM).await?))
}

impl Cast {
    /// The one is among the writers.
    fn gather(at: &Address, writers: u32) -> anyhow::Result<Cast> {
        let of = |users, speech| start(at, Part::Speakers { users, speech });
        let mut others = Vec::new();
        for first in (1..writers).step_by(WRITERS_OF_A_PROCESS as usize) {
            let users = (first..writers.min(first + WRITERS_OF_A_PROCESS)).map(name_of).collect();
            others.push(of(users, Speech::Topics { room: ROOM, topics: TOPICS })?);
        }
        let one = of(vec![ONE.to_owned()], Speech::History { room: ROOM })?;
        let owner = Part::Owner { user: OWNER.to_owned(), room: ROOM, member: ONE.to_owned(), has_history: true };
        let mut cast = Cast { others, one, owner: start(at, owner)? };
        cast.everybody().try_for_each(ClientProcess::expect_ready)?;
        cast.owner.expect_ready()?;
        Ok(cast)
    }

    fn everybody(&mut self) -> impl Iterator<Item = &mut ClientProcess> {
        self.others.iter_mut().chain([&mut self.one])
    }

    /// Lets the one in, or puts them out, whichever comes next.
    fn toggle(&mut self) -> anyhow::Result<()> {
        self.owner.tell(&ToClient::Call)?;
        match self.owner.hear()? {
            FromClient::Called(_) => Ok(()),
            other => bail!("the owner said {other:?} instead of when they called"),
        }
    }

    /// The one is in at its beginning and at its end.
    fn turn(&mut self, sum: &mut Sum, has_removals: bool) -> anyhow::Result<()> {
        self.everybody().try_for_each(|client| client.tell(&ToClient::Run { seconds: TURN_SECONDS }))?;
        if has_removals {
            let begun = Instant::now();
            let every = Duration::from_secs(1) / (2 * REMOVALS_PER_S);
            for number in 1..=2 * REMOVALS_PER_S * TURN_SECONDS {
                self.toggle()?;
                sleep((every * number).saturating_sub(begun.elapsed()));
            }
        }
        for client in &mut self.others {
            let result = result(client)?;
            sum.latency.add(&result.commit_latency);
            add(&mut sum.others, &result);
        }
        add(&mut sum.one, &result(&mut self.one)?);
        sum.seconds += TURN_SECONDS;
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        self.everybody().try_for_each(|client| client.tell(&ToClient::End))?;
        self.owner.tell(&ToClient::End)?;
        result(&mut self.owner).map(|_| ())
    }
}

pub fn result(client: &mut ClientProcess) -> anyhow::Result<RunResult> {
    match client.hear()? {
        FromClient::Result(result) => Ok(*result),
        other => bail!("a client said {other:?} instead of what its run came to"),
    }
}
