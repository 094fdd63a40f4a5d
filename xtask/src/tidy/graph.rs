//! The crate graph: which of our crates may use which. Dependencies point down only.
//!
//! Invariant: the client never reaches the engine, replication, the gateway or the host, and the host knows no protocol,
//! neither directly nor through others.
//! Source: the layout in ARCHITECTURE.md. To let a crate use another, change the table here and say why in the commit.

use std::collections::BTreeSet;

use super::crates::OurCrate;
use super::finding::Finding;

enum MayUse {
    /// These and nothing else of ours.
    Only(&'static [&'static str]),
    /// It composes the others: programs, SDKs, bindings and whole-system tests.
    Anything,
}

use MayUse::{Anything, Only};

const STORE_AND_BELOW: &[&str] = &["iolite-store", "iolite-values", "iolite-wire", "iolite-machine"];

const LAYERS: &[(&str, MayUse)] = &[
    ("iolite-values", Only(&[])),
    ("iolite-wire", Only(&["iolite-store", "iolite-values"])),
    ("iolite-machine", Only(&["iolite-values"])),
    ("iolite-store", Only(&["iolite-values"])),
    // Documents: only clients work out the order of a text.
    ("iolite-text", Only(&["iolite-values"])),
    ("iolite-replication", Only(STORE_AND_BELOW)),
    ("iolite-postgres", Only(STORE_AND_BELOW)),
    (
        "iolite-causal",
        // Outboxes are pages, as logs are.
        Only(&["iolite-logs", "iolite-store", "iolite-values", "iolite-wire", "iolite-machine"]),
    ),
    ("iolite-rowsync", Only(STORE_AND_BELOW)),
    ("iolite-logs", Only(STORE_AND_BELOW)),
    // A version of the catalog is a schema and its rights.
    ("iolite-catalog", Only(&["iolite-rights", "iolite-store", "iolite-values", "iolite-wire", "iolite-machine"])),
    // Tokens carry the claims that rules see.
    ("iolite-access", Only(&["iolite-rights", "iolite-store", "iolite-values", "iolite-wire", "iolite-machine"])),
    // Rules are data, and nothing but values stands in them.
    ("iolite-rights", Only(&["iolite-values"])),
    ("iolite-tracking", Only(STORE_AND_BELOW)),
    ("iolite-blobs", Only(STORE_AND_BELOW)),
    ("iolite-engine", Only(&["iolite-machine", "iolite-values"])),
    (
        "iolite-gateway",
        Only(&[
            "iolite-replication",
            "iolite-postgres",
            "iolite-causal",
            "iolite-rowsync",
            "iolite-logs",
            "iolite-blobs",
            "iolite-catalog",
            "iolite-access",
            "iolite-rights",
            "iolite-store",
            "iolite-values",
            "iolite-wire",
            "iolite-machine",
        ]),
    ),
    (
        "iolite-client",
        Only(&[
            "iolite-causal",
            "iolite-rowsync",
            "iolite-logs",
            // Trees are made on the device, and chunks are fetched by it.
            "iolite-blobs",
            "iolite-text",
            "iolite-values",
            "iolite-wire",
            "iolite-machine",
        ]),
    ),
    ("iolite-objects", Only(&["iolite-values", "iolite-wire", "iolite-machine"])),
    ("iolite-memory", Only(&["iolite-values", "iolite-machine"])),
    ("iolite-emulator", Only(&["iolite-values", "iolite-machine"])),
    ("iolite-host", Only(&["iolite-machine", "iolite-wire", "iolite-engine", "iolite-values"])),
    ("iolite-simulation", Anything),
    ("iolite-node", Anything),
    ("iolite-cluster", Anything),
    ("iolite-backup", Anything),
    ("iolite-torture", Anything),
    ("iolite-emulate", Anything),
    ("iolite-server", Anything),
    ("iolite-memoryd", Anything),
    // It lives in programs of others: as little as possible.
    ("iolite-memory-agent", Only(&["iolite-memory"])),
    ("iolite", Anything),
    ("iolite-derive", Only(&[])),
    ("iolite-wasm", Anything),
    ("iolite-wasm-objects", Anything),
    // It has the judge of servers, and nothing else of theirs.
    ("iolite-wasm-rights", Only(&["iolite-rights", "iolite-values"])),
    ("iolite-python", Anything),
    ("iolite-uniffi", Anything),
    ("iolite-benchmarks", Anything),
    // Examples have what apps have.
    ("hundred-game", Only(&["iolite"])),
    // What is measured beside the store has its links and its journal below it, and none of its protocols.
    ("iolite-baseline-client", Only(&["iolite-host"])),
    ("iolite-baselines", Only(&["iolite-baseline-client", "iolite-host", "iolite-engine", "iolite-machine"])),
    ("iolite-tests", Anything),
    (
        "iolite-models",
        Only(&[
            "iolite-replication",
            "iolite-store",
            "iolite-values",
            "iolite-machine",
            "iolite-memory",
            "iolite-logs",
            "iolite-causal",
            "iolite-gateway",
            "iolite-access",
            "iolite-catalog",
            "iolite-wire",
        ]),
    ),
    // It judges what clients saw, and must not take the store's word for anything.
    ("iolite-histories", Only(&[])),
    ("xtask", Only(&[])),
    ("xtask-bindgen", Only(&[])),
];

const SERVER_SIDE: &[&str] = &["iolite-engine", "iolite-replication", "iolite-gateway", "iolite-host"];

/// What a crate must not reach, through any number of others.
const NEVER_REACH: &[(&str, &[&str])] = &[
    ("iolite-client", SERVER_SIDE),
    ("iolite-wasm", SERVER_SIDE),
    ("iolite-wasm-objects", SERVER_SIDE),
    ("iolite-wasm-rights", SERVER_SIDE),
    ("iolite-simulation", &["iolite-host", "iolite-node", "iolite-cluster", "iolite-server"]),
    (
        "iolite-host",
        &[
            "iolite-replication",
            "iolite-postgres",
            "iolite-causal",
            "iolite-rowsync",
            "iolite-logs",
            "iolite-gateway",
            "iolite-client",
            "iolite-objects",
        ],
    ),
];

pub fn check(crates: &[OurCrate]) -> Vec<Finding> {
    crates.iter().flat_map(check_direct).chain(NEVER_REACH.iter().flat_map(|rule| check_reach(crates, rule))).collect()
}

fn check_direct(ours: &OurCrate) -> Vec<Finding> {
    let Some((_, may_use)) = LAYERS.iter().find(|(name, _)| *name == ours.name) else {
        let message =
            format!("`{}` has no place in the crate graph: give it one in xtask/src/tidy/graph.rs", ours.name);
        return vec![Finding::failure(&ours.manifest, 1, message)];
    };
    match may_use {
        Anything => Vec::new(),
        Only(allowed) => {
            let wrong = ours.ours.iter().filter(|used| !allowed.contains(&used.as_str()));
            wrong.map(|used| Finding::failure(&ours.manifest, 1, upward(&ours.name, used))).collect()
        }
    }
}

fn upward(user: &str, used: &str) -> String {
    format!("`{user}` must not use `{used}`: dependencies point down only (see xtask/src/tidy/graph.rs)")
}

fn check_reach(crates: &[OurCrate], (from, forbidden): &(&str, &[&str])) -> Vec<Finding> {
    let Some(start) = crates.iter().find(|ours| ours.name == *from) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    let mut paths = vec![vec![*from]];
    while let Some(path) = paths.pop() {
        let last = *path.last().expect("a path holds at least its start");
        let Some(ours) = crates.iter().find(|ours| ours.name == last) else {
            continue;
        };
        for used in ours.ours.iter().filter(|used| seen.insert(used.as_str())) {
            let path: Vec<&str> = path.iter().copied().chain([used.as_str()]).collect();
            if forbidden.contains(&used.as_str()) {
                let message = format!("`{from}` must never reach `{used}`: cut {}", path.join(" -> "));
                findings.push(Finding::failure(&start.manifest, 1, message));
            }
            paths.push(path);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> Vec<OurCrate> {
        let one = |(name, uses): &(&str, &[&str])| OurCrate {
            name: (*name).to_owned(),
            manifest: format!("{name}/Cargo.toml"),
            ours: uses.iter().map(|&used| used.to_owned()).collect(),
            others: Vec::new(),
        };
        edges.iter().map(one).collect()
    }

    fn messages(edges: &[(&str, &[&str])]) -> String {
        check(&graph(edges)).into_iter().map(|finding| finding.to_string() + "\n").collect()
    }

    #[test]
    fn an_upward_dependency_is_reported() {
        assert!(messages(&[("iolite-values", &["iolite-store"])]).contains("must not use `iolite-store`"));
        assert!(messages(&[("iolite-host", &["iolite-store"])]).contains("must not use `iolite-store`"));
    }

    #[test]
    fn reaching_through_another_crate_is_reported_with_the_way() {
        let edges: &[(&str, &[&str])] =
            &[("iolite-client", &["iolite-logs"]), ("iolite-logs", &["iolite-engine"]), ("iolite-engine", &[])];
        assert!(messages(edges).contains("cut iolite-client -> iolite-logs -> iolite-engine"));
    }

    #[test]
    fn a_crate_without_a_place_is_reported() {
        assert!(messages(&[("iolite-stuff", &[])]).contains("no place in the crate graph"));
    }

    #[test]
    fn the_layout_of_the_design_passes() {
        let edges: &[(&str, &[&str])] = &[
            ("iolite-store", &["iolite-values"]),
            ("iolite-wire", &["iolite-store", "iolite-values"]),
            ("iolite-client", &["iolite-logs", "iolite-wire"]),
            ("iolite-logs", &["iolite-store"]),
            ("iolite-server", &["iolite-host", "iolite-gateway", "iolite-client"]),
        ];
        assert_eq!(messages(edges), "");
    }

    #[test]
    fn every_crate_has_one_place_and_uses_only_crates_that_have_one() {
        let names: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), LAYERS.len());
        for (_, may_use) in LAYERS {
            if let Only(allowed) = may_use {
                assert!(allowed.iter().all(|used| names.contains(used)));
            }
        }
    }
}
