//! `iolite` as one process: its server, its commands and its pages, and what attackers of its port come to.

#[path = "../support/mod.rs"]
mod support;

mod app_files;
mod attack;
mod blob_backups;
mod blob_sweeps;
mod blobs;
mod data_folder;
mod durable_files;
mod earlier_data;
mod limits_page;
mod object_calls;
mod objects;
mod operations;
mod rights;
mod server;
mod simulate;
