//! The faults that a run makes, how often, and the count of those that fired.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::random::Random;

/// A kind of fault. A run that makes too few of any kind proves little, so they are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A message between coordinator and replica is lost.
    Drop,
    /// A message between coordinator and replica comes twice.
    Duplicate,
    /// A message between coordinator and replica overtakes an earlier one.
    Reorder,
    /// A session's link breaks, with everything on its way.
    Disconnect,
    /// The store's process is killed, or loses power, and starts again from its disk.
    ServerRestart,
    /// A gateway's process is killed and starts again with nothing.
    GatewayRestart,
    /// A client's process is killed and starts again from its storage.
    ClientRestart,
    /// The tab that leads is closed or killed, and one that followed takes over.
    LeaderLost,
    /// A tab that follows is closed, with what it had not stored.
    TabClosed,
    /// A tab that follows stands still, and may lose messages meanwhile.
    TabFrozen,
    /// A power cut takes bytes that were not synced.
    LostUnsynced,
    /// A power cut leaves a write in pieces.
    TornWrite,
    /// A wall clock jumps.
    ClockJump,
}

impl Fault {
    pub const ALL: [Fault; 13] = [
        Fault::Drop,
        Fault::Duplicate,
        Fault::Reorder,
        Fault::Disconnect,
        Fault::ServerRestart,
        Fault::GatewayRestart,
        Fault::ClientRestart,
        Fault::LeaderLost,
        Fault::TabClosed,
        Fault::TabFrozen,
        Fault::LostUnsynced,
        Fault::TornWrite,
        Fault::ClockJump,
    ];
}

/// How many faults of each kind fired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FaultCounts(BTreeMap<Fault, u64>);

impl FaultCounts {
    pub fn add(&mut self, fault: Fault, count: u64) {
        *self.0.entry(fault).or_default() += count;
    }

    pub fn of(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or(0)
    }

    pub fn merge(&mut self, other: &FaultCounts) {
        for (fault, count) in &other.0 {
            self.add(*fault, *count);
        }
    }
}

impl fmt::Display for FaultCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.0.iter().map(|(fault, count)| format!("{fault:?} {count}")).collect();
        f.write_str(&counts.join(", "))
    }
}

/// How rough a run is. Drawn from the seed, so that some runs are calm and others are rough in one way.
#[derive(Clone, Debug)]
pub struct Roughness {
    /// Of a message between coordinator and replica, in thousandths.
    pub drop: u64,
    pub duplicate: u64,
    pub reorder: u64,
    /// Milliseconds between faults of a kind, on average; zero is never.
    pub disconnect_every_ms: u64,
    pub server_restart_every_ms: u64,
    pub gateway_restart_every_ms: u64,
    pub client_restart_every_ms: u64,
    pub leader_lost_every_ms: u64,
    pub tab_closed_every_ms: u64,
    pub tab_frozen_every_ms: u64,
    pub clock_jump_every_ms: u64,
    /// Milliseconds that a message takes at most, of a session and within the server.
    pub session_delay_ms: u64,
    pub server_delay_ms: u64,
    pub sync_delay_ms: u64,
    pub store_delay_ms: u64,
}

impl Roughness {
    pub fn random(random: &mut Random) -> Roughness {
        let mut sometimes = |most: u64| if random.chance(700) { random.between(1, most) } else { 0 };
        let (drop, duplicate, reorder) = (sometimes(150), sometimes(150), sometimes(300));
        let mut every = |low: u64, high: u64| if random.chance(750) { random.between(low, high) } else { 0 };
        Roughness {
            drop,
            duplicate,
            reorder,
            disconnect_every_ms: every(300, 4000),
            server_restart_every_ms: every(300, 2500),
            gateway_restart_every_ms: every(1000, 8000),
            client_restart_every_ms: every(500, 6000),
            leader_lost_every_ms: every(500, 4000),
            tab_closed_every_ms: every(500, 4000),
            tab_frozen_every_ms: every(500, 4000),
            clock_jump_every_ms: every(500, 4000),
            session_delay_ms: random.between(1, 80),
            server_delay_ms: random.between(1, 10),
            sync_delay_ms: random.between(1, 20),
            store_delay_ms: random.between(1, 20),
        }
    }
}
