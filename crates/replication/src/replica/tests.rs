//! Transitions of the replica, as whole lists of outputs.

mod absurd;
mod bench;
mod catching_up;
mod checkpoints;
mod closing;
mod configurations;
mod copying;
mod counting;
mod draining;
mod elsewhere;
mod ended_shard;
mod exactly_once;
mod finalising;
mod first_group;
mod group;
mod levels;
mod proposals;
mod recovery;
mod splitting;
mod successors;
mod terms;
mod validating;
mod view_changing;
mod waiting;
