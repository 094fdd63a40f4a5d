//! Clusters of processes: killed, changed, split, tortured and attacked while clients use them.

#[path = "../support/mod.rs"]
mod support;

mod attack;
mod centre_rights;
mod centres;
mod cut_off;
mod members;
mod moving;
mod nodes;
mod objects;
mod places;
mod rights;
mod torture;
