//! Attacks on a cluster of processes: noise and strangers at its ports, nodes that say what no node would, a full disk, and more than it can serve. Each is
//! answered, shed or bounded, and what the cluster holds stays right.

#[path = "../process/local.rs"]
#[allow(dead_code, reason = "it is shared with the tests of clusters")]
mod local;
#[path = "../../../../crates/wire/tests/hostile_parts/mutation.rs"]
mod mutation;
#[path = "../../../../sdks/rust/tests/sockets/raw_session.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the SDK")]
mod raw_session;

mod absurd;
mod full_disk;
mod hostile_node;
mod overload;
mod strangers;
mod witness;
