//! Messages of a client.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_values::{
    Attempt, Cell, ClientId, Condition, Counter, Decision, Direction, Field, Id, Interest, KeyRange, LaneNumber, LogId,
    Read, SchemaHash, StoreIncarnation, Test, Timestamp, Value,
};

use crate::centres::CentreToken;

use super::{ProtocolVersion, SubscriptionId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromClient {
    /// The first message of a session.
    Hello(Hello),
    /// The schema in JSON, after [`super::FromGateway::SchemaWanted`].
    Schema(String),
    Subscribe(Subscribe),
    Unsubscribe(Vec<SubscriptionId>),
    Submit(Submit),
    /// Every outcome up to and including this counter has been taken note of, durably: the store may forget them.
    Acknowledge(Counter),
    /// Asks for a `Pong` with the same number, to learn whether the link is alive.
    Ping(u32),
    /// Every advance up to this timestamp is applied: the pending mutations and the reactions have run on it. Said of advances that are owed.
    Applied(Timestamp),
    /// The hash of its state of a log, in front of a block of pages.
    LogHash(LogHash),
    /// A part of that state, which the gateway asked for.
    LogPart(LogPart),
    /// Another token, of the same user: it takes the place of the one before.
    Token(String),
}

/// The hash of a member's state of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHash {
    pub log: LogId,
    /// The block of pages that the state stands in front of.
    pub block: u64,
    /// Entries that are in the state.
    pub index: u64,
    /// SHA-256 of the state's bytes.
    pub hash: [u8; 32],
    /// Into how many parts these bytes are cut.
    pub parts: u64,
}

/// A part of a log's state, from 0 on; without bytes the question for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPart {
    pub log: LogId,
    /// The block of pages that the state stands in front of.
    pub block: u64,
    pub part: u64,
    pub state: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    pub oldest_version: ProtocolVersion,
    pub newest_version: ProtocolVersion,
    /// A development token or a JWT.
    pub token: String,
    /// The id that the device drew. The gateway makes the id of the client of it and of who the user is, and tells that in its welcome.
    pub client: ClientId,
    pub schema: SchemaHash,
    /// What the client's cache holds, if it holds anything.
    pub resume: Option<Resume>,
    /// Every counter up to this one is acknowledged.
    pub acknowledged: Counter,
    /// Everything that it has seen of a group of data centres, if `resume` is of one of them.
    pub centre_token: Option<CentreToken>,
    /// How much time is between two advances with changes, at least, in whole milliseconds. Zero: each change is told as it comes.
    pub batch: Duration,
}

/// A resume token: the interests that are subscribed in the next message are held as of this point of this history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    pub store: StoreIncarnation,
    pub at: Timestamp,
    /// The digest of rights that an advance has told last: what is held is what its user might see by them.
    pub rights: Option<Id>,
}

/// Asks for interests. The answer is in one `Advance`, or in several of which all but the last say `more`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribe {
    /// The client already holds these interests as of its resume token, and wants changes rather than snapshots if they can be had.
    pub held: bool,
    pub interests: Vec<(SubscriptionId, Interest)>,
    /// Of these queries only so much: the answer says how far it reaches, and the subscription is to the query up to there.
    pub first: BTreeMap<SubscriptionId, First>,
}

impl Subscribe {
    /// How many parts of the message an interest takes, at most: [`crate::limits::FROM_CLIENT`] counts them.
    pub fn parts_of(interest: &Interest) -> usize {
        let value = |value: &Value| usize::from(*value != Value::Null);
        let field = |field: &Field| match field {
            Field::Key(_) => 1,
            Field::Cell { column: _, absent } => 1 + value(absent),
        };
        let condition = |Condition { field: own, test }: &Condition| {
            let list = usize::from(matches!(test, Test::OneOf(_)));
            1 + field(own) + list + test.values().count()
        };
        let bounds = |range: &KeyRange| usize::from(*range != KeyRange::all());
        match interest {
            // The subscription itself, and the cell's name or the range.
            Interest::Cell(_) | Interest::Range { .. } => 2,
            Interest::Query(query) => {
                let fields = query.index.iter().map(field).sum::<usize>();
                let conditions = query.every_condition().map(condition).sum::<usize>();
                let alternatives = query.any_of.iter().map(|any_of| 1 + any_of.0.len()).sum::<usize>();
                2 + fields + bounds(&query.range) + bounds(&query.keys) + conditions + alternatives
            }
        }
    }
}

/// So many rows of a query, from one end of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct First {
    pub rows: u32,
    pub direction: Direction,
}

/// An attempt of the mutation `counter`. Sent again unchanged after a reconnection, until its outcome is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    pub counter: Counter,
    pub attempt: Attempt,
    pub snapshot: Timestamp,
    pub reads: Vec<Read>,
    pub decision: Decision,
    /// Says the same as [`FromClient::Acknowledge`] in the same frame, and for fewer bytes.
    pub acknowledged: Option<Counter>,
    /// The order of the client in which it stands. A number is of one domain for as long as a session.
    pub lane: LaneNumber,
    /// The mutation of its lane that has to be committed for this one to be tried. None: nothing before it is unanswered.
    pub follows: Option<Counter>,
}

impl Submit {
    /// How much of [`crate::limits::SUBMITS_OPEN_BYTES`] it takes.
    pub fn size_bytes(&self) -> usize {
        Submit::bytes_of(&self.reads, &self.decision)
    }

    /// As [`Submit::size_bytes`], of one with these reads and this decision. An estimate, but clients and gateways count alike by it.
    pub fn bytes_of(reads: &[Read], decision: &Decision) -> usize {
        const FIXED: usize = 16;
        let cell = |cell: &Cell| 8 + cell.row.as_bytes().len();
        let read = |read: &Read| match read {
            Read::Cell { cell: own, element } => cell(own) + 1 + element.size_bytes(),
            Read::Range { table: _, range } => 4 + range.size_bytes(),
            Read::Query(query) => query.size_bytes(),
        };
        let decision = match decision {
            Decision::Commit(writes) => {
                writes.iter().map(|write| cell(&write.cell) + write.operation.size_bytes() + 2).sum()
            }
            Decision::Abort(reason) => reason.len(),
        };
        FIXED + reads.iter().map(read).sum::<usize>() + decision
    }
}
