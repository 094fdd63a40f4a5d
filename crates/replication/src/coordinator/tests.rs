//! Transitions of the coordinator, as whole lists of outputs.

mod behind;
mod bench;
mod closing;
mod counting;
mod feed;
mod giving_up;
mod histories;
mod levels;
mod obstacles;
mod pieces;
mod reading;
mod repair;
mod requests;
mod routing;
mod session;
mod silent;
mod taking_over;
mod time_limits;
mod two_shards;
mod validating;
