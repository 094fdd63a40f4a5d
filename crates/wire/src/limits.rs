//! How large messages may be. The table of docs/protocols/wire.md is held to this file by a test.

use std::fmt;

use iolite_values::{Cutting, IndexKey, Schema};

/// A limit, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub most: usize,
    pub of: &'static str,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.most, self.of)
    }
}

/// What one encoded message may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    pub bytes: Limit,
    /// Messages inside the message, at every depth: each takes memory, even an empty one.
    pub parts: Limit,
}

impl FrameLimits {
    const fn new(bytes: usize, parts: usize) -> FrameLimits {
        FrameLimits { bytes: Limit { most: bytes, of: "bytes" }, parts: Limit { most: parts, of: "parts" } }
    }
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// A frame of a client.
pub const FROM_CLIENT: FrameLimits = FrameLimits::new(MIB, 16 * KIB);
/// A frame of a gateway.
pub const FROM_GATEWAY: FrameLimits = FrameLimits::new(4 * MIB, 256 * KIB);
/// A record of the journal. Whatever one frame of a client submits fits, with its cells in full, and a part of a master record, whose
/// entries are small.
pub const JOURNAL_RECORD: FrameLimits = FrameLimits::new(32 * MIB, 256 * KIB);
/// A chunk of a checkpoint. Its writer aims far below.
pub const CHECKPOINT_CHUNK: FrameLimits = FrameLimits::new(32 * MIB, 1024 * KIB);
/// Anything that a client stores.
pub const CLIENT_STORAGE: FrameLimits = FrameLimits::new(32 * MIB, 256 * KIB);
/// An entry of a log.
pub const LOG_ENTRY: FrameLimits = FrameLimits::new(64 * KIB, 16);
/// The state of a log, whole: all rows of its tables.
pub const LOG_STATE: FrameLimits = FrameLimits::new(16 * MIB, 1024 * KIB);
/// A message of a client on `/blobs`: a chunk and what is around it is the largest.
pub const BLOB_REQUEST: FrameLimits = FrameLimits::new(80 * KIB, 16);
/// A message of a gateway on `/blobs`.
pub const BLOB_REPLY: FrameLimits = FrameLimits::new(80 * KIB, 16);
/// An entry of an outbox: a causal transaction is smaller, also with its cells in full.
pub const OUTBOX_ENTRY: FrameLimits = FrameLimits::new(MIB, 32 * KIB);
/// A message between data centres. It aims far below: one entry is the least that it can send.
pub const FROM_CENTRE: FrameLimits = FrameLimits::new(4 * MIB, 16 * KIB);
/// A message of a node on `/objects`: a call with its arguments is the largest, or a state.
pub const FROM_DEVICE: FrameLimits = FrameLimits::new(MIB + 64 * KIB, KIB);
/// A message of a server on `/objects`.
pub const TO_DEVICE: FrameLimits = FrameLimits::new(MIB + 64 * KIB, KIB);
/// A message of a server to another one, about objects.
pub const PEER: FrameLimits = FrameLimits::new(MIB + 64 * KIB, KIB);
/// A message of a tab that follows.
pub const FROM_TAB: FrameLimits = FrameLimits::new(MIB, 16 * KIB);
/// A message of the tab that leads. It aims far below: one row, or one mutation, is the least that it can send.
pub const TO_TAB: FrameLimits = FrameLimits::new(32 * MIB, 256 * KIB);

/// A message of a coordinator to a replica. Whatever one record of the journal holds fits.
pub const TO_REPLICA: FrameLimits = FrameLimits::new(32 * MIB, 512 * KIB);
/// An answer of a replica. The rows of an interest are the largest ones.
pub const FROM_REPLICA: FrameLimits = FrameLimits::new(64 * MIB, 4096 * KIB);
/// A message of a replica to another one of its group. Whatever one record of the journal holds fits.
pub const BETWEEN_REPLICAS: FrameLimits = FrameLimits::new(32 * MIB, 512 * KIB);
/// What the hello of a link says of the version: in later versions perhaps more than today.
pub const NODES_HELLO: FrameLimits = FrameLimits::new(KIB, 16);

/// A login token.
pub const TOKEN: Limit = Limit { most: 8 * KIB, of: "bytes of token" };
/// A schema in JSON: every schema that exists can be sent.
pub const SCHEMA: Limit = Limit { most: Schema::JSON_BYTES_MAX, of: "bytes of schema" };
/// Text for people: the reason of an abort, of a rejection, of a goodbye.
pub const REASON: Limit = Limit { most: 4 * KIB, of: "bytes of reason" };
/// The key of a map's entry.
pub const MAP_KEY: Limit = Limit { most: KIB, of: "bytes of map key" };
/// A bound of a range: a row key and the byte that makes it a bound.
pub const RANGE_BOUND: Limit = Limit { most: KIB + 1, of: "bytes of range bound" };
/// A bound of a range of index keys: the longest key and the byte that makes it a bound.
pub const INDEX_BOUND: Limit = Limit { most: IndexKey::MAX_BYTES + 1, of: "bytes of index bound" };
/// The interests of one `Subscribe`, the numbers of one `Unsubscribe`, the tickets of one question.
pub const SUBSCRIPTIONS: Limit = Limit { most: 4 * KIB, of: "subscriptions" };
/// The submissions of a session that have no outcome yet, in all its lanes. A client keeps below it, and a gateway ends a session that does not.
pub const SUBMITS_OPEN: Limit = Limit { most: 256, of: "submissions without an outcome" };
/// The bytes of these submissions, by [`crate::message::Submit::size_bytes`].
pub const SUBMITS_OPEN_BYTES: Limit = Limit { most: 4 * MIB, of: "bytes of submissions without an outcome" };
/// Data centres of a group.
pub const CENTRES: Limit = Limit { most: 7, of: "data centres of a group" };
/// The name of a group of data centres.
pub const CENTRE_GROUP: Limit = Limit { most: 64, of: "bytes of a group's name" };
/// A part of a log's state.
pub const LOG_PART: Limit = Limit { most: 256 * KIB, of: "bytes of a log's state" };
/// Members of a log, as far as gateways tell them.
pub const LOG_MEMBERS: Limit = Limit { most: 256, of: "members of a log" };
/// Cells with a number, in one direction of a session.
pub const NUMBERED_CELLS: Limit = Limit { most: KIB, of: "numbered cells" };
/// The name of a mutation, and of a user.
pub const NAME: Limit = Limit { most: KIB, of: "bytes of name" };
/// The content of a chunk.
pub const CHUNK_CONTENT: Limit = Limit { most: Cutting::CHUNK_BYTES_MAX, of: "bytes of a chunk" };
/// Chunks of one question on `/blobs`.
pub const CHUNK_IDS: Limit = Limit { most: KIB, of: "ids of chunks" };
/// Arguments and results of a call, and the state of an object, in one message.
pub const OBJECT_BYTES: Limit = Limit { most: MIB, of: "bytes of arguments, of a result or of a state" };
/// A part of an object's state, where it is longer than one message.
pub const STATE_PART: Limit = Limit { most: 256 * KIB, of: "bytes of a part of a state" };
/// The name of a method.
pub const METHOD: Limit = Limit { most: 64, of: "bytes of a method's name" };
/// The managers of a class, in their canonical text.
pub const MANAGERS: Limit = Limit { most: KIB, of: "bytes of managers" };
/// The name of the user that a session speaks for.
pub const CALLER: Limit = Limit { most: 256, of: "bytes of a caller's name" };
/// Classes that one node runs.
pub const CLASSES: Limit = Limit { most: 256, of: "classes of a node" };
/// Nodes that run a class, as a server tells another one.
pub const SERVED_NODES: Limit = Limit { most: 64, of: "nodes that run a class" };
/// Callers that wait for each other: the objects of a chain, and the calls around a call.
pub const CALL_CHAIN: Limit = Limit { most: 32, of: "callers in a chain" };
/// Copies of an object.
pub const PLACES: Limit = Limit { most: 65, of: "places of an object" };
