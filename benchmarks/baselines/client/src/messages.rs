//! What clients and the nodes of a shard say to each other.
//!
//! Only the leader of a shard does what is asked; others say where it is. `Commit` and `Abort` have no answer.

use prost::{Enumeration, Message, Oneof};

/// Names a transaction, in all shards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Message)]
pub struct TransactionId {
    /// Drawn at random by its client.
    #[prost(fixed64, tag = "1")]
    pub client: u64,
    #[prost(uint64, tag = "2")]
    pub number: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Request {
    /// Of this client, never used again.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(oneof = "Ask", tags = "2, 3, 4, 5, 6, 7, 8, 9")]
    pub ask: Option<Ask>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Ask {
    /// What is at a key. Lock-Store locks it for reading, once it can.
    #[prost(message, tag = "2")]
    Get(Get),
    #[prost(message, tag = "3")]
    Prepare(Prepare),
    /// Whether a transaction that wrote nothing may end as if it had run at one time.
    #[prost(message, tag = "4")]
    Validate(Validate),
    /// Every shard has prepared it.
    #[prost(message, tag = "5")]
    Commit(TransactionId),
    /// Some shard never will prepare it.
    #[prost(message, tag = "6")]
    Abort(TransactionId),
    /// What is to become of a transaction whose coordinator is not heard of: what is not prepared by now never will be.
    #[prost(message, tag = "7")]
    Settle(TransactionId),
    /// Values at keys, outside of any transaction.
    #[prost(message, tag = "8")]
    Load(Load),
    /// What is at keys, outside of any transaction, once no transaction is about to write them.
    #[prost(message, tag = "9")]
    Look(Look),
}

#[derive(Clone, PartialEq, Message)]
pub struct Get {
    #[prost(message, required, tag = "1")]
    pub transaction: TransactionId,
    /// Microseconds at which its first attempt began: the older goes first.
    #[prost(uint64, tag = "2")]
    pub age: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Prepare {
    #[prost(message, required, tag = "1")]
    pub transaction: TransactionId,
    #[prost(uint64, tag = "2")]
    pub age: u64,
    /// Those of this shard.
    #[prost(message, repeated, tag = "3")]
    pub reads: Vec<Read>,
    #[prost(message, repeated, tag = "4")]
    pub writes: Vec<Pair>,
    /// The numbers of all shards that it touches.
    #[prost(uint32, repeated, tag = "5")]
    pub participants: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Validate {
    #[prost(message, required, tag = "1")]
    pub transaction: TransactionId,
    #[prost(message, repeated, tag = "2")]
    pub reads: Vec<Read>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Read {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// The place in the log of the commit that wrote it; 0 where nothing is.
    #[prost(uint64, tag = "2")]
    pub version: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Pair {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Load {
    #[prost(message, repeated, tag = "1")]
    pub pairs: Vec<Pair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Look {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Reply {
    /// Of the request.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(oneof = "Tell", tags = "2, 3, 4, 5, 6, 7, 8")]
    pub tell: Option<Tell>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Tell {
    /// To `Get`.
    #[prost(message, tag = "2")]
    Value(Value),
    /// To `Look`.
    #[prost(message, tag = "3")]
    Values(Values),
    /// To `Prepare`, `Validate` and `Load`: it is so, at a majority.
    #[prost(message, tag = "4")]
    Done(()),
    /// A conflict. A `Prepare` that was refused was not written to the log.
    #[prost(message, tag = "5")]
    Refused(Refused),
    /// To `Settle`.
    #[prost(message, tag = "6")]
    Settled(Settlement),
    /// Nothing was done: another node leads.
    #[prost(message, tag = "7")]
    Moved(Moved),
    /// It may have been done or not: this node led, and does not any more.
    #[prost(message, tag = "8")]
    Unsure(()),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Value {
    /// `None` where nothing is.
    #[prost(bytes = "vec", optional, tag = "1")]
    pub value: Option<Vec<u8>>,
    #[prost(uint64, tag = "2")]
    pub version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Values {
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Refused {
    /// A transaction in the way that was prepared long ago: its coordinator may be gone.
    #[prost(message, optional, tag = "1")]
    pub blocker: Option<Blocker>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Blocker {
    #[prost(message, required, tag = "1")]
    pub transaction: TransactionId,
    #[prost(uint32, repeated, tag = "2")]
    pub participants: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Settlement {
    #[prost(enumeration = "Outcome", tag = "1")]
    pub outcome: i32,
}

/// What a shard knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
pub enum Outcome {
    /// Prepared here, for good, unless it is aborted.
    Prepared = 0,
    Committed = 1,
    Aborted = 2,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Moved {
    /// The number of the node that leads, where one is known.
    #[prost(uint32, optional, tag = "1")]
    pub leader: Option<u32>,
}
