//! What hosts and apps of a run are like, besides faults, and the limits that they have. Drawn from the seed.

use std::time::Duration;

use iolite_replication::limits::READ_LOOKS_MAX;
use iolite_store::ReadLimit;

use crate::app::{KEYS, SchemaVersion};
use crate::random::Random;

/// What apps call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Every mutation, on one of so many keys in most tables, and edits of texts instead: so many, in thousandths.
    Everything { keys: u64, edits: u64 },
    /// Transfers between accounts, and sums of all of them.
    Bank,
    /// Mutations of the table at the level of a snapshot, on few keys.
    Shelves,
    /// A move of a game by the player whose turn it is. Clients beyond the players look on.
    Game { players: usize },
    /// Calls of the app whose tables sync.
    Rows,
    /// Calls of the app whose tables merge. Its users have rights, or everybody may do everything.
    Centres { guests: bool },
    /// Calls of the app that has users with rights.
    Rights,
}

impl Calls {
    /// The version of the app that clients begin with.
    pub fn first_version(self) -> SchemaVersion {
        match self {
            Calls::Rows => SchemaVersion::Rows,
            Calls::Centres { guests: false } => SchemaVersion::Centres,
            Calls::Centres { guests: true } => SchemaVersion::Guests,
            Calls::Rights => SchemaVersion::Rights,
            Calls::Everything { .. } | Calls::Bank | Calls::Shelves | Calls::Game { .. } => SchemaVersion::First,
        }
    }

    /// Whether texts are edited.
    pub fn edit(self) -> bool {
        matches!(self, Calls::Everything { edits: 1.., .. })
    }
}

/// How many of an app's calls are edits of texts, in thousandths.
const EDITS: u64 = 60;

#[derive(Clone, Debug)]
pub struct Habits {
    pub calls: Calls,
    /// Milliseconds between two things that an app does, at most.
    pub pause_ms: u64,
    /// With as many mutations pending, an app waits before it calls another one.
    pub pending_max: usize,
    /// How often a host hands a client another input before it takes what came of the last one, in thousandths.
    pub batch: u64,
    /// How often a client's app is busy in the first closure that it has to run, in thousandths.
    pub busy: u64,
    /// The share of clients that watch the table with the delivered view, in thousandths.
    pub watches_chairs: u64,
    /// Of clients: those that are told of changes now and then, in thousandths.
    pub batched: u64,
    /// What apps do instead of a call of a named mutation, in thousandths.
    pub take_back: u64,
    pub dismiss: u64,
    pub closure: u64,
    /// Of restarts of a client: those with another version of the app, in thousandths.
    pub upgrade: u64,
    pub client_limits: iolite_client::Limits,
    pub gateway_limits: iolite_gateway::Limits,
    /// Rows that a replica looks at for one piece of what is read.
    pub read_looks_max: usize,
}

impl Habits {
    pub fn random(random: &mut Random) -> Habits {
        let mut sometimes = |most: u64| if random.chance(600) { random.between(1, most) } else { 0 };
        let (batch, take_back, dismiss) = (sometimes(700), sometimes(100), sometimes(50));
        let closure = sometimes(200);
        let batched = sometimes(800);
        let (busy, watches_chairs) = (sometimes(120), 800);
        let pending_max = random.between(2, 30) as usize;
        let upgrade = if random.chance(900) { random.between(700, 1_000) } else { 0 };
        let (client_limits, gateway_limits) = (client_limits(random), gateway_limits(random));
        let read_looks_max = if random.chance(400) { READ_LOOKS_MAX } else { random.between(1, 6) as usize };
        Habits {
            calls: Calls::Everything { keys: KEYS as u64, edits: EDITS },
            pause_ms: 120,
            pending_max,
            batch,
            busy,
            watches_chairs,
            batched,
            take_back,
            dismiss,
            closure,
            upgrade,
            client_limits,
            gateway_limits,
            read_looks_max,
        }
    }
}

impl Habits {
    /// How seldom a client wants to be told of changes.
    pub fn batch_period(&self, random: &mut Random) -> Duration {
        let millis = if random.chance(self.batched) { random.between(5, 800) } else { 0 };
        Duration::from_millis(millis)
    }
}

/// Those of every app, or small ones.
fn client_limits(random: &mut Random) -> iolite_client::Limits {
    if random.chance(400) {
        return iolite_client::Limits::default();
    }
    let default = iolite_client::Limits::default();
    // Of most rows a few fit in, and of some one.
    let cache_bytes_max =
        if random.chance(500) { random.between(1_000, 10_000) as usize } else { default.cache_bytes_max };
    iolite_client::Limits {
        cache_bytes_max,
        idle_interests_max: random.below(6) as usize,
        subscribe_part: random.between(1, 6) as usize,
        tab_part_bytes: random.between(1, 2_000) as usize,
        strong_ahead: random.between(1, 32) as usize,
        ping_after: Duration::from_millis(random.between(300, 5_000)),
        answer_within: Duration::from_millis(random.between(500, 15_000)),
        probe_after: Duration::from_millis(random.between(100, 1_000)),
        probe_within: Duration::from_millis(random.between(50, 1_000)),
        ..default
    }
}

/// Those of every server, or small ones. What clients promise of their pings holds: silence is longer.
fn gateway_limits(random: &mut Random) -> iolite_gateway::Limits {
    if random.chance(400) {
        return iolite_gateway::Limits::default();
    }
    let undrained_bytes_max = random.between(40, 400) as usize;
    iolite_gateway::Limits {
        silence_max: Duration::from_millis(random.between(12_000, 60_000)),
        slow_time_max: Duration::from_millis(random.between(50, 600)),
        undrained_bytes_max,
        catch_up_undrained_bytes: random.below(undrained_bytes_max as u64) as usize,
        catch_up_changes_bytes_max: random.below(1_000) as usize,
        catch_up_commits_bytes_max: 4 * undrained_bytes_max,
        advance_part_bytes: random.between(1, 1_000) as usize,
        load_buffer_bytes: 1 + random.below(400) as usize,
        load_buffer_bytes_max: iolite_gateway::limits::LOAD_BUFFER_BYTES_MAX,
        blob_bytes_user_max: iolite_gateway::limits::BLOB_BYTES_USER_MAX,
        blob_bytes_anonymous_max: iolite_gateway::limits::BLOB_BYTES_ANONYMOUS_MAX,
        log_blocks_kept: iolite_gateway::limits::LOG_BLOCKS_KEPT,
        feed_waiting_bytes_max: 4 * undrained_bytes_max,
        reads_open_max: random.between(1, 4) as usize,
        read_share: ReadLimit { rows: random.below(3) as usize, bytes: random.below(200) as usize, ..ReadLimit::NONE },
    }
}
