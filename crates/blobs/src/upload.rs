//! The client's side of an upload: all blobs of one mutation or change set, under one lease.
//!
//! Invariants: a seal is asked for when every chunk of the lease was answered as stored, and not before; at most a window of chunks is under way.
//! Contents are in memory only on their way. After a cut the gateway is asked which chunks it has, so a cut costs no more than answers.

use std::collections::{BTreeSet, VecDeque};

use iolite_values::{Blob, Cell, ChunkId, Cutting, LeaseName, Timestamp, set_of};
use iolite_wire::blobs::{
    BlobPut, BlobRefusal, BlobReply, BlobRequest, BlobSeal, BlobSealed, BlobTree, BlobUnsealed, LeasedChunks,
};

use crate::edit::tree_of;
use crate::limits::{HAVE_CHUNKS_MAX, WINDOW_BYTES_MAX};
use crate::node::NodeError;
use crate::pack::pack;
use crate::walk::Walk;

/// An input of an upload.
#[derive(Clone, Debug)]
pub enum UploadInput {
    /// The connection is open: the gateway has said `Welcome`.
    Linked,
    LinkLost,
    /// A message of the gateway. Messages about other things are ignored.
    Reply(BlobReply),
    /// The content of a chunk that was to be loaded. `None`: the device does not have it.
    Loaded(ChunkId, Option<Vec<u8>>),
    /// The upload waits, and is to try again.
    Again,
}

/// An output of an upload, which the host carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadOutput {
    Send(BlobRequest),
    /// Load this chunk from the device, and hand it over.
    Load(ChunkId),
    /// This lease is the upload's. Stored beside the call, it lets an upload [go on](Upload::resume) after a restart.
    Leased(LeaseName, Timestamp),
    /// All is there: the mutation may name these blobs, on a snapshot at or above `at`.
    Sealed {
        lease: LeaseName,
        at: Timestamp,
        blobs: Vec<Blob>,
    },
    /// The upload sends nothing, for this reason. Try [again](UploadInput::Again) later.
    Waits(BlobRefusal),
    Ended(UploadError),
}

/// Why an upload cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// Make the blob anew with [`finish_on_its_own`](crate::Edit::finish_on_its_own), and upload that.
    #[error("the row that blob {blob} was made from has other chunks now: send all of its content")]
    CellChanged { blob: usize },
    #[error("the device does not have chunk {0}: put the blob again")]
    NotHere(ChunkId),
    #[error("the device does not have what it has stored: {0}")]
    Damaged(NodeError),
    #[error("blob {blob} does not wait for a lease: it was sent before, or lies in its cell")]
    NothingToSend { blob: usize },
}

/// A blob that waits for its lease, and the cell whose blob it was made from.
#[derive(Clone, Debug)]
pub struct Part {
    pub blob: Blob,
    pub from: Option<Cell>,
}

/// An upload. Pure: it asks its host for chunks, and says what to send.
#[derive(Debug)]
pub struct Upload {
    parts: Vec<Part>,
    is_linked: bool,
    /// Something was refused: nothing is sent until it is to try again.
    waits: bool,
    is_over: bool,
    lease: Lease,
    /// Chunks of the parts that were not come to yet.
    walks: VecDeque<Walk>,
    /// The node that the first walk is in front of.
    node: Option<ChunkId>,
    /// Chunks that the gateway may have: it is asked.
    unsure: VecDeque<ChunkId>,
    asked: Vec<ChunkId>,
    /// Chunks that the gateway lacks.
    ahead: VecDeque<ChunkId>,
    loading: BTreeSet<ChunkId>,
    /// Chunks that were put, and not answered.
    flying: BTreeSet<ChunkId>,
    /// Chunks that the gateway has, the last ones that it said so of.
    stored: BTreeSet<ChunkId>,
    /// How many parts are sealed.
    sealed: usize,
    sealed_at: Timestamp,
    is_sealing: bool,
    outputs: VecDeque<UploadOutput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lease {
    Wanted,
    Asked,
    /// `is_new`: nobody has stored anything under it but this upload.
    Given {
        name: LeaseName,
        is_new: bool,
    },
}

/// Chunks that wait for their turn: as many as one question is about.
const AHEAD_KEPT: usize = HAVE_CHUNKS_MAX;
/// Stored chunks that are remembered, so that content which repeats itself is sent once.
const STORED_KEPT: usize = 4096;

impl Upload {
    pub fn new(parts: Vec<Part>) -> Upload {
        let mut upload = Upload {
            parts,
            is_linked: false,
            waits: false,
            is_over: false,
            lease: Lease::Wanted,
            walks: VecDeque::new(),
            node: None,
            unsure: VecDeque::new(),
            asked: Vec::new(),
            ahead: VecDeque::new(),
            loading: BTreeSet::new(),
            flying: BTreeSet::new(),
            stored: BTreeSet::new(),
            sealed: 0,
            sealed_at: Timestamp::ZERO,
            is_sealing: false,
            outputs: VecDeque::new(),
        };
        upload.walks = upload.parts.iter().map(|part| Walk::new(&part.blob)).collect();
        let waits = |part: &Part| tree_of(&part.blob).is_some_and(|tree| tree.waits_for_lease());
        if let Some(blob) = upload.parts.iter().position(|part| !waits(part)) {
            upload.end(UploadError::NothingToSend { blob });
        }
        upload
    }

    /// Goes on with a lease of an earlier run of the program, or with one that is kept ready.
    pub fn resume(parts: Vec<Part>, lease: LeaseName, at: Timestamp) -> Upload {
        let mut upload = Upload::new(parts);
        upload.lease = Lease::Given { name: lease, is_new: false };
        upload.sealed_at = at;
        upload
    }

    pub fn handle(&mut self, input: UploadInput) {
        if self.is_over {
            return self.drain(&input);
        }
        match input {
            UploadInput::Linked => self.is_linked = true,
            UploadInput::LinkLost => self.on_link_lost(),
            UploadInput::Reply(reply) => self.on_reply(reply),
            UploadInput::Loaded(id, content) => self.on_loaded(id, content),
            UploadInput::Again => self.waits = false,
        }
        self.go_on();
    }

    pub fn poll(&mut self) -> Option<UploadOutput> {
        self.outputs.pop_front()
    }

    /// Stops it. Requests that are under way are still answered.
    pub fn stop(&mut self) {
        self.is_over = true;
        self.outputs.clear();
    }

    /// Whether it has ended, and nothing of it is under way: the connection is free for the next one.
    pub fn is_done(&self) -> bool {
        self.is_over && self.flying.is_empty() && self.asked.is_empty() && !self.is_sealing
    }

    /// Answers to what was sent before it ended.
    fn drain(&mut self, input: &UploadInput) {
        match input {
            UploadInput::LinkLost => self.doubt(),
            UploadInput::Reply(BlobReply::Stored(stored)) => drop(self.flying.remove(&stored.chunk)),
            UploadInput::Reply(BlobReply::HaveReply(_)) => self.asked.clear(),
            UploadInput::Reply(BlobReply::Sealed(_) | BlobReply::Unsealed(_)) => self.is_sealing = false,
            UploadInput::Reply(BlobReply::Refused(_) | BlobReply::LeaseOver(_)) => self.doubt(),
            UploadInput::Reply(
                BlobReply::Welcome(_)
                | BlobReply::Leased(_)
                | BlobReply::Chunk(..)
                | BlobReply::Gone(_)
                | BlobReply::Unavailable(_)
                | BlobReply::Goodbye(_),
            )
            | UploadInput::Linked
            | UploadInput::Loaded(..)
            | UploadInput::Again => {}
        }
    }

    fn on_link_lost(&mut self) {
        self.is_linked = false;
        if self.lease == Lease::Asked {
            self.lease = Lease::Wanted;
        }
        self.doubt();
    }

    /// Takes it that nothing will be answered which was sent.
    fn doubt(&mut self) {
        self.is_sealing = false;
        self.unsure.extend(std::mem::take(&mut self.asked));
        self.unsure.extend(std::mem::take(&mut self.flying));
    }

    fn on_reply(&mut self, reply: BlobReply) {
        match reply {
            BlobReply::Leased(leased) if self.lease == Lease::Asked => {
                self.lease = Lease::Given { name: leased.lease, is_new: true };
                self.sealed_at = self.sealed_at.max(leased.at);
                self.outputs.push_back(UploadOutput::Leased(leased.lease, leased.at));
            }
            BlobReply::Refused(why) => self.on_refused(why),
            BlobReply::HaveReply(lacks) => self.on_have_reply(lacks),
            BlobReply::Stored(stored) if self.is_own(stored.lease) => {
                if self.flying.remove(&stored.chunk) {
                    self.remember(stored.chunk);
                }
            }
            BlobReply::Sealed(sealed) => self.on_sealed(sealed),
            BlobReply::Unsealed(unsealed) => self.on_unsealed(unsealed),
            BlobReply::LeaseOver(lease) if self.is_own(lease) => self.begin_anew(),
            BlobReply::Leased(_)
            | BlobReply::Stored(_)
            | BlobReply::LeaseOver(_)
            | BlobReply::Welcome(_)
            | BlobReply::Chunk(..)
            | BlobReply::Gone(_)
            | BlobReply::Unavailable(_)
            | BlobReply::Goodbye(_) => {}
        }
    }

    fn on_refused(&mut self, why: BlobRefusal) {
        if self.lease == Lease::Asked {
            self.lease = Lease::Wanted;
        }
        // A question is never refused: its answer is still to come.
        self.is_sealing = false;
        self.unsure.extend(std::mem::take(&mut self.flying));
        if !std::mem::replace(&mut self.waits, true) {
            self.outputs.push_back(UploadOutput::Waits(why));
        }
    }

    fn on_have_reply(&mut self, lacks: LeasedChunks) {
        if !self.is_own(lacks.lease) {
            return;
        }
        let lacks: BTreeSet<ChunkId> = set_of(lacks.chunks);
        for id in std::mem::take(&mut self.asked) {
            if lacks.contains(&id) {
                self.ahead.push_back(id);
            } else {
                self.remember(id);
            }
        }
    }

    fn on_sealed(&mut self, sealed: BlobSealed) {
        if self.is_sealing
            && self.seal().is_some_and(|seal| (seal.lease, seal.tree.id()) == (sealed.lease, sealed.tree))
        {
            self.is_sealing = false;
            self.sealed += 1;
            self.sealed_at = self.sealed_at.max(sealed.at);
        }
    }

    fn on_unsealed(&mut self, unsealed: BlobUnsealed) {
        let is_own = self.seal().is_some_and(|seal| (seal.lease, seal.tree.id()) == (unsealed.lease, unsealed.tree));
        if !self.is_sealing || !is_own {
            return;
        }
        self.is_sealing = false;
        if unsealed.lacks.is_empty() {
            return self.end(UploadError::CellChanged { blob: self.sealed });
        }
        for id in unsealed.lacks {
            self.stored.remove(&id);
            self.ahead.push_back(id);
        }
    }

    /// The lease is over: all is sent under another one.
    fn begin_anew(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let (is_linked, waits, outputs) = (self.is_linked, self.waits, std::mem::take(&mut self.outputs));
        *self = Upload { is_linked, waits, outputs, ..Upload::new(parts) };
    }

    fn on_loaded(&mut self, id: ChunkId, content: Option<Vec<u8>>) {
        let is_node = self.node == Some(id);
        let is_ahead = self.loading.remove(&id);
        let Some(content) = content else {
            if is_node || is_ahead {
                self.end(UploadError::NotHere(id));
            }
            return;
        };
        if is_node {
            self.node = None;
            if let Err(error) = self.walks.front_mut().expect("it met this node").enter(&content) {
                return self.end(UploadError::Damaged(error));
            }
        }
        match self.lease {
            Lease::Given { name, .. } if is_ahead && self.is_linked && !self.waits => {
                self.flying.insert(id);
                let put = BlobPut { lease: name, chunk: id, content: pack(&content) };
                self.outputs.push_back(UploadOutput::Send(BlobRequest::Put(put)));
            }
            Lease::Given { .. } | Lease::Wanted | Lease::Asked if is_ahead => self.ahead.push_front(id),
            Lease::Given { .. } | Lease::Wanted | Lease::Asked => {}
        }
    }

    fn go_on(&mut self) {
        if !self.is_linked || self.waits || self.is_over {
            return;
        }
        match self.lease {
            Lease::Wanted => {
                self.lease = Lease::Asked;
                self.send(BlobRequest::Lease);
            }
            Lease::Asked => {}
            Lease::Given { name, is_new } => {
                self.look_ahead(is_new);
                self.ask(name);
                self.fill_window();
                self.seal_next();
            }
        }
    }

    /// Goes on through the trees, as far as there is room for what is met.
    fn look_ahead(&mut self, is_new: bool) {
        while self.node.is_none() && self.ahead.len() + self.unsure.len() < AHEAD_KEPT {
            let Some(walk) = self.walks.front_mut() else { return };
            let Some(met) = walk.next() else {
                self.walks.pop_front();
                continue;
            };
            let at = self.parts.len() - self.walks.len();
            let tree = tree_of(&self.parts[at].blob).expect("it waits for a lease");
            if usize::from(met.name.lease) != tree.leases().len() {
                continue;
            }
            if met.is_node() {
                self.node = Some(met.name.id);
                self.outputs.push_back(UploadOutput::Load(met.name.id));
            }
            self.queue(met.name.id, is_new);
        }
    }

    fn queue(&mut self, id: ChunkId, is_new: bool) {
        let is_under_way = self.flying.contains(&id) || self.loading.contains(&id) || self.stored.contains(&id);
        if is_under_way || self.ahead.contains(&id) || self.unsure.contains(&id) || self.asked.contains(&id) {
            return;
        }
        if is_new {
            self.ahead.push_back(id);
        } else {
            self.unsure.push_back(id);
        }
    }

    fn ask(&mut self, lease: LeaseName) {
        // Whoever waits for a node can go no further: what is known so far is asked about.
        if self.unsure.is_empty() || !self.asked.is_empty() {
            return;
        }
        let count = self.unsure.len().min(HAVE_CHUNKS_MAX);
        self.asked = self.unsure.drain(..count).collect();
        self.send(BlobRequest::Have(LeasedChunks { lease, chunks: self.asked.clone() }));
    }

    fn fill_window(&mut self) {
        const CHUNKS: usize = WINDOW_BYTES_MAX / Cutting::CHUNK_BYTES_MAX;
        while self.loading.len() + self.flying.len() < CHUNKS {
            let Some(id) = self.ahead.pop_front() else { return };
            if !self.flying.contains(&id) && self.loading.insert(id) {
                self.outputs.push_back(UploadOutput::Load(id));
            }
        }
    }

    fn seal_next(&mut self) {
        let is_sent = self.walks.is_empty() && self.node.is_none() && self.ahead.is_empty() && self.unsure.is_empty();
        let is_answered = self.asked.is_empty() && self.loading.is_empty() && self.flying.is_empty();
        if !is_sent || !is_answered || self.is_sealing {
            return;
        }
        match self.seal() {
            Some(seal) => {
                self.is_sealing = true;
                self.send(BlobRequest::Seal(seal));
            }
            None => self.finish(),
        }
    }

    /// The seal of the first part that has none.
    fn seal(&self) -> Option<BlobSeal> {
        let Lease::Given { name: lease, .. } = self.lease else { return None };
        let part = self.parts.get(self.sealed)?;
        let tree = BlobTree::of(&leased(&part.blob, lease))?;
        Some(BlobSeal { lease, tree, from: part.from.clone() })
    }

    fn finish(&mut self) {
        let Lease::Given { name: lease, .. } = self.lease else { return };
        let blobs = self.parts.iter().map(|part| leased(&part.blob, lease)).collect();
        self.is_over = true;
        self.outputs.push_back(UploadOutput::Sealed { lease, at: self.sealed_at, blobs });
    }

    fn remember(&mut self, id: ChunkId) {
        if self.stored.len() == STORED_KEPT {
            self.stored.clear();
        }
        self.stored.insert(id);
    }

    fn is_own(&self, lease: LeaseName) -> bool {
        matches!(self.lease, Lease::Given { name, .. } if name == lease)
    }

    fn send(&mut self, request: BlobRequest) {
        self.outputs.push_back(UploadOutput::Send(request));
    }

    fn end(&mut self, error: UploadError) {
        self.is_over = true;
        self.outputs.push_back(UploadOutput::Ended(error));
    }
}

fn leased(blob: &Blob, lease: LeaseName) -> Blob {
    blob.leased(lease).expect("it waits for a lease, and a new lease is listed nowhere")
}
