//! What is in the log of a shard.

use iolite_baseline_client::{Pair, TransactionId};
use prost::{Message, Oneof};

/// Names the leadership of one node.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Leadership {
    #[prost(uint64, tag = "1")]
    pub term: u64,
    /// Counts from 0 within the shard.
    #[prost(uint64, tag = "2")]
    pub node: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Command {
    /// Under which it was found to be right. In the log of another one it does nothing.
    #[prost(message, required, tag = "1")]
    pub under: Leadership,
    /// Who waits for it at that leader; 0 is nobody.
    #[prost(uint64, tag = "2")]
    pub ticket: u64,
    #[prost(oneof = "Change", tags = "3, 4, 5, 6")]
    pub change: Option<Change>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Change {
    #[prost(message, tag = "3")]
    Load(Loaded),
    #[prost(message, tag = "4")]
    Prepare(Prepared),
    #[prost(message, tag = "5")]
    Commit(TransactionId),
    #[prost(message, tag = "6")]
    Abort(TransactionId),
}

#[derive(Clone, PartialEq, Message)]
pub struct Loaded {
    #[prost(message, repeated, tag = "1")]
    pub pairs: Vec<Pair>,
}

/// A transaction as far as it is of one shard.
#[derive(Clone, PartialEq, Message)]
pub struct Prepared {
    #[prost(message, required, tag = "1")]
    pub transaction: TransactionId,
    /// Keys, which stay locked for reading.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub reads: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "3")]
    pub writes: Vec<Pair>,
    /// All shards that it touches.
    #[prost(uint32, repeated, tag = "4")]
    pub participants: Vec<u32>,
}
