//! Clusters whose description is in a real etcd: changed while clients work, without etcd for a while, and what is wrong is said.

mod described;
mod refused;
mod server;
mod without;
