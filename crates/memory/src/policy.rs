//! The policy of memoryd: which programs memory is taken from, how much, and in which order.
//!
//! Invariants: a program in the foreground gives nothing; no program is asked to go below its floor; cold objects of all programs go before any warm
//! one; of two programs with the same to give, the one that has rested longer gives first; no more is asked for than reaches the goal.
//! Source: Marvin (Lebeck 2020) 4.6.2, "Reclaiming objects": never the foreground app. Deviation: which app and how much, that the paper leaves open.

use serde::{Deserialize, Serialize};

/// How much memory the daemon keeps free, and leaves to each program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory is taken when less than this is free.
    pub reserve_bytes: u64,
    /// Each program keeps so many bytes in memory.
    pub floor_bytes: u64,
}

/// The memory and the programs at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    pub free_bytes: u64,
    pub programs: Vec<Numbers>,
}

/// A program, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub number: u64,
    /// When it went to the background: a smaller number is longer ago. `None` is the foreground.
    pub rests_since: Option<u64>,
    pub resident_bytes: u64,
    pub reclaimable_bytes: u64,
    /// The part of the reclaimable bytes that is cold.
    pub cold_bytes: u64,
}

/// The objects that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Cold,
    /// All that is saved. Cold objects are gone by then, and the working set goes last.
    Everything,
}

/// Take so many bytes from a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub number: u64,
    pub part: Part,
    pub bytes_max: u64,
}

/// Why a program gives, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A program in the foreground: nothing is ever taken.
    Foreground,
    /// Programs that have rested longer had enough.
    NotNeeded,
    /// The program has no object that is both saved and in memory.
    NothingSaved,
    /// No more than the floor is in memory.
    AtFloor,
    /// The program is asked for so many bytes.
    Gives { bytes: u64 },
}

/// The orders, and the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub orders: Vec<Order>,
    /// One for each program, in the order of the world.
    pub verdicts: Vec<(u64, Verdict)>,
    /// The part of the goal that no program can give.
    pub short_bytes: u64,
}

/// Decides what to take. `None` as long as the reserve is there.
///
/// The goal is the reserve and a quarter of it, so that the next small allocation is no shortage again.
#[must_use]
pub fn plan(settings: Settings, world: &World) -> Option<Plan> {
    if world.free_bytes >= settings.reserve_bytes {
        return None;
    }
    let goal = settings.reserve_bytes.saturating_add(settings.reserve_bytes / 4);
    let mut takes: Vec<Take> = world.programs.iter().map(|program| Take::of(program, settings)).collect();
    let mut resting: Vec<usize> = (0..takes.len()).filter(|&at| world.programs[at].rests_since.is_some()).collect();
    resting.sort_by_key(|&at| (world.programs[at].rests_since, world.programs[at].number));
    let mut wanted = goal - world.free_bytes;
    let mut orders = Vec::new();
    for part in [Part::Cold, Part::Everything] {
        for &at in &resting {
            let bytes = takes[at].take(part, wanted);
            wanted -= bytes;
            if bytes > 0 {
                orders.push(Order { number: world.programs[at].number, part, bytes_max: bytes });
            }
        }
    }
    let verdict = |(take, program): (&Take, &Numbers)| (program.number, take.verdict(program));
    let verdicts = takes.iter().zip(&world.programs).map(verdict).collect();
    Some(Plan { orders, verdicts, short_bytes: wanted })
}

/// The bytes that a program can still give.
struct Take {
    above_floor: u64,
    cold: u64,
    all: u64,
    taken: u64,
}

impl Take {
    fn of(program: &Numbers, settings: Settings) -> Take {
        let above_floor = program.resident_bytes.saturating_sub(settings.floor_bytes);
        let all = program.reclaimable_bytes;
        Take { above_floor, cold: program.cold_bytes.min(all), all, taken: 0 }
    }

    fn take(&mut self, part: Part, wanted: u64) -> u64 {
        let there = match part {
            Part::Cold => self.cold,
            Part::Everything => self.all,
        };
        let bytes = there.min(self.above_floor).saturating_sub(self.taken).min(wanted);
        self.taken += bytes;
        bytes
    }

    fn verdict(&self, program: &Numbers) -> Verdict {
        if program.rests_since.is_none() {
            Verdict::Foreground
        } else if self.taken > 0 {
            Verdict::Gives { bytes: self.taken }
        } else if self.all == 0 {
            Verdict::NothingSaved
        } else if self.above_floor == 0 {
            Verdict::AtFloor
        } else {
            Verdict::NotNeeded
        }
    }
}

#[cfg(test)]
mod tests;
