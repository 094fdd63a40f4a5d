//! Clusters whose description is in a real etcd: changed while clients work, without etcd for a while, and what is wrong is said.

#[path = "../process/folder.rs"]
mod folder;
#[path = "../process/marks.rs"]
mod marks;

mod described;
mod refused;
mod server;
mod without;

use folder::PATIENCE;
