//! The SDK against an embedded server, over real sockets.

mod checkpoints;
mod exchange;
mod notes;
mod offline;
mod pressure;
mod raw_session;
mod refusals;
mod scripted_gateway;
mod transactions;
mod typed;
