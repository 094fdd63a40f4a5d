//! The systems that are measured beside Iolite, by name.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// Three nodes; compare-and-swap on revisions
    Etcd,
    /// SERIALIZABLE; a primary and two synchronous standbys, of which one has to answer
    Postgres,
    /// WATCH, MULTI, EXEC and WAIT 1; a primary and two replicas
    Redis,
    /// Of the 100 game: moves are scripts that Redis runs
    RedisScript,
    /// Of propagate, fanout and views: the server and the clients of Yjs
    Hocuspocus,
    /// Two-phase commit with optimistic concurrency control over Raft, as in the TAPIR paper; three nodes
    OccStore,
    /// Two-phase commit with two-phase locking over Raft, as in the TAPIR paper; three nodes
    LockStore,
    /// OCC-Store whose log sends and writes each entry by itself
    OccStoreUnbatched,
    /// Lock-Store likewise
    LockStoreUnbatched,
    /// A server process in the data centre runs the transactions of swiftsocial
    Cloud,
    /// The same, answered when two data centres have an update
    CloudFt,
    /// Iolite whose callers wait until two data centres have an update
    NaiveFt,
    /// A frame of object-null that comes back over Iolite's links, without a kernel
    Echo,
    /// Java RMI of OpenJDK 17, beside object-null
    Rmi,
    /// Thrift 0.17 in Java, beside object-null
    Thrift,
    /// HTTP/1.1 with JSON, beside object-null
    Rest,
}

impl Peer {
    pub fn name(self) -> String {
        crate::arguments::name_of(&self)
    }

    /// The workloads that it is measured on.
    pub fn beside(self) -> &'static str {
        match self {
            Peer::Redis => "retwis-tapir, ycsb-t, game and retwis-diamond",
            Peer::RedisScript => "game",
            Peer::Hocuspocus => "propagate, fanout and views",
            Peer::Cloud | Peer::CloudFt | Peer::NaiveFt => "swiftsocial",
            Peer::Echo | Peer::Rmi | Peer::Thrift | Peer::Rest => "object-null",
            Peer::Etcd
            | Peer::Postgres
            | Peer::OccStore
            | Peer::LockStore
            | Peer::OccStoreUnbatched
            | Peer::LockStoreUnbatched => "retwis-tapir and ycsb-t",
        }
    }
}
