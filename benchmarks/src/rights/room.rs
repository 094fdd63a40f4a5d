//! A room and its members: how long until they see a change, and until one of them is told of a membership.
//!
//! Invariant: of each ratio, both sides were called in turns, on servers that run beside each other.

use std::time::Duration;

use serde_json::json;

use super::cast::{Part, Reader, start};
use super::served::{Served, connect};
use super::tables::{Guard, Member, Note, Room, tables};
use super::turns::{Arm, Kind, in_turns};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::{Address, ClientProcess};
use crate::fanout::Fan;
use iolite::table::Counter;
use iolite::{Client, Options};

/// All members are in it.
const COMMON: i64 = 1;
/// A member comes and goes.
const TOLD: i64 = 2;
const AUTHOR: &str = "author";
const OWNER: &str = "owner";
/// Rows that are made by one mutation.
const ROWS_AT_ONCE: usize = 500;

/// # Errors
/// When a server or a client fails.
pub fn measure(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<()> {
    let members = arguments.rights.room_members;
    let serve = |guard: Guard| -> anyhow::Result<Served> {
        let served = Served::start(arguments, &tables(), &guard.rights())?;
        prepare(&served.near(), members)?;
        Ok(served)
    };
    let servers = Guard::BOTH.map(|guard| serve(guard).map(|served| (guard, served)));
    let servers = servers.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let time = Duration::from_secs(u64::from(arguments.seconds));
    // A membership that comes and goes is measured beside the change that it is compared with.
    let told = measure_room(&servers, "propagate", 1, Some(told(&servers[0].1)?), time, cells)?;
    for kind in told {
        cells.push(kind.cell(json!({"of": kind.name, "guard": Guard::Rules.name()})));
    }
    measure_room(&servers, "fanout", members, None, time, cells)?;
    Ok(())
}

/// Calls that so many members see, with rules beside without, and beside another arm. Returns what the other arm came to.
fn measure_room(
    servers: &[(Guard, Served)],
    of: &'static str,
    readers: u32,
    other: Option<Arm>,
    time: Duration,
    cells: &mut Cells,
) -> anyhow::Result<Vec<Kind>> {
    let arm = |(_, served): &(Guard, Served)| -> anyhow::Result<Arm> {
        let at = served.address();
        let author = start(&at, Part::Author { user: AUTHOR.to_owned(), room: COMMON })?;
        let all = (0..readers).map(|number| reader(&name_of(number), COMMON)).collect();
        Ok(Arm::new(&[of], ready(served, author, start(&at, Part::Readers(all))?)?))
    };
    let mut arms = servers.iter().map(arm).collect::<anyhow::Result<Vec<_>>>()?;
    arms.extend(other);
    in_turns(&mut arms, time)?;
    let mut kinds = Vec::new();
    for arm in arms {
        kinds.extend(arm.end()?);
    }
    let others = kinds.split_off(servers.len());
    for ((guard, _), kind) in servers.iter().zip(&kinds) {
        cells.push(kind.cell(json!({"of": of, "guard": guard.name(), "readers": readers})));
    }
    let [rules, open] = &kinds[..] else { panic!("both guards are measured") };
    cells.ratio(&format!("{of}: p50 with rules of open"), rules.seen_ms().p50, open.seen_ms().p50);
    cells.ratio(&format!("{of}: op/s with rules of open"), rules.throughput_per_s(), open.throughput_per_s());
    cells.ratio(&format!("{of}: server's time with rules of open"), rules.server_us(), open.server_us());
    for other in &others {
        cells.ratio(&format!("{}: p50 of {of}", other.name), other.seen_ms().p50, rules.seen_ms().p50);
    }
    Ok(others)
}

/// A membership that comes, and one that goes: until the member's page shows the room, or its absence.
fn told(served: &Served) -> anyhow::Result<Arm> {
    let at = served.address();
    let member = name_of(0);
    let owner =
        start(&at, Part::Owner { user: OWNER.to_owned(), room: TOLD, member: member.clone(), has_history: false })?;
    let page = start(&at, Part::Readers(vec![reader(&member, TOLD)]))?;
    Ok(Arm::new(&["grant", "revocation"], ready(served, owner, page)?))
}

fn ready(served: &Served, mut writer: ClientProcess, mut readers: ClientProcess) -> anyhow::Result<Fan> {
    writer.expect_ready()?;
    readers.expect_ready()?;
    Ok(Fan::new(served.pid()?, writer, vec![readers]))
}

fn reader(user: &str, room: i64) -> Reader {
    Reader { user: user.to_owned(), watched: vec![room], beside: Vec::new() }
}

pub fn name_of(number: u32) -> String {
    format!("member {number}")
}

/// By the operator, whom no rule keeps from it.
fn prepare(near: &Address, members: u32) -> anyhow::Result<()> {
    let rooms = [COMMON, TOLD].map(|id| Room { id, owner: OWNER.to_owned() }).to_vec();
    let member = |room: i64, user: &str| Member { room, user: user.to_owned() };
    let common = (0..members).map(name_of).map(|user| member(COMMON, &user));
    let all = common.chain([(COMMON, AUTHOR), (COMMON, OWNER), (TOLD, OWNER)].map(|(room, user)| member(room, user)));
    let note = |room, author: &str| Note { room, number: 0, author: author.to_owned(), count: Counter(0) };
    let notes = vec![note(COMMON, AUTHOR), note(TOLD, OWNER)];
    let members = all.collect::<Vec<_>>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let operator = connect(near, tables(), Options::new()).await?;
        fill(&operator, rooms).await?;
        fill(&operator, members).await?;
        fill(&operator, notes).await?;
        operator.close().await;
        Ok(())
    })
}

/// # Errors
/// When a mutation ends without effect.
pub async fn fill<T: iolite::table::Table + Clone + Send + 'static>(
    operator: &Client,
    rows: Vec<T>,
) -> anyhow::Result<()> {
    for some in rows.chunks(ROWS_AT_ONCE) {
        let some = some.to_vec();
        operator.transact(move |tx| some.iter().try_for_each(|row| tx.create(row))).await?;
    }
    Ok(())
}
