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
    /// Whether it waits for messages that may not come. The client's time-out ends that, or a time trigger that calls `expire`.
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

const SORTED_TABLES: &[Call] = &[
    Call {
        name: "insert",
        takes: &[Key, Placed, Value, Version],
        results: &[("ok", &[]), ("large", &[]), ("full", &[])],
    },
    Call { name: "seal", takes: &[Placed], results: &[("ok", &[Position]), ("idle", &[])] },
    Call { name: "merge", takes: &[], results: &[("ok", &[Position]), ("idle", &[])] },
    Call { name: "write", takes: &[Position], results: &[("ok", &[])] },
    Call { name: "publish", takes: &[Position], results: &[("ok", &[])] },
    Call {
        name: "find",
        takes: &[Key, Placed],
        results: &[("memory", &[Value, Version]), ("found", &[Position, Version]), ("missing", &[])],
    },
    Call { name: "read", takes: &[Position], results: &[("ok", &[Value])] },
    Call { name: "release", takes: &[Position], results: &[("ok", &[])] },
];

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
        name: "causal-context",
        purpose: "keeps at the client what each session has seen, which its next write comes after",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "attach", takes: &[Key], results: &[("ok", &[])] },
            Call { name: "observe", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::causal_context::CausalContext),
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
        name: "commit-log",
        purpose: "notes each write at the end of a node's one log, synced each time or from time to time",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "append", takes: &[Value], results: &[("ok", &[])] },
            Call { name: "sync", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::commit_log::CommitLog),
    },
    Entry {
        name: "dependency-check",
        purpose: "holds a write from another site back until this site has what it comes after",
        is_shared: true,
        waits: true,
        calls: &[
            Call { name: "hold", takes: &[Key, Position, Version], results: &[("ready", &[]), ("waiting", &[])] },
            Call {
                name: "confirm",
                takes: &[Key, Version],
                results: &[("ready", &[Position]), ("waiting", &[]), ("gone", &[])],
            },
            Call { name: "expire", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::dependency_check::DependencyCheck),
    },
    Entry {
        name: "disk-placement",
        purpose: "spreads keys over the disks of a node and their logs",
        is_shared: false,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[Key], results: &[("ok", &[Placed])] }],
        build: build!(super::disk_placement::DiskPlacement),
    },
    Entry {
        name: "filesystem",
        purpose: "what a file system costs for a file an object: inodes to read, a journal to sync",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "record", takes: &[Placed], results: &[("ok", &[])] },
            Call { name: "look-up", takes: &[Key, Placed], results: &[("ok", &[])] },
        ],
        build: build!(super::filesystem::Filesystem),
    },
    Entry {
        name: "lamport",
        purpose: "gives a write a version above all that it comes after",
        is_shared: true,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[], results: &[("ok", &[Version])] }],
        build: build!(super::lamport::Lamport),
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
        purpose: "keeps a value in memory until it is known where it goes",
        is_shared: true,
        waits: true,
        calls: &[
            Call { name: "keep", takes: &[Value], results: &[("ok", &[])] },
            Call { name: "recall", takes: &[], results: &[("ok", &[Value]), ("gone", &[])] },
            Call { name: "expire", takes: &[], results: &[("ok", &[])] },
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
            Call { name: "find-any", takes: &[Key], results: &[("hit", &[Value]), ("miss", &[])] },
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
            Call { name: "reached", takes: &[Key, Version], results: &[("there", &[]), ("later", &[])] },
            Call { name: "checkpoint", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::ram_index::RamIndex),
    },
    Entry {
        name: "read-quorum",
        purpose: "asks so many replicas and takes the newest version that they have",
        is_shared: true,
        waits: true,
        calls: &[
            Call { name: "expect", takes: &[Replicas], results: &[("ok", &[Replicas])] },
            Call {
                name: "count",
                takes: &[],
                results: &[("enough", &[Value, Version]), ("missing", &[]), ("waiting", &[]), ("gone", &[])],
            },
            Call { name: "expire", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::read_quorum::ReadQuorum),
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
        name: "site-ring",
        purpose: "places each key on a node of every site, the one of the session's own site first",
        is_shared: true,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[Key], results: &[("ok", &[Replicas])] }],
        build: build!(super::site_ring::SiteRing),
    },
    Entry {
        name: "sorted-tables",
        purpose: "keeps values in a table in memory, which is written whole, and in tables on disk, which are merged",
        is_shared: true,
        waits: false,
        calls: SORTED_TABLES,
        build: build!(super::sorted_tables::SortedTables),
    },
    Entry {
        name: "timestamp",
        purpose: "gives a write that has no version yet the time as one",
        is_shared: true,
        waits: false,
        calls: &[Call { name: ONLY, takes: &[], results: &[("ok", &[Version])] }],
        build: build!(super::timestamp::Timestamp),
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
        name: "versioned-index",
        purpose: "knows which version of each object the whole chain has, and those on their way",
        is_shared: true,
        waits: false,
        calls: &[
            Call { name: "insert", takes: &[Key, Position, Version], results: &[("ok", &[])] },
            Call { name: "commit", takes: &[Key, Version], results: &[("ok", &[])] },
            Call {
                name: "find",
                takes: &[Key],
                results: &[("clean", &[Position, Version]), ("dirty", &[Position, Version]), ("missing", &[])],
            },
            Call { name: "committed", takes: &[Key], results: &[("found", &[Version]), ("missing", &[])] },
            Call { name: "at", takes: &[Key, Version], results: &[("found", &[Position, Version]), ("missing", &[])] },
        ],
        build: build!(super::versioned_index::VersionedIndex),
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
    Entry {
        name: "write-quorum",
        purpose: "waits in a coordinator until so many replicas have a write",
        is_shared: true,
        waits: true,
        calls: &[
            Call { name: "expect", takes: &[Replicas], results: &[("ok", &[])] },
            Call { name: "count", takes: &[], results: &[("enough", &[]), ("waiting", &[]), ("gone", &[])] },
            Call { name: "expire", takes: &[], results: &[("ok", &[])] },
        ],
        build: build!(super::write_quorum::WriteQuorum),
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
            assert!(entry.waits || entry.calls.iter().all(|call| call.name != "expire"), "{}", entry.name);
            assert!(entry.calls.iter().all(|call| !call.results.is_empty()), "{}", entry.name);
            let is_alone = entry.calls.len() == 1;
            assert!(entry.calls.iter().all(|call| call.name.is_empty() == is_alone), "{}", entry.name);
        }
    }
}
