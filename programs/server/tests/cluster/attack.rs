//! Attacks on a cluster of processes: noise and strangers at its ports, nodes that say what no node would, a full disk, and more than it can serve. Each is
//! answered, shed or bounded, and what the cluster holds stays right.

mod absurd;
mod full_disk;
mod hostile_node;
mod overload;
mod strangers;
mod witness;
