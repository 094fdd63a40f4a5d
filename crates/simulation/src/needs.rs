//! Worlds in which a broken variant shows what it does within few seeds. They are calm but for what matters, so that what they lead to can be read.

use iolite_replication::limits::READ_LOOKS_MAX;

use crate::app::KEYS;
use crate::habits::{Calls, Habits};
use crate::roughness::Roughness;
use crate::topology::Topology;
use crate::world::{Operators, Size};

/// What kind of world shows what a variant does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Those that the seeds draw.
    Anything,
    /// The world that a seed draws, with calls of the table at the level of a snapshot only, on few keys.
    Shelves,
    /// Apps that are often busy in a closure, and all follow the table with the delivered view.
    BusyApps,
    /// Two gateways whose clocks differ, in front of replicas that do not hear from both all the time.
    TwoClocks,
    /// A group of this many replicas, which leaves its views often.
    Views { replicas: u64 },
    /// One shard of three replicas, with operators of this kind, who do something all the time.
    Operators(Operators),
    /// Players of a game at three gateways, before three replicas, without faults but those that somebody makes.
    Game,
    /// Outcomes that reach the replicas late, if at all, while others commit quickly and views change.
    LateOutcomes,
    /// The other app, whose tables sync, in the world that a seed draws.
    Rows,
    /// The app of tables that merge, in front of one data centre: one replica, with the faults that a seed draws.
    Centres,
    /// Servers and devices with objects, over a model of a store. It draws all by itself.
    Objects,
    /// The app that has users with rights, and a hostile user, in the world that a seed draws.
    Rights,
}

/// A world of `iolite simulate --world`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorldKind {
    /// Strong tables of every type and level.
    #[default]
    Main,
    /// Tables that sync.
    Rows,
    /// Tables that merge.
    Centres,
    /// Objects that move.
    Objects,
    /// Users with rights.
    Rights,
}

impl WorldKind {
    pub const ALL: [WorldKind; 5] =
        [WorldKind::Main, WorldKind::Rows, WorldKind::Centres, WorldKind::Objects, WorldKind::Rights];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            WorldKind::Main => "main",
            WorldKind::Rows => "rows",
            WorldKind::Centres => "centres",
            WorldKind::Objects => "objects",
            WorldKind::Rights => "rights",
        }
    }

    pub fn from_name(name: &str) -> Option<WorldKind> {
        WorldKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn needs(self) -> Needs {
        match self {
            WorldKind::Main => Needs::Anything,
            WorldKind::Rows => Needs::Rows,
            WorldKind::Centres => Needs::Centres,
            WorldKind::Objects => Needs::Objects,
            WorldKind::Rights => Needs::Rights,
        }
    }
}

/// Texts matter to no variant that needs a world of its own.
const ONE_KEY: Calls = Calls::Everything { keys: 1, edits: 0 };
const ALL_KEYS: Calls = Calls::Everything { keys: KEYS as u64, edits: 0 };

const PLAYERS: usize = 2;

/// By how much the clocks of the two gateways are wrong, in microseconds.
const CLOCKS: [i64; 2] = [2_000_000, -2_000_000];

/// By how much the clock of a gateway is wrong at most where tables merge, in microseconds.
const FRONT_CLOCK_MOST: i64 = 5_000_000;

impl Needs {
    pub fn topology(self, drawn: Topology) -> Topology {
        match self {
            Needs::Anything | Needs::Shelves | Needs::BusyApps | Needs::Rows | Needs::Objects | Needs::Rights => drawn,
            Needs::TwoClocks | Needs::LateOutcomes | Needs::Operators(_) | Needs::Game => {
                Topology { shards: 1, replicas: 3 }
            }
            Needs::Centres => Topology::ALONE,
            Needs::Views { replicas } => Topology { shards: 1, replicas },
        }
    }

    /// What operators do.
    pub fn operators(self, drawn: Operators) -> Operators {
        match self {
            Needs::Anything | Needs::Shelves | Needs::BusyApps | Needs::Rows | Needs::Objects | Needs::Rights => drawn,
            Needs::Operators(kind) => kind,
            Needs::TwoClocks | Needs::LateOutcomes | Needs::Views { .. } | Needs::Game | Needs::Centres => {
                Operators::None
            }
        }
    }

    pub fn roughness(self, drawn: Roughness) -> Roughness {
        match self {
            Needs::Anything | Needs::Shelves | Needs::Rows | Needs::Objects | Needs::Rights => drawn,
            Needs::BusyApps => drawn.calmed(),
            // Of a history that is lost nothing is promised.
            Needs::Centres => Roughness { history_lost: 0, ..drawn },
            Needs::Operators(_) => {
                Roughness { operate_every_ms: 300, drop: drawn.drop.max(100), server_delay_ms: 20, ..drawn }
            }
            Needs::Game => Roughness { session_delay_ms: 40, ..drawn.calmed() },
            // Gateways follow each other, so a difference that stays is soon none.
            Needs::TwoClocks => Roughness { clock_jump_every_ms: 150, ..drawn.calmed() },
            Needs::LateOutcomes => {
                let (gateway_restart_every_ms, view_change_every_ms) = (400, 200);
                Roughness { server_delay_ms: 3, gateway_restart_every_ms, view_change_every_ms, ..drawn.calmed() }
            }
            Needs::Views { .. } => {
                let (gateway_restart_every_ms, view_change_every_ms) = (1_500, 100);
                Roughness { server_delay_ms: 30, gateway_restart_every_ms, view_change_every_ms, ..drawn.calmed() }
            }
        }
    }

    /// Few things to write, so that transactions meet.
    pub fn habits(self, drawn: Habits) -> Habits {
        match self {
            Needs::Anything | Needs::Objects => drawn,
            Needs::Shelves => Habits { calls: Calls::Shelves, ..drawn },
            Needs::BusyApps => Habits { busy: 120, watches_chairs: 1_000, ..drawn },
            Needs::Operators(_) => Habits { calls: ALL_KEYS, pause_ms: 40, ..drawn },
            // Whoever is silent for a while does not hear how far the others are.
            Needs::TwoClocks => Habits { calls: ONE_KEY, pause_ms: 1_000, ..drawn },
            Needs::Views { .. } => Habits { calls: ONE_KEY, ..drawn },
            Needs::LateOutcomes => Habits { calls: Calls::Bank, ..drawn },
            Needs::Rows => one_version(Calls::Rows, drawn),
            Needs::Centres => one_version(Calls::Centres { guests: false }, drawn),
            Needs::Rights => one_version(Calls::Rights, drawn),
            Needs::Game => Habits {
                calls: Calls::Game { players: PLAYERS },
                batched: 0,
                busy: 0,
                watches_chairs: 0,
                client_limits: iolite_client::Limits::default(),
                gateway_limits: iolite_gateway::Limits::default(),
                read_looks_max: READ_LOOKS_MAX,
                ..drawn
            },
        }
    }

    pub fn size(self, drawn: Size) -> Size {
        match self {
            Needs::Anything | Needs::Shelves | Needs::BusyApps | Needs::Objects => drawn,
            Needs::TwoClocks | Needs::Views { .. } | Needs::LateOutcomes | Needs::Operators(_) => {
                Size { clients: 5, fronts: CLOCKS.len(), ..drawn }
            }
            Needs::Game => Size { clients: PLAYERS + 1, fronts: 3, calls_each: u32::MAX },
            Needs::Rows | Needs::Centres => {
                Size { clients: drawn.clients.min(4), calls_each: drawn.calls_each.min(60), ..drawn }
            }
            // An operator and four to seven devices of users, so that with the hostile one there are eight at most.
            Needs::Rights => {
                Size { clients: drawn.clients + 3, fronts: drawn.fronts + 1, calls_each: drawn.calls_each.min(60) }
            }
        }
    }

    /// By how much the clock of a gateway is wrong.
    pub fn clock_of_front(self, front: usize, drawn: i64) -> i64 {
        match self {
            Needs::Anything
            | Needs::Shelves
            | Needs::BusyApps
            | Needs::Views { .. }
            | Needs::LateOutcomes
            | Needs::Objects
            | Needs::Rights
            | Needs::Rows => drawn,
            Needs::Game => 0,
            Needs::Centres => self.jumped_clock_of_front(drawn),
            Needs::TwoClocks | Needs::Operators(_) => CLOCKS[front],
        }
    }

    /// The same, after a jump. Where tables merge it is a matter of seconds: a time that one gateway took waits at the others until their clocks are there.
    pub fn jumped_clock_of_front(self, drawn: i64) -> i64 {
        match self {
            Needs::Centres => drawn.clamp(-FRONT_CLOCK_MOST, FRONT_CLOCK_MOST),
            Needs::Anything
            | Needs::Shelves
            | Needs::BusyApps
            | Needs::TwoClocks
            | Needs::Views { .. }
            | Needs::Operators(_)
            | Needs::Game
            | Needs::LateOutcomes
            | Needs::Objects
            | Needs::Rights
            | Needs::Rows => drawn,
        }
    }

    /// For how many milliseconds what a gateway says to replicas waits in its process. When it has acknowledged something, the replicas do not know yet.
    pub fn queue_ms(self, front: usize) -> u64 {
        match self {
            Needs::TwoClocks if front == 0 => 300,
            Needs::Views { .. } | Needs::LateOutcomes if front == 0 => 400,
            Needs::Anything
            | Needs::Shelves
            | Needs::BusyApps
            | Needs::TwoClocks
            | Needs::Views { .. }
            | Needs::LateOutcomes
            | Needs::Operators(_)
            | Needs::Game
            | Needs::Rows
            | Needs::Objects
            | Needs::Rights
            | Needs::Centres => 0,
        }
    }

    /// By how much the clocks of other processes are wrong.
    pub fn other_clock(self, drawn: i64) -> i64 {
        match self {
            Needs::Anything
            | Needs::Shelves
            | Needs::BusyApps
            | Needs::Views { .. }
            | Needs::LateOutcomes
            | Needs::Operators(_)
            | Needs::Rows
            | Needs::Objects
            | Needs::Rights
            | Needs::Centres => drawn,
            Needs::TwoClocks | Needs::Game => 0,
        }
    }
}

/// One version of the app, with room for all of its few rows.
fn one_version(calls: Calls, drawn: Habits) -> Habits {
    let cache_bytes_max = iolite_client::Limits::default().cache_bytes_max;
    let client_limits = iolite_client::Limits { cache_bytes_max, ..drawn.client_limits };
    Habits { calls, watches_chairs: 0, upgrade: 0, client_limits, ..drawn }
}
