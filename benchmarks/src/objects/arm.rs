//! The systems that a null call is measured on, and how their processes are started.

use std::path::Path;

use crate::part::PartProcess;
use crate::peer::Peer;

use super::java::Java;
use super::side::{Listening, Native};

/// A system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// An object of Iolite's, called through a host that dials its server. Always measured: its record is the cell itself, with the others in `beside`.
    Iolite,
    /// A frame that comes back over Iolite's links, without a kernel on either side.
    Echo,
    /// Java RMI of the JDK.
    Rmi,
    /// Thrift in Java.
    Thrift,
    /// HTTP/1.1 with JSON, in Rust on both sides.
    Rest,
}

/// The same for all systems of a run.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// A folder of this run alone.
    pub folder: &'a Path,
    /// The frame of `echo`.
    pub frame_bytes: u64,
}

/// A server that has started, and how its clients are.
pub struct Started {
    pub server: PartProcess,
    pub version: String,
    pub client: Client,
}

/// The program that is a system's client.
pub enum Client {
    Native(Native),
    Java(Java),
}

impl Arm {
    /// The arm of a peer's name, if objects are measured beside it.
    pub fn of(peer: Peer) -> Option<Arm> {
        match peer {
            Peer::Echo => Some(Arm::Echo),
            Peer::Rmi => Some(Arm::Rmi),
            Peer::Thrift => Some(Arm::Thrift),
            Peer::Rest => Some(Arm::Rest),
            Peer::Etcd
            | Peer::Postgres
            | Peer::Redis
            | Peer::RedisScript
            | Peer::Hocuspocus
            | Peer::OccStore
            | Peer::LockStore
            | Peer::OccStoreUnbatched
            | Peer::LockStoreUnbatched
            | Peer::Cloud
            | Peer::CloudFt
            | Peer::NaiveFt => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Arm::Iolite => "iolite",
            Arm::Echo => "echo",
            Arm::Rmi => "rmi",
            Arm::Thrift => "thrift",
            Arm::Rest => "rest",
        }
    }

    /// The numbers of calls that a client keeps open, each of which is measured by itself.
    pub fn in_flight(self) -> &'static [u32] {
        match self {
            Arm::Iolite | Arm::Echo => &[1, 64],
            Arm::Rmi | Arm::Thrift | Arm::Rest => &[1],
        }
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When it is not installed, or does not start.
    pub fn start(self, setup: &Setup) -> anyhow::Result<Started> {
        let java = match self {
            Arm::Iolite => return Started::native(Native::Iolite, setup),
            Arm::Echo => return Started::native(Native::Echo, setup),
            Arm::Rest => return Started::native(Native::Rest, setup),
            Arm::Rmi => Java::rmi(setup.folder)?,
            Arm::Thrift => Java::thrift(setup.folder)?,
        };
        Ok(Started { server: java.server()?, version: java.version().to_owned(), client: Client::Java(java) })
    }
}

impl Started {
    fn native(native: Native, setup: &Setup) -> anyhow::Result<Started> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Started { server: native.server(setup.folder)?, version, client: Client::Native(native) })
    }
}

impl Client {
    /// # Errors
    /// When it does not start.
    pub fn start(&self, server: &Listening, in_flight: u32, setup: &Setup) -> anyhow::Result<PartProcess> {
        match self {
            Client::Native(native) => native.client(server, in_flight, setup.frame_bytes),
            Client::Java(java) => java.client(server.port),
        }
    }
}
