//! Why a host does not start, or ended by itself.

use std::time::Duration;

use iolite_objects::managers::ManagersProblem;
use iolite_values::ObjectNameError;

use crate::embedded::EmbeddedError;

/// Why a host does not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The address is none of a server.
    #[error("{url:?} is not an address of a server: it begins with ws:// and ends with /sync")]
    Url {
        /// The address.
        url: String,
    },
    /// A class has no name that a class can have.
    #[error(transparent)]
    Class(#[from] ObjectNameError),
    /// Two classes have one name.
    #[error("two classes are called {name:?}: give one of them another name")]
    SameName {
        /// The name.
        name: &'static str,
    },
    /// A class has managers that there are not, or that do not fit together.
    #[error("the managers of {name:?}: {problem}")]
    Managers {
        /// The class.
        name: &'static str,
        /// The problem.
        problem: ManagersProblem,
    },
    /// A manager that the host was given has a name that it cannot have.
    #[error("a manager of this host: {problem}")]
    Manager {
        /// The problem.
        problem: ManagersProblem,
    },
    /// A host has too many classes.
    #[error("a host has at most {limit} classes, not {count}: start two hosts")]
    Classes {
        /// The most.
        limit: usize,
        /// How many there are.
        count: usize,
    },
    /// A server inside of the process was given the name of a node.
    #[error("a server inside of the process has a name of its own: leave `node` out, or dial a server")]
    ServerName,
    /// No server has let the host in.
    #[error("no server at {url} has let this host in within {within:?}{}", because(.problem))]
    NoAnswer {
        /// The address that was dialled.
        url: String,
        /// How long it was tried.
        within: Duration,
        /// The last problem, if there was one.
        problem: Option<String>,
    },
    /// The server has sent the host away.
    #[error("the server sends this host away: {message}")]
    Refused {
        /// The reason that the server gives.
        message: String,
    },
    /// The server inside of the process does not start, or ended by itself.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
}

fn because(problem: &Option<String>) -> String {
    let what = problem.as_ref().map_or_else(String::new, |problem| format!(" ({problem})"));
    format!("{what}: start it, or correct the address")
}
