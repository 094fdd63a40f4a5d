//! Messages between nodes: one message for all designs, as Table 4.2 of the paper has it, with what a design's own kinds need.
//!
//! Invariant: a value is carried as its digest and length. What that many bytes cost on a link, a disk and a processor is paid all the same.

use serde::{Deserialize, Serialize};

use super::{Kind, NodeId};

/// An object, by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key(pub u64);

/// One operation of a client. Each message that comes of it carries this on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OperationId(pub u64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version(pub u64);

/// A logical volume: a log that several nodes hold a replica of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Volume(pub u32);

/// An object's bytes. Digest 0 is what a disk gives where nothing was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Content {
    pub digest: u64,
    pub length: u64,
}

/// The kind of operation that the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Asked {
    Put,
    Get,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Answer {
    /// A put is done.
    Stored,
    /// A get, with the value.
    Found,
    /// There is no such object.
    Missing,
    Refused(Refusal),
}

/// Why a store refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Refusal {
    /// No room is left.
    Full,
    /// No answer in time.
    TimedOut,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub kind: Kind,
    pub operation: OperationId,
    pub asked: Asked,
    /// The client that waits for the operation.
    pub client: NodeId,
    /// The node that sent this message.
    pub from: NodeId,
    pub key: Key,
    pub value: Option<Content>,
    pub version: Option<Version>,
    pub volume: Option<Volume>,
    /// The nodes that hold the object, in the order that the design gives them.
    pub replicas: Vec<NodeId>,
    pub answer: Option<Answer>,
    /// Only of the data that are there before a run: the room that the object takes, which stands for others that are not emulated one by one.
    pub room: u64,
}

impl Message {
    /// Bytes of a message besides its value: what a compact encoding of the fields takes, and the headers of TCP.
    const FIXED_BYTES: u64 = 120;

    /// The bytes that the message takes on a link.
    pub fn bytes(&self) -> u64 {
        let value = self.value.map_or(0, |value| value.length);
        Message::FIXED_BYTES + 4 * self.replicas.len() as u64 + value
    }
}

/// The output function of splitmix64: a number that looks like chance, and is another one for each other input.
pub fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
