//! The client's side of a download: the chunks of a part of one blob that the device lacks.
//!
//! Invariants: what is kept is what its name says; a chunk that is kept is not asked for again, so a cut costs at most what was under way.
//! At most a window of chunks is asked for at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use iolite_values::{Blob, Cell, ChunkId, ChunkName, LeaseName};
use iolite_wire::blobs::{BlobContent, BlobGet, BlobReply, BlobRequest};

use crate::build::Chunk;
use crate::edit::tree_of;
use crate::limits::GETS_OPEN_MAX;
use crate::names::Need;
use crate::news::{News, Step};
use crate::node::NodeError;
use crate::pack::unpack;

/// An input of a download.
#[derive(Clone, Debug)]
pub enum DownloadInput {
    /// The connection is open: the gateway has said `Welcome`.
    Linked,
    LinkLost,
    /// A message of the gateway. Answers to others are ignored.
    Reply(BlobReply),
    /// The content of a chunk that was looked for. `None`: the device does not have it.
    Looked(ChunkId, Option<Vec<u8>>),
    /// The download waits, and is to try again.
    Again,
}

/// An output of a download, which the host carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadOutput {
    Send(BlobRequest),
    /// Look for this chunk on the device, and say what is there.
    Look(ChunkId),
    /// Keep this chunk on the device.
    Keep(Chunk),
    /// The store of chunks cannot be reached. Try [again](DownloadInput::Again) later.
    Waits,
    /// All that was wanted is on the device.
    Done,
    Ended(DownloadError),
}

/// Why a download cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    #[error("the row has another blob now: read it again")]
    Gone,
    /// Mark the row, and go on with others.
    #[error(
        "what the server has under chunk {0} is not that chunk: `iolite blobs check` tells which rows have such chunks"
    )]
    Damaged(ChunkId),
    #[error(transparent)]
    Node(NodeError),
}

/// The number of a download on its connection. The requests carry it, so that replies find their download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DownloadNumber(pub u16);

impl DownloadNumber {
    /// The download that has sent a request.
    pub fn of(request: u32) -> DownloadNumber {
        DownloadNumber((request >> 16) as u16)
    }
}

/// A download. Pure: it asks its host for what the device has, and says what to send.
#[derive(Debug)]
pub struct Download {
    number: DownloadNumber,
    next: u16,
    cell: Cell,
    leases: Vec<LeaseName>,
    news: News,
    is_linked: bool,
    waits: bool,
    is_over: bool,
    /// The node that all further steps wait for.
    node: Option<Waiting>,
    looking: BTreeMap<ChunkId, ChunkName>,
    /// Chunks that the device lacks.
    ahead: VecDeque<ChunkName>,
    flying: BTreeMap<u32, ChunkName>,
    /// Chunks of this download that were asked for or are here, so that content which repeats itself is fetched once.
    met: BTreeSet<ChunkId>,
    is_walked: bool,
    outputs: VecDeque<DownloadOutput>,
}

#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// A node of this blob.
    Own(ChunkId),
    /// A node of the blob before.
    Before(Need),
}

/// Chunks of one download that are remembered by name.
const MET_KEPT: usize = 4096;

impl Download {
    /// The chunks that these bytes of a cell's blob need, without those that the blob before has at the same places.
    pub fn new(number: DownloadNumber, cell: Cell, blob: &Blob, bytes: Range<u64>, before: Option<&Blob>) -> Download {
        let mut download = Download {
            number,
            next: 0,
            cell,
            leases: tree_of(blob).map_or(Vec::new(), |tree| tree.leases().to_vec()),
            news: News::of_range(blob, bytes, before),
            is_linked: false,
            waits: false,
            is_over: false,
            node: None,
            looking: BTreeMap::new(),
            ahead: VecDeque::new(),
            flying: BTreeMap::new(),
            met: BTreeSet::new(),
            is_walked: false,
            outputs: VecDeque::new(),
        };
        download.go_on();
        download
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    pub fn handle(&mut self, input: DownloadInput) {
        if self.is_over {
            return;
        }
        match input {
            DownloadInput::Linked => self.is_linked = true,
            DownloadInput::LinkLost => {
                self.is_linked = false;
                self.ahead_again();
            }
            DownloadInput::Reply(reply) => self.on_reply(reply),
            DownloadInput::Looked(id, content) => self.on_looked(id, content),
            DownloadInput::Again => self.waits = false,
        }
        self.go_on();
    }

    pub fn poll(&mut self) -> Option<DownloadOutput> {
        self.outputs.pop_front()
    }

    /// The chunks without an answer come first when there is a connection again.
    fn ahead_again(&mut self) {
        for (_, name) in std::mem::take(&mut self.flying).into_iter().rev() {
            self.ahead.push_front(name);
        }
    }

    fn on_reply(&mut self, reply: BlobReply) {
        match reply {
            BlobReply::Chunk(request, content) => self.on_chunk(request, content),
            BlobReply::Gone(request) if self.flying.contains_key(&request) => self.end(DownloadError::Gone),
            BlobReply::Unavailable(request) if self.flying.contains_key(&request) => {
                self.ahead_again();
                if !std::mem::replace(&mut self.waits, true) {
                    self.outputs.push_back(DownloadOutput::Waits);
                }
            }
            BlobReply::Gone(_)
            | BlobReply::Unavailable(_)
            | BlobReply::Welcome(_)
            | BlobReply::Leased(_)
            | BlobReply::Refused(_)
            | BlobReply::HaveReply(_)
            | BlobReply::Stored(_)
            | BlobReply::Sealed(_)
            | BlobReply::Unsealed(_)
            | BlobReply::LeaseOver(_)
            | BlobReply::Goodbye(_) => {}
        }
    }

    fn on_chunk(&mut self, request: u32, content: BlobContent) {
        let Some(name) = self.flying.remove(&request) else { return };
        let Some(content) = unpack(name.id, content) else {
            return self.end(DownloadError::Damaged(name.id));
        };
        self.on_node(name.id, &content);
        self.outputs.push_back(DownloadOutput::Keep(Chunk { id: name.id, content }));
    }

    fn on_looked(&mut self, id: ChunkId, content: Option<Vec<u8>>) {
        // A node that is damaged on the device is fetched; the hash of other content is for whoever reads it.
        let is_node = matches!(self.node, Some(Waiting::Own(node)) if node == id);
        let content = content.filter(|content| !is_node || ChunkId::of(content) == id);
        if let (Some(Waiting::Before(need)), None) = (self.node, &content)
            && need.name.id == id
        {
            self.node = None;
            return self.news.without();
        }
        match (self.looking.remove(&id), content) {
            (Some(name), None) => self.ahead.push_back(name),
            (Some(_) | None, Some(content)) => self.on_node(id, &content),
            (None, None) => {}
        }
    }

    /// The walk goes on, if it waits for this content.
    fn on_node(&mut self, id: ChunkId, content: &[u8]) {
        match self.node {
            Some(Waiting::Own(node)) if node == id => {
                self.node = None;
                if let Err(error) = self.news.enter(content) {
                    self.end(DownloadError::Node(error));
                }
            }
            Some(Waiting::Before(need)) if need.name.id == id => {
                self.node = None;
                if self.news.give(need, content).is_err() {
                    self.news.without();
                }
            }
            Some(Waiting::Own(_) | Waiting::Before(_)) | None => {}
        }
    }

    fn go_on(&mut self) {
        while !self.is_over && self.node.is_none() && self.looking.len() + self.ahead.len() < GETS_OPEN_MAX {
            match self.news.next() {
                None => {
                    self.is_walked = true;
                    break;
                }
                Some(step) => self.step(step),
            }
        }
        while self.is_linked && !self.waits && !self.is_over && self.flying.len() < GETS_OPEN_MAX {
            let Some(name) = self.ahead.pop_front() else { break };
            self.get(name);
        }
        let is_idle = self.looking.is_empty() && self.ahead.is_empty() && self.flying.is_empty();
        if self.is_walked && is_idle && self.node.is_none() && !std::mem::replace(&mut self.is_over, true) {
            self.outputs.push_back(DownloadOutput::Done);
        }
    }

    fn step(&mut self, step: Step) {
        let id = match step {
            Step::Needs(need) => {
                self.node = Some(Waiting::Before(need));
                need.name.id
            }
            Step::New(met) => {
                if met.is_node() {
                    self.node = Some(Waiting::Own(met.name.id));
                } else if self.met.contains(&met.name.id) {
                    return;
                }
                self.remember(met.name.id);
                self.looking.insert(met.name.id, met.name);
                met.name.id
            }
        };
        self.outputs.push_back(DownloadOutput::Look(id));
    }

    fn remember(&mut self, id: ChunkId) {
        if self.met.len() == MET_KEPT {
            self.met.clear();
        }
        self.met.insert(id);
    }

    fn get(&mut self, name: ChunkName) {
        let Some(lease) = self.leases.get(usize::from(name.lease)).copied() else {
            // A blob that waits for its lease is on this device and nowhere else.
            return self.end(DownloadError::Gone);
        };
        let request = u32::from(self.number.0) << 16 | u32::from(self.next);
        self.next = self.next.wrapping_add(1);
        self.flying.insert(request, name);
        let get = BlobGet { request, cell: self.cell.clone(), lease, chunk: name.id };
        self.outputs.push_back(DownloadOutput::Send(BlobRequest::Get(get)));
    }

    fn end(&mut self, error: DownloadError) {
        self.is_over = true;
        self.outputs.push_back(DownloadOutput::Ended(error));
    }
}
