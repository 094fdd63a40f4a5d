//! The cost of rules, as ratios of one run: `iolite bench rights`. Each figure is measured with rules and without them, in turns.
//!
//! Invariant: both sides of a ratio have the same tables, users with tokens, calls and machine. Nothing but the rules differs.

mod cast;
mod counters;
mod followed;
mod history;
mod revoke;
mod room;
mod served;
mod speakers;
mod tables;
mod turns;
mod users;

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::arguments::{Arguments, name_of};
use crate::cells::Cells;
use crate::diamond::{Level, measure_guarded};
use crate::system_run;

pub use cast::run_cast;
pub use served::{of_user, put_into_effect};
pub use tables::Guard;

#[derive(Args, Debug)]
pub struct RightsOptions {
    /// For rights: the parts that are measured; several with commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    pub parts: Vec<RightsPart>,
    /// For rights: how many members the room has that everybody looks at
    #[arg(long, default_value_t = ROOM_MEMBERS, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=250))]
    pub room_members: u32,
    /// For rights: how many users follow rooms while one is changed; several with commas
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = FOLLOWERS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub followers: Vec<u32>,
    /// For rights: only the room of writers from which one is removed, and the counter with a check
    #[arg(long)]
    pub revoke: bool,
    /// For rights: how many write in that room
    #[arg(long, default_value_t = WRITERS, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=200))]
    pub writers: u32,
}

/// Members of the one room, which are one process.
const ROOM_MEMBERS: u32 = 200;
const FOLLOWERS: [u32; 3] = [20, 200, 2_000];
const WRITERS: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RightsPart {
    /// One change, until one member and until all members of a room have seen it; a membership, until it is told
    Room,
    /// The gateway's time for one change while many users follow many rooms each
    Users,
    /// A room of writers from which one is removed and added, again and again
    Revoke,
    /// A counter with a check, beside one without
    Counter,
    /// The Twitter clone with rules on own columns, at read committed and strict serializability
    Retwis,
    /// A rule that follows a membership in another shard
    Followed,
}

impl RightsPart {
    const ALL: &[RightsPart] = &[
        RightsPart::Room,
        RightsPart::Users,
        RightsPart::Revoke,
        RightsPart::Counter,
        RightsPart::Retwis,
        RightsPart::Followed,
    ];
    /// The parts of `--revoke`.
    const REVOKE: &[RightsPart] = &[RightsPart::Revoke, RightsPart::Counter];
}

impl RightsOptions {
    /// The name of an option that was given and that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        let asked = [
            ("--parts", !self.parts.is_empty()),
            ("--room-members", self.room_members != ROOM_MEMBERS),
            ("--followers", self.followers != FOLLOWERS),
            ("--revoke", self.revoke),
            ("--writers", self.writers != WRITERS),
        ];
        asked.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name))
    }

    fn parts(&self) -> &[RightsPart] {
        match (self.parts.is_empty(), self.revoke) {
            (false, _) => &self.parts,
            (true, true) => RightsPart::REVOKE,
            (true, false) => RightsPart::ALL,
        }
    }
}

/// # Errors
/// When a server or a client does not start or fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let RightsOptions { parts, room_members, followers, revoke, writers } = &arguments.rights;
    if *revoke && !parts.is_empty() {
        bail!("--revoke is two of the parts: name them with --parts revoke,counter, or leave --parts out");
    }
    let parts: Vec<String> = arguments.rights.parts().iter().map(name_of).collect();
    let settings = json!({
        "parts": parts, "seconds": arguments.seconds, "durability": arguments.durability.name(),
        "delay_ms": arguments.delay_ms(), "room_members": room_members,
        "followers": followers, "writers": writers,
    });
    let mut cells = Cells::new("rights", settings);
    for part in arguments.rights.parts() {
        match part {
            RightsPart::Room => room::measure(arguments, &mut cells)?,
            RightsPart::Users => users::measure(arguments, &mut cells)?,
            RightsPart::Revoke => revoke::measure(arguments, &mut cells)?,
            RightsPart::Counter => counters::measure(arguments, &mut cells)?,
            RightsPart::Followed => followed::measure(arguments, &mut cells)?,
            RightsPart::Retwis => {
                for level in [Level::Rc, Level::Ss] {
                    system_run::block_on(measure_guarded(arguments, level, &mut cells))?;
                }
            }
        }
    }
    cells.print(arguments.json)
}
