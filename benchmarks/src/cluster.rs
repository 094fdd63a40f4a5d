//! What clusters of other systems are made of: a directory, ports, links, processes.

mod directory;
mod gate;
mod links;
mod ports;
mod process;

pub use directory::{ClusterDirectory, ServiceUser};
pub use gate::Gate;
pub use links::Links;
pub use ports::{BETWEEN_SERVERS, CLIENTS, free_ports};
pub use process::{Ending, Runner, ServerProcess, nodes, program, program_beside, version};
