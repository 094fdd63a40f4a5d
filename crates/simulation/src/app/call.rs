//! The mutations of the app, with their arguments.

use iolite_values::Level;
use serde::{Deserialize, Serialize};

use super::chairs::{self, OfChair};
use super::{ACCOUNTS, JOBS, OfLevel, RANKS, STATES, SchemaVersion, Typing, Weak};
use crate::centres::Named;
use crate::random::Random;
use crate::rights::OfRights;
use crate::rows::OfRows;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Gives the accounts their opening balances, once.
    Open,
    /// Adds to a counter, without reading.
    Hit {
        key: i64,
        amount: i64,
    },
    /// Moves money, if there is enough.
    Transfer {
        from: i64,
        to: i64,
        amount: i64,
    },
    /// Writes the sum of all accounts into a number: a range read and a write.
    Audit {
        key: i64,
    },
    /// The counter as read-modify-write.
    Bump {
        key: i64,
    },
    /// Appends to a list in real-time order.
    Log {
        key: i64,
        element: i64,
    },
    /// Appends to a list in commit order.
    Note {
        key: i64,
        element: i64,
    },
    /// Changes an element of the list in commit order, if there is one at the index.
    Rewrite {
        key: i64,
        index: u32,
        element: i64,
    },
    Tag {
        key: i64,
        tag: i64,
    },
    /// Takes a tag away, and counts a hit if it was there.
    Untag {
        key: i64,
        tag: i64,
    },
    Part {
        key: i64,
        part: String,
        count: i64,
    },
    /// Doubles a part, or aborts without it.
    Double {
        key: i64,
        part: String,
    },
    Own {
        key: i64,
        owner: i64,
    },
    /// Takes a seat in a group that has one left: absent rows of a range are read.
    Sit {
        group: i64,
        guest: i64,
    },
    /// Leaves a group, or aborts if not there.
    Leave {
        group: i64,
        guest: i64,
    },
    /// Adds to a counter of a row that has to exist.
    Shuffle {
        group: i64,
        guest: i64,
    },
    /// Moves the first or last guest of a part of a group, or aborts if there is nobody: a bounded range, a row of it and a cell of that row.
    Usher {
        group: i64,
        low: i64,
        high: i64,
        reverse: bool,
    },
    /// Assigns a column that the last version of the app does without.
    Weigh {
        key: i64,
        weight: i64,
    },
    /// Adds to a column that the first version does not have.
    Rank {
        key: i64,
    },
    /// Adds to a counter of a table that the first version does not have, if a thing is ranked.
    Visit {
        key: i64,
    },
    /// Adds a job to a state that has few: counts the answers of a query, and brings one more in.
    Enqueue {
        key: i64,
        state: i64,
        rank: i64,
    },
    /// Moves the first or last job of a state to the next state, by a write of that column alone; or aborts if there is none.
    Take {
        state: i64,
        reverse: bool,
    },
    /// Moves a job in two indexes, whatever else is in its row.
    Promote {
        key: i64,
        rank: i64,
    },
    /// Adds to a counter of a job, which no query looks at.
    Try {
        key: i64,
    },
    Unqueue {
        key: i64,
    },
    /// Deletes the jobs from one rank to before another that are not in a state.
    Sweep {
        low: i64,
        high: i64,
        state: i64,
    },
    /// Writes into a number how many jobs are in a state.
    Tally {
        key: i64,
        state: i64,
    },
    /// Gives a thing an owner who has none yet.
    Crown {
        key: i64,
        owner: i64,
    },
    /// Takes a tag from all things that have it and are somebody's, and from those of the owner with its number.
    Cull {
        tag: i64,
    },
    /// Writes the largest counter into a number, if it has come so far.
    Charge {
        key: i64,
        least: i64,
    },
    /// Of a table whose isolation is weaker than strict.
    Weak {
        table: Weak,
        key: i64,
        what: OfLevel,
    },
    /// A call of the table with the delivered view.
    Chair {
        room: i64,
        chair: i64,
        what: OfChair,
    },
    /// Adds to the sum of a game in turn, or aborts if the round is not the next one.
    Move {
        round: i64,
        amount: i64,
    },
    /// Edits a text. It was made at the call, of what was shown then, and runs without the app.
    Edit(Typing),
    /// A call of the app whose tables sync.
    Rows(OfRows),
    /// A call of the app whose tables merge.
    Centres(Named),
    /// A call of the app that has users with rights.
    Rights(OfRights),
}

impl Call {
    /// A call at random; `element` is unlike that of every other call, and there are so many `keys` to choose from.
    pub fn random(random: &mut Random, keys: u64, element: i64, version: SchemaVersion) -> Call {
        let key = random.below(keys) as i64;
        let small = random.below(4) as i64;
        let part = ["left", "right"][random.below(2) as usize].to_owned();
        match random.below(46) {
            0..=2 => Call::Hit { key, amount: 1 + small },
            3..=5 => Call::transfer(random),
            6 => Call::Audit { key },
            7 | 8 => Call::Bump { key },
            9 => Call::Log { key, element },
            10 => Call::Note { key, element },
            11 => Call::Rewrite { key, index: small as u32, element },
            12 => Call::Tag { key, tag: small },
            13 => Call::Untag { key, tag: small },
            14 => Call::Part { key, part, count: small },
            15 => Call::Double { key, part },
            16 => Call::Own { key, owner: element },
            17 => Call::Sit { group: key, guest: small * 2 },
            18 => Call::Leave { group: key, guest: small * 2 },
            19 => Call::Shuffle { group: key, guest: small * 2 },
            20 => {
                let (low, high) = (small, small + random.between(1, 4) as i64);
                Call::Usher { group: key, low, high, reverse: random.chance(500) }
            }
            23..=34 => Call::of_queries(random, key),
            35..=40 => {
                let table = Weak::ALL[random.below(2) as usize];
                Call::Weak { table, key, what: OfLevel::random(random) }
            }
            41..=45 => Call::of_chairs(random),
            21 if version != SchemaVersion::First => Call::Rank { key },
            22 if version != SchemaVersion::First => Call::Visit { key },
            _ if version == SchemaVersion::Pruned => Call::Hit { key, amount: small },
            _ => Call::Weigh { key, weight: small },
        }
    }

    /// One that queries before it writes, or moves what others query.
    fn of_queries(random: &mut Random, key: i64) -> Call {
        let job = random.below(JOBS) as i64;
        let (state, rank) = (random.below(STATES as u64) as i64, random.below(RANKS) as i64);
        match random.below(12) {
            0..=2 => Call::Enqueue { key: job, state, rank },
            3 | 4 => Call::Take { state, reverse: random.chance(500) },
            5 => Call::Promote { key: job, rank },
            6 => Call::Try { key: job },
            7 => Call::Unqueue { key: job },
            8 => Call::Sweep { low: rank, high: rank + random.between(1, 3) as i64, state },
            9 => Call::Tally { key, state },
            10 if random.chance(500) => Call::Cull { tag: rank },
            10 => Call::Charge { key, least: random.below(40) as i64 },
            _ => Call::Crown { key, owner: state },
        }
    }

    /// A transfer, or a sum of all accounts: what the second reads, the first writes.
    pub fn of_bank(random: &mut Random) -> Call {
        if random.chance(500) { Call::transfer(random) } else { Call::Audit { key: 0 } }
    }

    /// A call of the table at the level of a snapshot, on one of two keys.
    pub fn of_shelves(random: &mut Random) -> Call {
        let key = random.below(2) as i64;
        Call::Weak { table: Weak::Snapshot, key, what: OfLevel::random(random) }
    }

    pub fn of_chairs(random: &mut Random) -> Call {
        let (room, chair) = chairs::some(random);
        Call::Chair { room, chair, what: OfChair::random(random) }
    }

    fn transfer(random: &mut Random) -> Call {
        let from = random.below(ACCOUNTS as u64) as i64;
        let to = (from + 1 + random.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
        Call::Transfer { from, to, amount: 1 + random.below(60) as i64 }
    }

    /// What it is promised by the tables that it touches.
    pub fn level(&self) -> Level {
        match self {
            Call::Weak { table, key: _, what } => what.level(*table),
            _ => Level::Strict,
        }
    }

    /// Whether its closure rests on the answer of a query.
    pub fn asks(&self) -> bool {
        matches!(
            self,
            Call::Enqueue { .. }
                | Call::Take { .. }
                | Call::Sweep { .. }
                | Call::Tally { .. }
                | Call::Crown { .. }
                | Call::Cull { .. }
                | Call::Charge { .. }
        )
    }

    /// Whether it edits a text, which no other call looks at.
    pub fn edits_texts(&self) -> bool {
        matches!(self, Call::Edit(_))
    }

    /// Whether its closure can run in a version of the app.
    pub fn runs_in(&self, version: SchemaVersion) -> bool {
        match self {
            Call::Weigh { .. } => version != SchemaVersion::Pruned,
            Call::Rank { .. } | Call::Visit { .. } => version != SchemaVersion::First,
            Call::Open
            | Call::Hit { .. }
            | Call::Transfer { .. }
            | Call::Audit { .. }
            | Call::Bump { .. }
            | Call::Log { .. }
            | Call::Note { .. }
            | Call::Rewrite { .. }
            | Call::Tag { .. }
            | Call::Untag { .. }
            | Call::Part { .. }
            | Call::Double { .. }
            | Call::Own { .. }
            | Call::Sit { .. }
            | Call::Leave { .. }
            | Call::Shuffle { .. }
            | Call::Usher { .. }
            | Call::Enqueue { .. }
            | Call::Take { .. }
            | Call::Promote { .. }
            | Call::Try { .. }
            | Call::Unqueue { .. }
            | Call::Sweep { .. }
            | Call::Tally { .. }
            | Call::Crown { .. }
            | Call::Cull { .. }
            | Call::Charge { .. }
            | Call::Weak { .. }
            | Call::Chair { .. }
            | Call::Move { .. }
            | Call::Edit(_)
            | Call::Rows(_)
            | Call::Centres(_)
            | Call::Rights(_) => true,
        }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an enum of numbers and strings is JSON")
    }

    /// # Panics
    /// When the text is not what [`Call::to_json`] made: the client lost or changed an argument.
    pub fn from_json(json: &str) -> Call {
        serde_json::from_str(json).expect("arguments come back as they were given")
    }
}
