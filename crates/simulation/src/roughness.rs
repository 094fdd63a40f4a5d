//! How rough a run is.

use crate::random::Random;

/// How often faults of each kind come. Drawn from the seed, so that some runs are calm and others are rough in one way.
#[derive(Clone, Debug)]
pub struct Roughness {
    /// Of a message between coordinator and replica, in thousandths.
    pub drop: u64,
    pub duplicate: u64,
    pub reorder: u64,
    /// Milliseconds between faults of a kind, on average; zero is never.
    pub disconnect_every_ms: u64,
    pub half_open_every_ms: u64,
    pub slow_socket_every_ms: u64,
    pub server_restart_every_ms: u64,
    /// Of the restarts of the store, in thousandths: those on an empty disk.
    pub history_lost: u64,
    pub gateway_restart_every_ms: u64,
    pub client_restart_every_ms: u64,
    pub leader_lost_every_ms: u64,
    pub tab_closed_every_ms: u64,
    pub tab_frozen_every_ms: u64,
    pub clock_jump_every_ms: u64,
    pub cut_every_ms: u64,
    pub view_change_every_ms: u64,
    pub partition_every_ms: u64,
    pub trap_every_ms: u64,
    pub stand_still_every_ms: u64,
    pub fill_disk_every_ms: u64,
    /// Of the starts of a replica, in thousandths: those on a disk on which a bit has changed.
    pub bit_rot: u64,
    /// Of what a tab stores, in thousandths: what it is told has failed.
    pub stored_unheard: u64,
    /// Between two things that operators do, if a run has operators.
    pub operate_every_ms: u64,
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
        let history_lost = if random.chance(700) { random.between(150, 700) } else { 0 };
        let bit_rot = if random.chance(700) { random.between(30, 200) } else { 0 };
        let stored_unheard = if random.chance(700) { random.between(10, 100) } else { 0 };
        // How many of the kinds a run has.
        let kinds = random.between(200, 800);
        let mut every = |low: u64, high: u64| if random.chance(kinds) { random.between(low, high) } else { 0 };
        Roughness {
            drop,
            duplicate,
            reorder,
            disconnect_every_ms: every(300, 4000),
            half_open_every_ms: every(500, 5000),
            slow_socket_every_ms: every(200, 2500),
            server_restart_every_ms: every(250, 2000),
            history_lost,
            gateway_restart_every_ms: every(1000, 8000),
            client_restart_every_ms: every(500, 6000),
            leader_lost_every_ms: every(500, 4000),
            tab_closed_every_ms: every(500, 4000),
            tab_frozen_every_ms: every(500, 4000),
            clock_jump_every_ms: every(500, 4000),
            cut_every_ms: every(200, 3000),
            view_change_every_ms: every(500, 6000),
            partition_every_ms: every(1000, 8000),
            trap_every_ms: every(150, 1500),
            stand_still_every_ms: every(500, 6000),
            fill_disk_every_ms: every(2000, 12_000),
            bit_rot,
            stored_unheard,
            operate_every_ms: random.between(200, 2_000),
            session_delay_ms: random.between(1, 80),
            server_delay_ms: random.between(1, 10),
            sync_delay_ms: random.between(1, 20),
            store_delay_ms: random.between(1, 20),
        }
    }

    /// The same delays, and no faults.
    pub fn calmed(self) -> Roughness {
        Roughness {
            drop: 0,
            duplicate: 0,
            reorder: 0,
            disconnect_every_ms: 0,
            half_open_every_ms: 0,
            slow_socket_every_ms: 0,
            server_restart_every_ms: 0,
            history_lost: 0,
            gateway_restart_every_ms: 0,
            client_restart_every_ms: 0,
            leader_lost_every_ms: 0,
            tab_closed_every_ms: 0,
            tab_frozen_every_ms: 0,
            clock_jump_every_ms: 0,
            cut_every_ms: 0,
            view_change_every_ms: 0,
            partition_every_ms: 0,
            trap_every_ms: 0,
            stand_still_every_ms: 0,
            fill_disk_every_ms: 0,
            bit_rot: 0,
            stored_unheard: 0,
            operate_every_ms: 0,
            ..self
        }
    }
}
