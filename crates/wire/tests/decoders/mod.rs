//! The decoders of this crate behind one face, so that golden and hostile bytes meet each of them.

#![allow(dead_code, reason = "each test binary uses its part")]

use iolite_wire::blobs::{BlobReply, BlobRequest};
use iolite_wire::centres::{FromCentre, OutboxEntry};
use iolite_wire::client_storage::{StoredEnd, StoredInterest, StoredLog, StoredMeta, StoredMutation, StoredRow};
use iolite_wire::journal::{CheckpointChunk, JournalRecord};
use iolite_wire::logs::{LogEntry, LogState};
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::node::{BetweenReplicas, FromReplica, NodesHello, ToReplica};
use iolite_wire::objects::{FromDevice, PeerMessage, ToDevice};
use iolite_wire::tabs::{FromTab, ToTab};
use iolite_wire::{DecodeError, EncodeError, SessionDecoder, SessionEncoder};

pub type Frames = Vec<Vec<u8>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    FromClient,
    FromGateway,
    Journal,
    Checkpoint,
    Mutation,
    Row,
    Interest,
    Meta,
    End,
    Log,
    LogEntry,
    LogState,
    FromTab,
    ToTab,
    ToReplica,
    FromReplica,
    BetweenReplicas,
    NodesHello,
    BlobRequest,
    BlobReply,
    FromCentre,
    OutboxEntry,
    FromDevice,
    ToDevice,
    Peer,
}

/// The messages of one session's direction, or records of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    FromClient(Vec<FromClient>),
    FromGateway(Vec<FromGateway>),
    Journal(Vec<JournalRecord>),
    Checkpoint(Vec<CheckpointChunk>),
    Mutation(Vec<StoredMutation>),
    Row(Vec<StoredRow>),
    Interest(Vec<StoredInterest>),
    Meta(Vec<StoredMeta>),
    End(Vec<StoredEnd>),
    Log(Vec<StoredLog>),
    LogEntry(Vec<LogEntry>),
    LogState(Vec<LogState>),
    FromTab(Vec<FromTab>),
    ToTab(Vec<ToTab>),
    ToReplica(Vec<ToReplica>),
    FromReplica(Vec<FromReplica>),
    BetweenReplicas(Vec<BetweenReplicas>),
    NodesHello(Vec<NodesHello>),
    BlobRequest(Vec<BlobRequest>),
    BlobReply(Vec<BlobReply>),
    FromCentre(Vec<FromCentre>),
    OutboxEntry(Vec<OutboxEntry>),
    FromDevice(Vec<FromDevice>),
    ToDevice(Vec<ToDevice>),
    Peer(Vec<PeerMessage>),
}

impl Decoder {
    pub const ALL: [Decoder; 25] = [
        Decoder::FromClient,
        Decoder::FromGateway,
        Decoder::Journal,
        Decoder::Checkpoint,
        Decoder::Mutation,
        Decoder::Row,
        Decoder::Interest,
        Decoder::Meta,
        Decoder::End,
        Decoder::Log,
        Decoder::LogEntry,
        Decoder::LogState,
        Decoder::FromTab,
        Decoder::ToTab,
        Decoder::ToReplica,
        Decoder::FromReplica,
        Decoder::BetweenReplicas,
        Decoder::NodesHello,
        Decoder::BlobRequest,
        Decoder::BlobReply,
        Decoder::FromCentre,
        Decoder::OutboxEntry,
        Decoder::FromDevice,
        Decoder::ToDevice,
        Decoder::Peer,
    ];

    pub fn decode(self, frames: &[Vec<u8>]) -> Result<Content, DecodeError> {
        fn each<T>(frames: &[Vec<u8>], decode: fn(&[u8]) -> Result<T, DecodeError>) -> Result<Vec<T>, DecodeError> {
            frames.iter().map(|frame| decode(frame)).collect()
        }
        Ok(match self {
            Decoder::FromClient => {
                let mut decoder = SessionDecoder::new();
                Content::FromClient(frames.iter().map(|frame| decoder.decode(frame)).collect::<Result<_, _>>()?)
            }
            Decoder::FromGateway => {
                let mut decoder = SessionDecoder::new();
                Content::FromGateway(frames.iter().map(|frame| decoder.decode(frame)).collect::<Result<_, _>>()?)
            }
            Decoder::Journal => Content::Journal(each(frames, JournalRecord::decode)?),
            Decoder::Checkpoint => Content::Checkpoint(each(frames, CheckpointChunk::decode)?),
            Decoder::Mutation => Content::Mutation(each(frames, StoredMutation::decode)?),
            Decoder::Row => Content::Row(each(frames, StoredRow::decode)?),
            Decoder::Interest => Content::Interest(each(frames, StoredInterest::decode)?),
            Decoder::Meta => Content::Meta(each(frames, StoredMeta::decode)?),
            Decoder::End => Content::End(each(frames, StoredEnd::decode)?),
            Decoder::Log => Content::Log(each(frames, StoredLog::decode)?),
            Decoder::LogEntry => Content::LogEntry(each(frames, LogEntry::decode)?),
            Decoder::LogState => Content::LogState(each(frames, LogState::decode)?),
            Decoder::FromTab => Content::FromTab(each(frames, FromTab::decode)?),
            Decoder::ToTab => Content::ToTab(each(frames, ToTab::decode)?),
            Decoder::ToReplica => Content::ToReplica(each(frames, ToReplica::decode)?),
            Decoder::FromReplica => Content::FromReplica(each(frames, FromReplica::decode)?),
            Decoder::BetweenReplicas => Content::BetweenReplicas(each(frames, BetweenReplicas::decode)?),
            Decoder::NodesHello => Content::NodesHello(each(frames, NodesHello::decode)?),
            Decoder::BlobRequest => Content::BlobRequest(each(frames, BlobRequest::decode)?),
            Decoder::BlobReply => Content::BlobReply(each(frames, BlobReply::decode)?),
            Decoder::FromCentre => Content::FromCentre(each(frames, FromCentre::decode)?),
            Decoder::OutboxEntry => Content::OutboxEntry(each(frames, OutboxEntry::decode)?),
            Decoder::FromDevice => Content::FromDevice(each(frames, FromDevice::decode)?),
            Decoder::ToDevice => Content::ToDevice(each(frames, ToDevice::decode)?),
            Decoder::Peer => Content::Peer(each(frames, PeerMessage::decode)?),
        })
    }
}

impl Content {
    pub fn decoder(&self) -> Decoder {
        match self {
            Content::FromClient(_) => Decoder::FromClient,
            Content::FromGateway(_) => Decoder::FromGateway,
            Content::Journal(_) => Decoder::Journal,
            Content::Checkpoint(_) => Decoder::Checkpoint,
            Content::Mutation(_) => Decoder::Mutation,
            Content::Row(_) => Decoder::Row,
            Content::Interest(_) => Decoder::Interest,
            Content::Meta(_) => Decoder::Meta,
            Content::End(_) => Decoder::End,
            Content::Log(_) => Decoder::Log,
            Content::LogEntry(_) => Decoder::LogEntry,
            Content::LogState(_) => Decoder::LogState,
            Content::FromTab(_) => Decoder::FromTab,
            Content::ToTab(_) => Decoder::ToTab,
            Content::ToReplica(_) => Decoder::ToReplica,
            Content::FromReplica(_) => Decoder::FromReplica,
            Content::BetweenReplicas(_) => Decoder::BetweenReplicas,
            Content::NodesHello(_) => Decoder::NodesHello,
            Content::BlobRequest(_) => Decoder::BlobRequest,
            Content::BlobReply(_) => Decoder::BlobReply,
            Content::FromCentre(_) => Decoder::FromCentre,
            Content::OutboxEntry(_) => Decoder::OutboxEntry,
            Content::FromDevice(_) => Decoder::FromDevice,
            Content::ToDevice(_) => Decoder::ToDevice,
            Content::Peer(_) => Decoder::Peer,
        }
    }

    pub fn encode(&self) -> Result<Frames, EncodeError> {
        match self {
            Content::FromClient(messages) => {
                let mut encoder = SessionEncoder::new();
                messages.iter().map(|message| encoder.encode(message)).collect()
            }
            Content::FromGateway(messages) => {
                let mut encoder = SessionEncoder::new();
                messages.iter().map(|message| encoder.encode(message)).collect()
            }
            Content::Journal(records) => records.iter().map(JournalRecord::encode).collect(),
            Content::Checkpoint(chunks) => chunks.iter().map(CheckpointChunk::encode).collect(),
            Content::Mutation(mutations) => mutations.iter().map(StoredMutation::encode).collect(),
            Content::Row(rows) => rows.iter().map(StoredRow::encode).collect(),
            Content::Interest(interests) => interests.iter().map(StoredInterest::encode).collect(),
            Content::Meta(metas) => metas.iter().map(StoredMeta::encode).collect(),
            Content::End(ends) => ends.iter().map(StoredEnd::encode).collect(),
            Content::Log(logs) => logs.iter().map(StoredLog::encode).collect(),
            Content::LogEntry(entries) => entries.iter().map(LogEntry::encode).collect(),
            Content::LogState(states) => states.iter().map(LogState::encode).collect(),
            Content::FromTab(messages) => messages.iter().map(FromTab::encode).collect(),
            Content::ToTab(messages) => messages.iter().map(ToTab::encode).collect(),
            Content::ToReplica(messages) => messages.iter().map(ToReplica::encode).collect(),
            Content::FromReplica(messages) => messages.iter().map(FromReplica::encode).collect(),
            Content::BetweenReplicas(messages) => messages.iter().map(BetweenReplicas::encode).collect(),
            Content::NodesHello(hellos) => hellos.iter().map(|hello| hello.encode()).collect(),
            Content::BlobRequest(requests) => requests.iter().map(BlobRequest::encode).collect(),
            Content::BlobReply(replies) => replies.iter().map(BlobReply::encode).collect(),
            Content::FromCentre(messages) => messages.iter().map(FromCentre::encode).collect(),
            Content::OutboxEntry(entries) => entries.iter().map(OutboxEntry::encode).collect(),
            Content::FromDevice(messages) => messages.iter().map(FromDevice::encode).collect(),
            Content::ToDevice(messages) => messages.iter().map(ToDevice::encode).collect(),
            Content::Peer(messages) => messages.iter().map(PeerMessage::encode).collect(),
        }
    }
}
