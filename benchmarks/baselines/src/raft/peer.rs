//! What the nodes of a shard say to each other, and what their journals hold: openraft's types as messages.

use bytes::Bytes;
use iolite_baseline_client::FRAME_BYTES_MAX;
use iolite_host::{Codec, LinkEvent, LinkHandler, LinkNumber, LinkPeer};
use prost::{Message, Oneof};

/// A request or an answer; `id` is of the request.
#[derive(Clone, PartialEq, Message)]
pub struct PeerMessage {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(oneof = "Said", tags = "2, 3, 4, 5, 6")]
    pub said: Option<Said>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Said {
    #[prost(message, tag = "2")]
    Append(AppendMessage),
    #[prost(message, tag = "3")]
    Appended(AppendedMessage),
    #[prost(message, tag = "4")]
    Vote(AskVoteMessage),
    #[prost(message, tag = "5")]
    PreVote(AskVoteMessage),
    #[prost(message, tag = "6")]
    Voted(VotedMessage),
}

/// A record of the journal.
#[derive(Clone, PartialEq, Message)]
pub struct Record {
    #[prost(oneof = "Recorded", tags = "1, 2, 3")]
    pub recorded: Option<Recorded>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Recorded {
    #[prost(message, tag = "1")]
    Vote(VoteMessage),
    #[prost(message, tag = "2")]
    Entry(EntryMessage),
    /// Entries from this index on are no more.
    #[prost(uint64, tag = "3")]
    CutFrom(u64),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct VoteMessage {
    #[prost(uint64, tag = "1")]
    pub term: u64,
    #[prost(uint64, tag = "2")]
    pub node: u64,
    #[prost(bool, tag = "3")]
    pub committed: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct LogIdMessage {
    #[prost(uint64, tag = "1")]
    pub term: u64,
    #[prost(uint64, tag = "2")]
    pub node: u64,
    #[prost(uint64, tag = "3")]
    pub index: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct EntryMessage {
    #[prost(message, required, tag = "1")]
    pub id: LogIdMessage,
    /// Neither of these is the first entry of a leader.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub proposal: Option<Bytes>,
    #[prost(message, optional, tag = "3")]
    pub members: Option<MembersMessage>,
}

/// Who votes. Of one configuration: members never change.
#[derive(Clone, PartialEq, Message)]
pub struct MembersMessage {
    #[prost(uint64, repeated, tag = "1")]
    pub nodes: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AppendMessage {
    #[prost(message, required, tag = "1")]
    pub vote: VoteMessage,
    #[prost(message, optional, tag = "2")]
    pub previous: Option<LogIdMessage>,
    #[prost(message, repeated, tag = "3")]
    pub entries: Vec<EntryMessage>,
    #[prost(message, optional, tag = "4")]
    pub committed: Option<LogIdMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AppendedMessage {
    #[prost(oneof = "Appended", tags = "1, 2, 3, 4")]
    pub appended: Option<Appended>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Appended {
    #[prost(message, tag = "1")]
    All(()),
    #[prost(message, tag = "2")]
    Through(LogIdMessage),
    #[prost(message, tag = "3")]
    Conflict(()),
    #[prost(message, tag = "4")]
    HigherVote(VoteMessage),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct AskVoteMessage {
    #[prost(message, required, tag = "1")]
    pub vote: VoteMessage,
    #[prost(message, optional, tag = "2")]
    pub last: Option<LogIdMessage>,
    #[prost(bool, tag = "3")]
    pub transfer: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct VotedMessage {
    #[prost(message, required, tag = "1")]
    pub vote: VoteMessage,
    #[prost(bool, tag = "2")]
    pub granted: bool,
    #[prost(message, optional, tag = "3")]
    pub last: Option<LogIdMessage>,
}

/// What links of a node to its peers are made with.
#[derive(Clone, Copy, Debug)]
pub struct PeerHandler;

/// Something of a link.
#[derive(Debug)]
pub struct PeerEvent {
    pub link: LinkNumber,
    pub event: LinkEvent<PeerMessage>,
}

#[derive(Clone, Copy, Debug)]
pub struct PeerCodec;

impl Codec for PeerCodec {
    type Incoming = PeerMessage;
    type Outgoing = PeerMessage;

    fn decode(&mut self, frame: &[u8]) -> Result<PeerMessage, String> {
        PeerMessage::decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &PeerMessage) -> Result<Vec<u8>, String> {
        Ok(message.encode_to_vec())
    }
}

impl LinkHandler for PeerHandler {
    type Codec = PeerCodec;
    type Input = PeerEvent;

    fn codec(&self, _: &LinkPeer) -> PeerCodec {
        PeerCodec
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<PeerMessage>) -> Option<PeerEvent> {
        Some(PeerEvent { link, event })
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }
}
