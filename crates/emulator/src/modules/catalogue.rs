//! The table of modules: calls, results, ports, and how each is built. Designs are checked against it.

use super::Port::{self, Key, Placed, Position, Replicas, Value, Version, Volume};
use super::{Module, Site};
use crate::file::{Problem, Section};

/// A call that a module takes.
#[derive(Debug)]
pub struct Call {
    pub name: &'static str,
    pub takes: &'static [Port],
    /// Each result, with what is there after it.
    pub results: &'static [(&'static str, &'static [Port])],
}

type Build = fn(&Section, &Site<'_>) -> Result<Box<dyn Module>, Problem>;

#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// The purpose, in a line.
    pub purpose: &'static str,
    /// All steps of a role that name it share one, with its state; else each step has its own.
    pub is_shared: bool,
    /// Whether it waits for messages that may not come; only the client's time-out ends that, so only a client may have it.
    pub waits: bool,
    pub calls: &'static [Call],
    pub build: Build,
}

macro_rules! build {
    ($module:ty) => {
        |section, site| Ok(Box::new(<$module>::build(section, site)?))
    };
}

const ONLY: &str = "";

const ENTRIES: &[Entry] = &[
    Entry {
        name: "acknowledge",
        purpose: "answers the client, and the graph goes on",
        is_shared: false,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[], results: &[("ok", &[])] }],
        build: build!(super::acknowledge::Acknowledge),
    },
    Entry {
        name: "acks",
        purpose: "waits until all replicas have answered",
        is_shared: true,
        waits: true,
        calls: &[
            Call { name: "expect", takes: &[Replicas], results: &[("ok", &[])] },
            Call { name: "count", takes: &[], results: &[("all", &[]), ("waiting", &[]), ("gone", &[])] },
        ],
        build: build!(super::acks::Acks),
    },
    Entry {
        name: "chain-forward",
        purpose: "tells the tail of a chain from the nodes before it",
        is_shared: false,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[Replicas], results: &[("tail", &[]), ("middle", &[])] }],
        build: build!(super::chain_forward::ChainForward),
    },
    Entry {
        name: "disk-placement",
        purpose: "spreads keys over the disks of a node",
        is_shared: false,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[Key], results: &[("ok", &[Placed])] }],
        build: build!(super::disk_placement::DiskPlacement),
    },
    Entry {
        name: "log-store",
        purpose: "keeps values in logs that grow at their end",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "reserve", takes: &[Placed, Value], results: &[("ok", &[Position]), ("full", &[])] },
            Call { name: "write", takes: &[Position, Value], results: &[("ok", &[])] },
            Call { name: "read", takes: &[Position], results: &[("ok", &[Value])] },
        ],
        build: build!(super::log_store::LogStore),
    },
    Entry {
        name: "pending",
        purpose: "keeps a value at the client until the store says where it goes",
        is_shared: true,
        waits: true,
        calls: &[
            Call { name: "keep", takes: &[Value], results: &[("ok", &[])] },
            Call { name: "recall", takes: &[], results: &[("ok", &[Value]), ("gone", &[])] },
        ],
        build: build!(super::pending::Pending),
    },
    Entry {
        name: "ram-cache",
        purpose: "keeps values in memory; the one not used for longest goes first",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "find", takes: &[Key, Version], results: &[("hit", &[Value]), ("miss", &[])] },
            Call { name: "insert", takes: &[Key, Value, Version], results: &[("ok", &[])] },
        ],
        build: build!(super::ram_cache::RamCache),
    },
    Entry {
        name: "ram-index",
        purpose: "knows in memory where each object is, and may note it on disk from time to time",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "insert", takes: &[Key, Position], results: &[("ok", &[])] },
            Call { name: "find", takes: &[Key], results: &[("found", &[Position, Version]), ("missing", &[])] },
            Call { name: "checkpoint", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::ram_index::RamIndex),
    },
    Entry {
        name: "ring",
        purpose: "places keys by consistent hashing, on nodes that follow each other",
        is_shared: true,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[Key], results: &[("ok", &[Replicas])] }],
        build: build!(super::ring::Ring),
    },
    Entry {
        name: "send",
        purpose: "sends the message on, under another name",
        is_shared: false,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[], results: &[("ok", &[])] }],
        build: build!(super::send::Send),
    },
    Entry {
        name: "version-counter",
        purpose: "numbers a write that has no number yet",
        is_shared: true,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[], results: &[("ok", &[Version])] }],
        build: build!(super::version_counter::VersionCounter),
    },
    Entry {
        name: "volume-directory",
        purpose: "knows which volume each object is in, who holds it, and which volumes take writes",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "assign", takes: &[Key], results: &[("ok", &[Volume, Replicas, Version]), ("full", &[])] },
            Call { name: "commit", takes: &[Key, Volume, Version], results: &[("ok", &[])] },
            Call { name: "find", takes: &[Key], results: &[("found", &[Volume, Replicas, Version]), ("missing", &[])] },
            Call { name: "close", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::volume_directory::VolumeDirectory),
    },
    Entry {
        name: "volume-placement",
        purpose: "knows which disk of a node each volume is on",
        is_shared: false,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[Volume], results: &[("ok", &[Placed])] }],
        build: build!(super::volume_placement::VolumePlacement),
    },
];

pub fn entries() -> &'static [Entry] {
    ENTRIES
}

pub fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_stand_in_order_and_each_call_has_a_result() {
        assert!(ENTRIES.iter().map(|entry| entry.name).is_sorted_by(|one, next| one < next));
        for entry in ENTRIES {
            assert!(!entry.calls.is_empty(), "{}", entry.name);
            assert!(entry.calls.iter().all(|call| !call.results.is_empty()), "{}", entry.name);
            let is_alone = entry.calls.len() == 1;
            assert!(entry.calls.iter().all(|call| call.name.is_empty() == is_alone), "{}", entry.name);
        }
    }
}
