//! One change while many users follow many rooms each: the gateway's processor time, over users and over members of the room.
//!
//! Invariant: rooms beside the measured ones have as many members each, however many users there are.

use std::time::{Duration, Instant};

use iolite::Options;
use iolite::table::Counter;
use iolite_node::config::WithoutWord;
use serde_json::json;

use super::cast::{Part, Reader, start};
use super::room::{fill, name_of};
use super::served::{connect, put_into_effect};
use super::tables::{Guard, Member, Note, Room, tables};
use super::turns::{Arm, Kind, in_turns};
use crate::accounting::Pid;
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::{Address, ClientProcess};
use crate::fanout::Fan;
use crate::front::{FrontCluster, FrontSetup};
use crate::system_run;

/// How many rooms each user follows.
const ROOMS_OF_A_USER: u32 = 20;
/// Users who share all their rooms: the members of an ordinary room.
const BLOCK: u32 = 20;
/// Members of the rooms that are measured, as far as there are users for them. The first is measured at each number of users.
const SIZES: [u32; 4] = [20, 5, 80, 200];
const USERS_OF_A_PROCESS: u32 = 250;
const AUTHOR: &str = "author";
/// From the last connection until something is measured.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);

/// A measured room, and its users: the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Measured {
    room: i64,
    first: u32,
    members: u32,
}

/// The time of a gateway for each change, over the members of the room.
type Points = Vec<(u32, f64)>;

/// # Errors
/// When a server or a client fails.
pub fn measure(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<()> {
    let mut all: Vec<(u32, Points)> = Vec::new();
    for &users in &arguments.rights.followers {
        let points = system_run::block_on(of_users(arguments, users, cells))?;
        all.push((users, points));
    }
    let at = |points: &Points, members: u32| points.iter().find(|point| point.0 == members).map(|point| point.1);
    let (Some((fewest, first)), Some((most, last))) = (all.first(), all.last()) else { return Ok(()) };
    if let (Some(few), Some(many)) = (at(first, SIZES[0]), at(last, SIZES[0])) {
        cells.ratio(&format!("users: gateway's time a change, {most} users of {fewest}"), many, few);
    }
    for (members, time) in last.iter().filter(|point| point.0 != SIZES[0]) {
        let by_member = |members: u32, time: f64| time / f64::from(members);
        let own = by_member(SIZES[0], at(last, SIZES[0]).unwrap_or_default());
        let name = format!("users: gateway's time a member, room of {members} of room of {}", SIZES[0]);
        cells.ratio(&name, by_member(*members, *time), own);
    }
    Ok(())
}

async fn of_users(arguments: &Arguments, users: u32, cells: &mut Cells) -> anyhow::Result<Points> {
    let durability = arguments.durability;
    let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
    let setup = FrontSetup { durability, delay, replicas: 1, without: WithoutWord::Nothing, second_shard: None };
    let cluster = FrontCluster::start(setup).await?;
    put_into_effect(cluster.near(), durability, &tables(), &Guard::Rules.rights())?;
    let measured = measured(users);
    prepare(cluster.near(), users, &measured).await?;
    let (at, gateway) = (cluster.address().clone(), cluster.gateway());
    let time = Duration::from_secs(u64::from(arguments.seconds));
    // Whoever started the servers goes on to live meanwhile.
    let run = tokio::task::spawn_blocking(move || follow_and_change(&at, gateway, users, &measured, time));
    let (kinds, idle) = run.await??;
    let mut points = Vec::new();
    for (measured, kind) in kinds {
        let members = measured.members;
        // What it does without any change is not what a change takes.
        let each = (kind.server_us() - idle * 1e6 / kind.throughput_per_s().max(1.0)).max(0.0);
        let what = json!({"of": "users", "users": users, "rooms_of_a_user": ROOMS_OF_A_USER, "members": members,
            "gateway_us_per_change": each, "gateway_idle_share": idle});
        cells.push(kind.cell(what));
        points.push((members, each));
    }
    Ok(points)
}

/// The rooms that are measured with so many users.
fn measured(users: u32) -> Vec<Measured> {
    let mut first = 0;
    let mut all = Vec::new();
    for (room, members) in (1..).zip(SIZES) {
        if first + members <= users || all.is_empty() {
            let members = members.min(users);
            all.push(Measured { room, first, members });
            first += members;
        }
    }
    all
}

/// The room that a user is measured in, if there is one, and the others that they follow.
fn rooms_of(user: u32, measured: &[Measured]) -> (Option<i64>, Vec<i64>) {
    let own = measured.iter().find(|room| (room.first..room.first + room.members).contains(&user)).map(|own| own.room);
    let others = ROOMS_OF_A_USER - u32::from(own.is_some());
    let first = 1_000 + i64::from(user / BLOCK * ROOMS_OF_A_USER);
    (own, (first..first + i64::from(others)).collect())
}

async fn prepare(near: &Address, users: u32, measured: &[Measured]) -> anyhow::Result<()> {
    let operator = connect(near, tables(), Options::new().cache_bytes_max(1 << 20)).await?;
    let mut rooms: Vec<i64> = measured.iter().map(|measured| measured.room).collect();
    let mut members: Vec<Member> = rooms.iter().map(|room| Member { room: *room, user: AUTHOR.to_owned() }).collect();
    for user in 0..users {
        let (own, others) = rooms_of(user, measured);
        members.extend(own.into_iter().chain(others.iter().copied()).map(|room| Member { room, user: name_of(user) }));
        rooms.extend(others);
    }
    rooms.sort_unstable();
    rooms.dedup();
    let note = |room| Note { room, number: 0, author: AUTHOR.to_owned(), count: Counter(0) };
    fill(&operator, rooms.iter().map(|id| Room { id: *id, owner: AUTHOR.to_owned() }).collect()).await?;
    fill(&operator, rooms.into_iter().map(note).collect()).await?;
    fill(&operator, members).await?;
    operator.close().await;
    Ok(())
}

/// Returns what each measured room came to, and the gateway's share of a processor while nobody called.
fn follow_and_change(
    at: &Address,
    gateway: Pid,
    users: u32,
    measured: &[Measured],
    time: Duration,
) -> anyhow::Result<(Vec<(Measured, Kind)>, f64)> {
    let follow = |users: std::ops::Range<u32>| {
        let reader = |user| {
            let (watched, beside) = rooms_of(user, measured);
            Reader { user: name_of(user), watched: watched.into_iter().collect(), beside }
        };
        start(at, Part::Readers(users.map(reader).collect()))
    };
    let mut arms = Vec::new();
    for room in measured {
        let mut author = start(at, Part::Author { user: AUTHOR.to_owned(), room: room.room })?;
        author.expect_ready()?;
        let mut readers = follow(room.first..room.first + room.members)?;
        readers.expect_ready()?;
        arms.push(Arm::new(&["change"], Fan::new(gateway, author, vec![readers])));
    }
    let from = measured.iter().map(|room| room.members).sum();
    let mut others: Vec<ClientProcess> = Vec::new();
    for first in (from..users).step_by(USERS_OF_A_PROCESS as usize) {
        let mut process = follow(first..users.min(first + USERS_OF_A_PROCESS))?;
        process.expect_ready()?;
        others.push(process);
    }
    std::thread::sleep(SETTLES_WITHIN);
    let (begun, before) = (Instant::now(), gateway.tree_cpu());
    std::thread::sleep(SETTLES_WITHIN);
    let idle = gateway.tree_cpu().saturating_sub(before).as_secs_f64() / begun.elapsed().as_secs_f64();
    in_turns(&mut arms, time)?;
    let mut kinds = Vec::new();
    for (measured, arm) in measured.iter().zip(arms) {
        kinds.extend(arm.end()?.into_iter().map(|kind| (*measured, kind)));
    }
    Ok((kinds, idle))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_user_follows_as_many_rooms_and_rooms_have_as_many_members_whatever_the_number_of_users() {
        for users in [20, 200, 2_000] {
            let measured = measured(users);
            let mut members: BTreeMap<i64, u32> = BTreeMap::new();
            for user in 0..users {
                let (own, others) = rooms_of(user, &measured);
                let rooms: Vec<i64> = own.into_iter().chain(others).collect();
                assert_eq!(rooms.len(), ROOMS_OF_A_USER as usize);
                rooms.into_iter().for_each(|room| *members.entry(room).or_default() += 1);
            }
            for room in &measured {
                assert_eq!(members.remove(&room.room), Some(room.members), "{users}");
            }
            assert!(members.values().all(|members| *members <= BLOCK), "{users}");
        }
        assert_eq!(measured(2).iter().map(|room| room.members).collect::<Vec<_>>(), [2]);
    }
}
