//! The gateway's side of one connection to `/blobs`.
//!
//! Invariants: an object is stored only under a live lease of this client, whose row was committed before; a seal is committed only after a walk has
//! found all that the tree names; a chunk is sent only for a cell that the client may read and whose blob lists the lease.
//! Whatever a client sends, what is open for it is bounded, and who passes a bound is sent away.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_machine::{Now, WallTime};
use iolite_values::{Blob, Cell, ChunkId, ClientId, Cutting, Id, LeaseName, StoreIncarnation, Timestamp};
use iolite_wire::blobs::{
    BLOB_PROTOCOL_VERSION, BlobGet, BlobLeased, BlobRefusal, BlobReply, BlobRequest, BlobSeal, BlobSealed, BlobStored,
    BlobUnsealed, BlobWelcome, LeasedChunks,
};
use iolite_wire::message::{Goodbye, GoodbyeReason};
use sha2::{Digest as _, Sha256};

use crate::checked::CheckedPut;
use crate::edit::tree_of;
use crate::leases::{Held, Lease, Leases, ObjectName, RowCommit};
use crate::limits::{
    CELLS_KNOWN_MAX, GETS_OPEN_MAX, HAVE_CHUNKS_MAX, LEASE_FOR, LEASES_OF_CLIENT_MAX, SEALS_OF_LEASE_MAX,
    WINDOW_BYTES_MAX,
};
use crate::pack::pack;
use crate::sealing::{Next, Sealing};

/// Names one thing that a session has asked its host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// An input of a session.
#[derive(Clone, Debug)]
pub enum SessionInput {
    Request(BlobRequest),
    /// A chunk that the host has looked at. In a request, the session looks at it.
    Put(CheckedPut),
    /// The host has done so much of what it was asked for.
    Done(Ticket, Done),
}

/// How something ended that a session asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    Committed(Timestamp),
    /// Something that the commit rests on has changed.
    Conflict,
    /// The user has no room for it.
    NoRoom,
    /// The object is durable.
    Stored,
    /// An object's content; `None`: there is no such object.
    Loaded(Option<Vec<u8>>),
    /// Whether an object is there.
    Looked(bool),
    /// The blob of a cell and the position of the read; `None`: there is none, or this client may not read it.
    Cell(Option<(Blob, Timestamp)>),
    /// The store of rows or that of chunks cannot be reached.
    Unavailable,
}

/// An output of a session, which the host carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Send(BlobReply),
    Commit(Ticket, RowCommit),
    /// Store this object. Storing it again writes the same bytes.
    Store(Ticket, ObjectName, Vec<u8>),
    Load(Ticket, ObjectName),
    Look(Ticket, ObjectName),
    ReadCell(Ticket, Cell),
    /// Close the connection, after what was sent. Nothing follows.
    End,
}

/// The state of the gateway that a session looks at.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub leases: &'a Leases,
    /// The store of chunks has as many bytes as it may have.
    pub is_full: bool,
    /// Whether the client may lose its sight of a row at any time. Then each chunk is judged by its cell anew.
    pub is_ruled: bool,
}

/// A connection of a client that was let in.
#[derive(Debug)]
pub struct Session {
    client: ClientId,
    store: StoreIncarnation,
    seed: [u8; 16],
    drawn: u64,
    next: u64,
    /// Requests to the host without an answer.
    open: BTreeMap<Ticket, Open>,
    /// Leases that this session was given, and when: until the feed tells of them.
    given: BTreeMap<LeaseName, (Lease, Timestamp)>,
    renewing: BTreeSet<LeaseName>,
    have: Option<Have>,
    sealing: Option<Sealing>,
    /// Leases that a cell's blob lists.
    cells: BTreeMap<Cell, BTreeSet<LeaseName>>,
    is_over: bool,
    effects: VecDeque<Effect>,
}

#[derive(Clone, Debug)]
enum Open {
    Grant(LeaseName, Lease),
    Renew(LeaseName, Lease),
    Put(LeaseName, ChunkId),
    /// A chunk of the `Have` in hand.
    Have(ChunkId),
    SealFrom(BlobSeal),
    SealLook(ChunkId),
    SealLoad,
    SealCommit,
    GetCell(BlobGet),
    GetLoad(u32),
}

/// A question about chunks, and what was found.
#[derive(Clone, Debug)]
struct Have {
    asked: LeasedChunks,
    open: usize,
    lacks: BTreeSet<ChunkId>,
}

impl Session {
    /// A session of a client that the host has let in. `seed`: 16 random bytes of its own, of which names of leases are made.
    pub fn new(client: ClientId, store: StoreIncarnation, seed: [u8; 16]) -> Session {
        let mut session = Session {
            client,
            store,
            seed,
            drawn: 0,
            next: 0,
            open: BTreeMap::new(),
            given: BTreeMap::new(),
            renewing: BTreeSet::new(),
            have: None,
            sealing: None,
            cells: BTreeMap::new(),
            is_over: false,
            effects: VecDeque::new(),
        };
        session.send(BlobReply::Welcome(BlobWelcome { version: BLOB_PROTOCOL_VERSION, store }));
        session
    }

    pub fn handle(&mut self, now: Now, input: SessionInput, around: Around<'_>) {
        if self.is_over {
            return;
        }
        self.given.retain(|_, (_, at)| *at > around.leases.at());
        match input {
            SessionInput::Request(request) => self.on_request(now.wall, request, around),
            SessionInput::Put(put) => self.on_put(now.wall, Some(put), around),
            SessionInput::Done(ticket, done) => {
                if let Some(open) = self.open.remove(&ticket) {
                    self.on_done(now.wall, open, done, around);
                }
            }
        }
    }

    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn on_request(&mut self, now: WallTime, request: BlobRequest, around: Around<'_>) {
        match request {
            BlobRequest::Hello(_) => self.end(GoodbyeReason::Protocol, "a connection has one hello"),
            BlobRequest::Lease => self.on_lease(now, around),
            BlobRequest::Have(have) => self.on_have(now, have, around),
            BlobRequest::Put(put) => self.on_put(now, CheckedPut::check(put), around),
            BlobRequest::Seal(seal) => self.on_seal(now, seal, around),
            BlobRequest::Get(get) => self.on_get(get, around),
        }
    }

    fn on_done(&mut self, now: WallTime, open: Open, done: Done, around: Around<'_>) {
        match open {
            Open::Grant(lease, row) => self.granted(lease, row, &done),
            Open::Renew(lease, row) => self.renewed(lease, row, &done),
            Open::Put(lease, chunk) => self.put(lease, chunk, &done),
            Open::Have(chunk) => self.had(chunk, &done),
            Open::SealFrom(seal) => self.seal_from(seal, done),
            Open::SealLook(chunk) => self.seal_looked(chunk, &done),
            Open::SealLoad => self.seal_loaded(done),
            Open::SealCommit => self.seal_committed(now, &done, around),
            Open::GetCell(get) => self.got_cell(get, done),
            Open::GetLoad(request) => self.got(request, done),
        }
    }

    fn on_lease(&mut self, now: WallTime, around: Around<'_>) {
        let granting = self.count(|open| matches!(open, Open::Grant(..)));
        let leases = around.leases.of_client(self.client) + self.given.len() + granting;
        if around.is_full {
            return self.send(BlobReply::Refused(BlobRefusal::StoreFull));
        }
        if leases >= LEASES_OF_CLIENT_MAX {
            return self.send(BlobReply::Refused(BlobRefusal::TooManyLeases));
        }
        let (lease, row) = (self.draw(), Lease { client: self.client, until: after(now) });
        let ticket = self.ask(Open::Grant(lease, row));
        self.effects.push_back(Effect::Commit(ticket, RowCommit::Grant { lease, row }));
    }

    fn granted(&mut self, lease: LeaseName, row: Lease, done: &Done) {
        let Done::Committed(at) = *done else { return self.send(BlobReply::Refused(refusal(done))) };
        self.given.insert(lease, (row, at));
        self.send(BlobReply::Leased(BlobLeased { lease, at }));
    }

    fn on_have(&mut self, now: WallTime, asked: LeasedChunks, around: Around<'_>) {
        if self.have.is_some() || asked.chunks.len() > HAVE_CHUNKS_MAX {
            return self.end(GoodbyeReason::Limit, "one question is open at a time, about 256 chunks");
        }
        if self.live(now, asked.lease, around).is_none() {
            return self.send(BlobReply::LeaseOver(asked.lease));
        }
        self.have = Some(Have { asked: asked.clone(), open: asked.chunks.len(), lacks: BTreeSet::new() });
        for chunk in asked.chunks {
            let ticket = self.ask(Open::Have(chunk));
            self.effects.push_back(Effect::Look(ticket, self.object(asked.lease, chunk)));
        }
        self.answer_have();
    }

    /// A chunk that could not be looked for counts as lacking: it is put again.
    fn had(&mut self, chunk: ChunkId, done: &Done) {
        let Some(have) = &mut self.have else { return };
        have.open -= 1;
        if !matches!(done, Done::Looked(true)) {
            have.lacks.insert(chunk);
        }
        self.answer_have();
    }

    fn answer_have(&mut self) {
        if let Some(have) = self.have.take_if(|have| have.open == 0) {
            let chunks = have.asked.chunks.into_iter().filter(|chunk| have.lacks.contains(chunk)).collect();
            self.send(BlobReply::HaveReply(LeasedChunks { lease: have.asked.lease, chunks }));
        }
    }

    fn on_put(&mut self, now: WallTime, put: Option<CheckedPut>, around: Around<'_>) {
        if self.count(|open| matches!(open, Open::Put(..))) >= WINDOW_BYTES_MAX / Cutting::CHUNK_BYTES_MAX {
            return self.end(GoodbyeReason::Limit, "16 chunks are put at a time: wait until one is stored");
        }
        let Some(put) = put else {
            return self.end(GoodbyeReason::Protocol, "the content of a chunk has another id");
        };
        let Some(row) = self.live(now, put.lease, around) else {
            return self.send(BlobReply::LeaseOver(put.lease));
        };
        if around.is_full {
            return self.send(BlobReply::Refused(BlobRefusal::StoreFull));
        }
        self.renew(now, put.lease, row);
        let ticket = self.ask(Open::Put(put.lease, put.chunk));
        self.effects.push_back(Effect::Store(ticket, self.object(put.lease, put.chunk), put.content));
    }

    fn put(&mut self, lease: LeaseName, chunk: ChunkId, done: &Done) {
        let is_stored = matches!(done, Done::Stored);
        let stored = BlobReply::Stored(BlobStored { lease, chunk });
        self.send(if is_stored { stored } else { BlobReply::Refused(refusal(done)) });
    }

    /// A lease that is used is given again when half of its time is over.
    fn renew(&mut self, now: WallTime, lease: LeaseName, row: Lease) {
        let left = row.until.as_micros().saturating_sub(now.as_micros());
        if u128::from(left) * 2 > LEASE_FOR.as_micros() || !self.renewing.insert(lease) {
            return;
        }
        let row = Lease { until: after(now), ..row };
        let ticket = self.ask(Open::Renew(lease, row));
        self.effects.push_back(Effect::Commit(ticket, RowCommit::Renew { lease, row }));
    }

    fn renewed(&mut self, lease: LeaseName, row: Lease, done: &Done) {
        self.renewing.remove(&lease);
        if let (Done::Committed(at), Some(given)) = (done, self.given.get_mut(&lease)) {
            *given = (row, *at);
        }
    }

    fn on_seal(&mut self, now: WallTime, seal: BlobSeal, around: Around<'_>) {
        let is_open = self.sealing.is_some() || self.count(|open| matches!(open, Open::SealFrom(_))) > 0;
        if is_open {
            return self.end(GoodbyeReason::Limit, "one seal is open at a time");
        }
        if !Sealing::is_made_for(&seal.tree.tree, seal.lease) {
            return self.end(GoodbyeReason::Protocol, "a tree is sealed under the last lease that it lists");
        }
        if self.live(now, seal.lease, around).is_none() {
            return self.send(BlobReply::LeaseOver(seal.lease));
        }
        let (lease, tree) = (seal.lease, seal.tree.id());
        if let Some(at) = around.leases.sealed(lease, tree) {
            return self.send(BlobReply::Sealed(BlobSealed { lease, tree, at }));
        }
        if around.leases.seals_of(lease).count() >= SEALS_OF_LEASE_MAX {
            return self.end(GoodbyeReason::Limit, "a lease seals 2,000 trees: put fewer blobs in one call");
        }
        // A tree that shares nothing rests on no cell.
        match seal.from.clone().filter(|_| seal.tree.tree.leases().len() > 1) {
            Some(cell) => {
                let ticket = self.ask(Open::SealFrom(seal));
                self.effects.push_back(Effect::ReadCell(ticket, cell));
            }
            None => self.begin_sealing(&seal, None),
        }
    }

    fn seal_from(&mut self, seal: BlobSeal, done: Done) {
        let (lease, tree) = (seal.lease, seal.tree.id());
        let Done::Cell(read) = done else { return self.send(BlobReply::Refused(BlobRefusal::Unavailable)) };
        match (read, seal.from.clone()) {
            (Some((blob, at)), Some(cell)) => self.begin_sealing(&seal, Some(Held { cell, blob, at })),
            (None, _) | (_, None) => {
                self.send(BlobReply::Unsealed(BlobUnsealed { lease, tree, lacks: Vec::new() }));
            }
        }
    }

    fn begin_sealing(&mut self, seal: &BlobSeal, from: Option<Held>) {
        self.sealing = Some(Sealing::new(seal, from));
        self.go_on_sealing();
    }

    fn go_on_sealing(&mut self) {
        while let Some(sealing) = &mut self.sealing {
            match sealing.next() {
                Next::Wait => return,
                Next::Look(lease, chunk) => {
                    let ticket = self.ask(Open::SealLook(chunk));
                    self.effects.push_back(Effect::Look(ticket, self.object(lease, chunk)));
                }
                Next::Load(lease, chunk) => {
                    let ticket = self.ask(Open::SealLoad);
                    self.effects.push_back(Effect::Load(ticket, self.object(lease, chunk)));
                }
                Next::Whole => return self.walked(),
                Next::Unsealed(lacks) => return self.unsealed(lacks),
                Next::Malformed => {
                    return self.end(GoodbyeReason::Protocol, "a node does not list what its place asks for");
                }
            }
        }
    }

    /// The walk has ended. While the seal is committed nothing else is sealed.
    fn walked(&mut self) {
        let Some(sealing) = &self.sealing else { return };
        if let Some(lacks) = sealing.lacks() {
            return self.unsealed(lacks);
        }
        let (lease, tree, holds, chunks) = (sealing.lease, sealing.tree, sealing.from.clone(), sealing.chunks);
        let ticket = self.ask(Open::SealCommit);
        self.effects.push_back(Effect::Commit(ticket, RowCommit::Seal { lease, tree, holds, chunks }));
    }

    fn unsealed(&mut self, lacks: Vec<ChunkId>) {
        let Some(sealing) = self.sealing.take() else { return };
        self.send(BlobReply::Unsealed(BlobUnsealed { lease: sealing.lease, tree: sealing.tree, lacks }));
    }

    fn seal_looked(&mut self, chunk: ChunkId, done: &Done) {
        if let Some(sealing) = &mut self.sealing {
            sealing.looked(chunk, matches!(done, Done::Looked(true)));
            self.go_on_sealing();
        }
    }

    fn seal_loaded(&mut self, done: Done) {
        let Some(sealing) = &mut self.sealing else { return };
        if let Done::Loaded(content) = done {
            sealing.loaded(content);
            self.go_on_sealing();
        } else {
            self.stop_sealing();
        }
    }

    fn stop_sealing(&mut self) {
        self.sealing = None;
        self.open.retain(|_, open| !matches!(open, Open::SealLook(_) | Open::SealLoad | Open::SealCommit));
        self.send(BlobReply::Refused(BlobRefusal::Unavailable));
    }

    fn seal_committed(&mut self, now: WallTime, done: &Done, around: Around<'_>) {
        let Some(Sealing { lease, tree, .. }) = self.sealing.take() else { return };
        let is_live = self.live(now, lease, around).is_some();
        self.send(if let Done::Committed(at) = *done {
            BlobReply::Sealed(BlobSealed { lease, tree, at })
        } else if !matches!(done, Done::Conflict) {
            BlobReply::Refused(refusal(done))
        } else if is_live {
            BlobReply::Unsealed(BlobUnsealed { lease, tree, lacks: Vec::new() })
        } else {
            BlobReply::LeaseOver(lease)
        });
    }

    fn on_get(&mut self, get: BlobGet, around: Around<'_>) {
        if self.count(|open| matches!(open, Open::GetCell(_) | Open::GetLoad(_))) >= GETS_OPEN_MAX {
            return self.end(GoodbyeReason::Limit, "16 chunks are asked for at a time");
        }
        if !around.is_ruled && self.cells.get(&get.cell).is_some_and(|leases| leases.contains(&get.lease)) {
            return self.load(&get);
        }
        let cell = get.cell.clone();
        let ticket = self.ask(Open::GetCell(get));
        self.effects.push_back(Effect::ReadCell(ticket, cell));
    }

    fn got_cell(&mut self, get: BlobGet, done: Done) {
        let Done::Cell(read) = done else { return self.send(BlobReply::Unavailable(get.request)) };
        let leases = read.as_ref().and_then(|(blob, _)| tree_of(blob)).map_or(&[][..], |tree| tree.leases());
        if !leases.contains(&get.lease) {
            return self.send(BlobReply::Gone(get.request));
        }
        if self.cells.len() == CELLS_KNOWN_MAX {
            self.cells.clear();
        }
        self.cells.insert(get.cell.clone(), leases.iter().copied().collect());
        self.load(&get);
    }

    fn load(&mut self, get: &BlobGet) {
        let ticket = self.ask(Open::GetLoad(get.request));
        self.effects.push_back(Effect::Load(ticket, self.object(get.lease, get.chunk)));
    }

    /// A content that is another chunk's is sent as it is: the client sees that, and marks the row.
    fn got(&mut self, request: u32, done: Done) {
        let Done::Loaded(content) = done else { return self.send(BlobReply::Unavailable(request)) };
        self.send(content.map_or(BlobReply::Gone(request), |content| BlobReply::Chunk(request, pack(&content))));
    }

    /// The row of a lease of this client that is not over.
    fn live(&self, now: WallTime, lease: LeaseName, around: Around<'_>) -> Option<Lease> {
        let row = match self.given.get(&lease) {
            Some((row, _)) => Some(*row),
            None => around.leases.get(lease),
        };
        row.filter(|row| row.client == self.client && row.until > now)
    }

    fn count(&self, of: impl Fn(&Open) -> bool) -> usize {
        self.open.values().filter(|open| of(open)).count()
    }

    fn object(&self, lease: LeaseName, chunk: ChunkId) -> ObjectName {
        ObjectName { store: self.store, lease, chunk }
    }

    fn ask(&mut self, open: Open) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.open.insert(ticket, open);
        ticket
    }

    /// A name that nobody can guess, and that is not drawn again.
    fn draw(&mut self) -> LeaseName {
        self.drawn += 1;
        let hash = Sha256::new().chain_update(self.seed).chain_update(self.drawn.to_be_bytes()).finalize();
        let mut name = [0; 16];
        name.copy_from_slice(&hash[..16]);
        LeaseName(Id::from_bytes(name))
    }

    fn send(&mut self, reply: BlobReply) {
        self.effects.push_back(Effect::Send(reply));
    }

    fn end(&mut self, reason: GoodbyeReason, message: &str) {
        self.is_over = true;
        self.send(BlobReply::Goodbye(Goodbye { reason, message: message.into(), retry_after: None }));
        self.effects.push_back(Effect::End);
    }
}

/// Why something was not done.
fn refusal(done: &Done) -> BlobRefusal {
    match done {
        Done::NoRoom => BlobRefusal::UserFull,
        Done::Committed(_)
        | Done::Conflict
        | Done::Stored
        | Done::Loaded(_)
        | Done::Looked(_)
        | Done::Cell(_)
        | Done::Unavailable => BlobRefusal::Unavailable,
    }
}

fn after(now: WallTime) -> WallTime {
    WallTime::from_micros(now.as_micros().saturating_add(LEASE_FOR.as_micros() as u64))
}
