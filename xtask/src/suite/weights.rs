//! How much of the machine a test executable takes, which says what may run beside it.
//!
//! Most executables compute. Those that start processes mostly wait for them, so more of them fit beside each other. Those that measure what something
//! costs get the machine for themselves, as far as the pool goes.

/// The way in which an executable spends most of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Computes,
    Waits,
    /// Measures, so nothing of the pool runs beside it.
    Alone,
}

impl Weight {
    /// The number of executables of this weight that run at once, on two cores.
    pub fn slots(self) -> usize {
        match self {
            Weight::Computes => 2,
            Weight::Waits => 3,
            Weight::Alone => 1,
        }
    }
}

/// Executables that do not compute, by package and target.
const WEIGHTS: &[(&str, &str, Weight)] = &[
    ("iolite-server", "process", Weight::Waits),
    ("iolite-server", "cluster", Weight::Waits),
    ("iolite-server", "stores", Weight::Waits),
    // It counts messages and processor time of clusters, and compares them.
    ("iolite-server", "bench", Weight::Alone),
];

/// Packages whose executables all wait: for sockets, databases and threads.
const WAITING: &[&str] =
    &["iolite-postgres", "iolite-host", "iolite", "iolite-backup", "iolite-cluster", "iolite-node", "rate-limit"];

pub fn weight(package: &str, target: &str) -> Weight {
    let own = WEIGHTS.iter().find(|(of, name, _)| *of == package && *name == target);
    let default = if WAITING.contains(&package) { Weight::Waits } else { Weight::Computes };
    own.map_or(default, |(_, _, weight)| *weight)
}
