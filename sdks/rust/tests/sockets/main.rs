//! The SDK against an embedded server, over real sockets.

mod anomalies;
mod batches;
mod blobs;
mod checkpoints;
mod data_types;
mod delivered;
mod exchange;
mod live;
mod log_views;
mod logs;
mod memory;
mod notes;
mod numbers;
mod offline;
mod pressure;
mod queries;
mod queries_served;
mod ranges_served;
mod raw_session;
mod refusals;
mod scenarios;
mod scripted_gateway;
mod syncing;
mod texts;
mod transactions;
mod typed;
