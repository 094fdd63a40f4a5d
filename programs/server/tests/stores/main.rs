//! Systems beside the store: backups, descriptions in etcd, and PostgreSQL as the store.

#[path = "../support/mod.rs"]
mod support;

mod backup;
mod etcd;
mod object_backups;
mod object_rows;
mod postgres;
