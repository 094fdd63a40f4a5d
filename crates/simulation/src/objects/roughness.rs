//! How large and how rough a run of this world is.

use crate::history::Moment;
use crate::random::Random;

pub const MILLISECOND: Moment = 1_000_000;
pub const SECOND: Moment = 1_000 * MILLISECOND;

#[derive(Clone, Copy, Debug)]
pub struct Roughness {
    pub servers: usize,
    pub devices: usize,
    /// How many of them are part of the service.
    pub serving: usize,
    pub has_leases: bool,
    pub work_for: Moment,
    /// The longest pause of a client between two things that it does.
    pub work_every: Moment,
    /// The longest time between two faults.
    pub fault_every: Moment,
    /// The longest time that a message takes without faults.
    pub delay: Moment,
    /// How many of 1,000 commits are in doubt, and how many conflict with nothing.
    pub doubts: u64,
    pub conflicts: u64,
    /// The store forgets versions that are older.
    pub kept_for: Moment,
    /// How often the last answers to a device of the service take very long.
    pub slow_service: u64,
    /// Another store takes the place of the first one, in the middle of the run.
    pub is_restored: bool,
}

impl Roughness {
    pub fn random(random: &mut Random) -> Roughness {
        let servers = random.between(1, 3) as usize;
        let devices = random.between(2, 4).min(6 - servers as u64) as usize;
        // In most runs at least one device is part of the service.
        let least = u64::from(!random.chance(100));
        let serving = random.between(least, 2).min(devices as u64 - 1) as usize;
        let is_calm = random.chance(150);
        Roughness {
            servers,
            devices,
            serving,
            has_leases: servers > 1 || random.chance(500),
            work_for: random.between(50, 90) * SECOND,
            work_every: random.between(300, 1_600) * MILLISECOND,
            fault_every: if is_calm { 30 * SECOND } else { random.between(1_000, 6_000) * MILLISECOND },
            delay: random.between(2, 60) * MILLISECOND,
            doubts: random.between(0, 80),
            conflicts: random.between(0, 40),
            kept_for: random.between(1, 20) * SECOND,
            slow_service: if random.chance(350) { 3 } else { 0 },
            is_restored: random.chance(150),
        }
    }
}
