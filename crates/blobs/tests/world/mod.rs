//! A small world: a client that uploads a blob and then an edit of it, another one that downloads, a gateway, the stores, a sweeper.

use std::collections::{BTreeMap, VecDeque};

use iolite_blobs::{
    Around, Builder, Done, Download, DownloadError, DownloadInput, DownloadNumber, DownloadOutput, Edit, EditError,
    Effect, Finished, Held, Leases, ObjectName, Part, RowCommit, Session, SessionInput, Ticket, Upload, UploadError,
    UploadInput, UploadOutput, Walk,
};
use iolite_machine::{Instant, Now, WallTime};
use iolite_values::{Blob, Cell, ChunkId, Chunks, ClientId, ColumnId, Id, LeaseName, RowKey, StoreIncarnation};
use iolite_values::{TableId, Timestamp, Value};
use iolite_wire::blobs::{BlobReply, BlobRequest, BlobSeal, BlobTree, TreeId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    No,
    PublishBeforeChunks,
    ReuseUnheld,
}

const CHUNK: usize = 64 << 10;

pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A connection: messages arrive in order, or not at all.
struct Link {
    session: Session,
    up: VecDeque<Vec<u8>>,
    down: VecDeque<Vec<u8>>,
    /// Effects of this connection that the host has not carried out. It may do so after the connection has ended.
    effects: VecDeque<Effect>,
}

enum Stage {
    First,
    Edited,
    Alone,
    Downloads,
    Done,
}

pub struct World {
    random: Random,
    broken: Broken,
    stage: Stage,
    wall: u64,
    clock: u64,
    link: Option<Link>,
    upload: Option<Upload>,
    /// The blobs of the upload.
    parts: Vec<Part>,
    lease: Option<LeaseName>,
    download: Option<Download>,
    device: BTreeMap<ChunkId, Vec<u8>>,
    other: BTreeMap<ChunkId, Vec<u8>>,
    objects: BTreeMap<ObjectName, Vec<u8>>,
    leases: Leases,
    live: Vec<LeaseName>,
    seals: BTreeMap<(LeaseName, TreeId), (Option<BlobTree>, Option<Held>)>,
    /// Trees that a seal was asked for.
    asked: BTreeMap<TreeId, BlobTree>,
    cell: Option<Blob>,
    cell_at: Timestamp,
    wanted: Vec<u8>,
}

fn store() -> StoreIncarnation {
    StoreIncarnation(Id::from_u128(5))
}

fn client() -> ClientId {
    ClientId(Id::from_u128(1))
}

fn cell() -> Cell {
    let row = RowKey::new(&[Value::Int(1)]).expect("short");
    Cell { table: TableId(1), row, column: ColumnId(1) }
}

impl World {
    pub fn new(seed: u64, broken: Broken) -> World {
        let mut world = World {
            random: Random(seed),
            broken,
            stage: Stage::First,
            wall: 1,
            clock: 1,
            link: None,
            upload: None,
            parts: Vec::new(),
            lease: None,
            download: None,
            device: BTreeMap::new(),
            other: BTreeMap::new(),
            objects: BTreeMap::new(),
            leases: Leases::default(),
            live: Vec::new(),
            seals: BTreeMap::new(),
            asked: BTreeMap::new(),
            cell: None,
            cell_at: Timestamp::ZERO,
            wanted: Vec::new(),
        };
        let chunks = [2, 3, 66][world.random.below(20).min(2).min(if seed.is_multiple_of(10) { 2 } else { 1 })];
        world.wanted = content(chunks * CHUNK + 100, seed);
        let mut builder = Builder::new();
        builder.push(&world.wanted.clone()).expect("short");
        while let Some(chunk) = builder.pop() {
            world.device.insert(chunk.id, chunk.content);
        }
        let blob = world.keep(builder.finish().expect("short"));
        world.begin_upload(vec![Part { blob, from: None }], None);
        world
    }

    pub fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    pub fn run(&mut self) -> Result<(), String> {
        for _ in 0..6000 {
            if self.is_done() {
                break;
            }
            self.step()?;
            self.check()?;
        }
        Ok(())
    }

    fn keep(&mut self, mut finished: Finished) -> Blob {
        while let Some(chunk) = finished.pop() {
            self.device.insert(chunk.id, chunk.content);
        }
        finished.blob
    }

    fn begin_upload(&mut self, parts: Vec<Part>, lease: Option<LeaseName>) {
        self.parts = parts.clone();
        let mut upload = match lease {
            Some(lease) => Upload::resume(parts, lease, Timestamp::ZERO),
            None => Upload::new(parts),
        };
        if self.link.is_some() {
            upload.handle(UploadInput::Linked);
        }
        self.upload = Some(upload);
    }

    fn now(&self) -> Now {
        Now { instant: Instant::from_nanos(self.wall * 1000), wall: WallTime::from_micros(self.wall) }
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(100) {
            0 => self.cut(),
            1 => self.sweep(),
            2 if self.random.one_in(3) => self.revoke(),
            3 if self.random.one_in(2) => self.change_cell(),
            4 if self.random.one_in(2) => self.restart(),
            5 => self.seal_early(),
            6..40 => self.deliver_up(),
            40..70 => self.deliver_down()?,
            _ => self.carry_out(),
        }
        self.poll()
    }

    /// The connection ends, with all that is under way on it; or there is one again.
    fn cut(&mut self) {
        let Some(link) = self.link.take() else { return };
        let late = link.effects.into_iter().collect::<Vec<_>>();
        for effect in late {
            if self.random.one_in(2) {
                self.perform(&effect);
            }
        }
        if let Some(upload) = &mut self.upload {
            upload.handle(UploadInput::LinkLost);
        }
        if let Some(download) = &mut self.download {
            download.handle(DownloadInput::LinkLost);
        }
    }

    fn connect(&mut self) {
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.random.next().to_be_bytes());
        let session = Session::new(client(), store(), seed);
        self.link = Some(Link { session, up: VecDeque::new(), down: VecDeque::new(), effects: VecDeque::new() });
    }

    /// The program of the client begins anew, and goes on with the lease that it has stored.
    fn restart(&mut self) {
        if self.upload.is_some() {
            self.begin_upload(self.parts.clone(), self.lease);
        }
    }

    /// A client that seals what it has not stored.
    fn seal_early(&mut self) {
        let (Some(lease), Some(link)) = (self.lease, &mut self.link) else { return };
        let Some(part) = self.parts.first() else { return };
        let Ok(blob) = part.blob.leased(lease) else { return };
        let tree = BlobTree::of(&blob).expect("it has chunks");
        self.asked.insert(tree.id(), tree.clone());
        let seal = BlobRequest::Seal(BlobSeal { lease, tree, from: part.from.clone() });
        link.up.push_back(seal.encode().expect("short"));
    }

    fn deliver_up(&mut self) {
        if self.link.is_none() {
            return self.connect();
        }
        let now = self.now();
        let Some(link) = &mut self.link else { return };
        if let Some(frame) = link.up.pop_front() {
            let request = BlobRequest::decode(&frame).expect("it was encoded");
            let around = Around { leases: &self.leases, is_full: false, is_ruled: false };
            link.session.handle(now, SessionInput::Request(request), around);
        }
    }

    fn deliver_down(&mut self) -> Result<(), String> {
        let Some(link) = &mut self.link else { return Ok(()) };
        let Some(frame) = link.down.pop_front() else { return Ok(()) };
        let reply = BlobReply::decode(&frame).expect("it was encoded");
        if let BlobReply::Goodbye(goodbye) = &reply {
            self.cut();
            let is_known = goodbye.message.contains("one seal") || goodbye.message.contains("one question");
            return if is_known { Ok(()) } else { Err(format!("goodbye: {}", goodbye.message)) };
        }
        let is_welcome = matches!(reply, BlobReply::Welcome(_));
        if let Some(upload) = &mut self.upload {
            upload.handle(if is_welcome { UploadInput::Linked } else { UploadInput::Reply(reply.clone()) });
        }
        if let Some(download) = &mut self.download {
            download.handle(if is_welcome { DownloadInput::Linked } else { DownloadInput::Reply(reply) });
        }
        Ok(())
    }

    /// The host carries out one effect, sometimes twice, in any order.
    fn carry_out(&mut self) {
        let Some(link) = &mut self.link else { return };
        if link.effects.is_empty() {
            return;
        }
        let at = self.random.below(link.effects.len());
        let effect = link.effects.remove(at).expect("it is there");
        let done = self.perform(&effect);
        if self.random.one_in(10) && matches!(effect, Effect::Store(..)) {
            self.perform(&effect);
        }
        let now = self.now();
        let around = Around { leases: &self.leases, is_full: false, is_ruled: false };
        if let (Some((ticket, done)), Some(link)) = (done, &mut self.link) {
            link.session.handle(now, SessionInput::Done(ticket, done), around);
        }
    }

    fn perform(&mut self, effect: &Effect) -> Option<(Ticket, Done)> {
        Some(match effect {
            Effect::Send(_) | Effect::End => return None,
            Effect::Commit(ticket, commit) => (*ticket, self.commit(commit)),
            Effect::Store(ticket, object, content) => {
                self.objects.insert(*object, content.clone());
                (*ticket, Done::Stored)
            }
            Effect::Load(ticket, object) => {
                let mut content = self.objects.get(object).cloned();
                if self.broken == Broken::PublishBeforeChunks {
                    content = content.or_else(|| self.device.get(&object.chunk).cloned());
                }
                (*ticket, Done::Loaded(content))
            }
            Effect::Look(ticket, object) => {
                let is_there = self.objects.contains_key(object) || self.broken == Broken::PublishBeforeChunks;
                (*ticket, Done::Looked(is_there))
            }
            Effect::ReadCell(ticket, _) => (*ticket, Done::Cell(self.cell.clone().map(|blob| (blob, self.tick())))),
        })
    }

    fn tick(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp::from_u64(self.clock)
    }

    fn commit(&mut self, commit: &RowCommit) -> Done {
        let at = self.tick();
        match commit {
            RowCommit::Grant { lease, row } | RowCommit::Renew { lease, row } => {
                self.leases.set(*lease, Some(*row));
                self.live.push(*lease);
            }
            RowCommit::Seal { lease, tree, holds, .. } => {
                let is_unheld = self.broken == Broken::ReuseUnheld;
                let moved = holds.as_ref().is_some_and(|held| self.cell_at > held.at);
                if self.leases.get(*lease).is_none() || (moved && !is_unheld) {
                    return Done::Conflict;
                }
                self.leases.seal(*lease, *tree, at);
                let holds = if is_unheld { None } else { holds.clone() };
                self.seals.insert((*lease, *tree), (self.asked.get(tree).cloned(), holds));
            }
        }
        self.leases.advance(at);
        Done::Committed(at)
    }

    /// A lease is over: its row goes, with its seals.
    fn spend(&mut self, lease: LeaseName) {
        let at = self.tick();
        self.leases.set(lease, None);
        self.leases.advance(at);
        self.live.retain(|live| *live != lease);
        for key in self.seals.keys().copied().filter(|(of, _)| *of == lease).collect::<Vec<_>>() {
            self.seals.remove(&key);
            self.leases.unseal(key.0, key.1);
        }
    }

    fn revoke(&mut self) {
        if let Some(lease) = self.live.first().copied() {
            self.spend(lease);
        }
    }

    /// Somebody empties the cell without looking, while the edit is on its way.
    fn change_cell(&mut self) {
        if matches!(self.stage, Stage::Edited) {
            self.cell = None;
            self.cell_at = self.tick();
        }
    }

    fn sweep(&mut self) {
        let mut named: Vec<ObjectName> = Vec::new();
        let held = self.seals.values().filter_map(|(_, held)| held.as_ref().map(|held| &held.blob));
        for blob in held.chain(&self.cell) {
            named.extend(self.named(blob));
        }
        let leases = &self.leases;
        self.objects.retain(|object, _| leases.get(object.lease).is_some() || named.contains(object));
    }

    /// All objects that a blob names. Nodes are read from the device, which has all that was ever made.
    fn named(&self, blob: &Blob) -> Vec<ObjectName> {
        let Chunks::Tree(tree) = blob.chunks() else { return Vec::new() };
        let mut walk = Walk::new(blob);
        let mut named = Vec::new();
        while let Some(met) = walk.next() {
            let lease = tree.leases()[usize::from(met.name.lease)];
            named.push(ObjectName { store: store(), lease, chunk: met.name.id });
            if met.is_node() {
                walk.enter(&self.device[&met.name.id]).expect("it was made here");
            }
        }
        named
    }

    fn check(&self) -> Result<(), String> {
        let sealed = self.seals.values().filter_map(|(tree, _)| tree.as_ref().map(BlobTree::to_blob));
        for blob in sealed.chain(self.cell.clone()) {
            if let Some(object) = self.named(&blob).into_iter().find(|object| !self.objects.contains_key(object)) {
                return Err(format!("{blob:?} names {object}, which is not there"));
            }
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), String> {
        while let Some(output) = self.upload.as_mut().and_then(Upload::poll) {
            self.on_upload(output)?;
        }
        while let Some(output) = self.download.as_mut().and_then(Download::poll) {
            self.on_download(output)?;
        }
        if let Some(link) = &mut self.link {
            while let Some(effect) = link.session.poll() {
                match effect {
                    Effect::Send(reply) => link.down.push_back(reply.encode().expect("it fits")),
                    Effect::End => {}
                    Effect::Commit(..)
                    | Effect::Store(..)
                    | Effect::Load(..)
                    | Effect::Look(..)
                    | Effect::ReadCell(..) => {
                        link.effects.push_back(effect);
                    }
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, request: &BlobRequest) {
        if let BlobRequest::Seal(seal) = request {
            self.asked.insert(seal.tree.id(), seal.tree.clone());
        }
        let link = self.link.as_mut().expect("machines send on a connection only");
        link.up.push_back(request.encode().expect("it fits"));
    }

    fn on_upload(&mut self, output: UploadOutput) -> Result<(), String> {
        match output {
            UploadOutput::Send(request) => self.send(&request),
            UploadOutput::Load(id) => {
                let content = self.device.get(&id).cloned();
                self.upload.as_mut().expect("it asks").handle(UploadInput::Loaded(id, content));
            }
            UploadOutput::Leased(lease, _) => self.lease = Some(lease),
            UploadOutput::Waits(_) => self.upload.as_mut().expect("it waits").handle(UploadInput::Again),
            UploadOutput::Sealed { lease, blobs, .. } => self.on_sealed(lease, blobs),
            UploadOutput::Ended(UploadError::CellChanged { .. }) => self.send_alone(),
            UploadOutput::Ended(error) => return Err(format!("{error}")),
        }
        Ok(())
    }

    /// The mutation is committed: it names the blob, and spends the lease. If that is over, all is sent again.
    fn on_sealed(&mut self, lease: LeaseName, mut blobs: Vec<Blob>) {
        let blob = blobs.pop().expect("one was sent");
        let tree = BlobTree::of(&blob).expect("it has chunks").id();
        if self.leases.get(lease).is_none() || self.leases.sealed(lease, tree).is_none() {
            self.lease = None;
            return self.begin_upload(self.parts.clone(), None);
        }
        self.cell = Some(blob);
        self.cell_at = self.tick();
        self.spend(lease);
        (self.lease, self.upload) = (None, None);
        match self.stage {
            Stage::First => self.edit(),
            Stage::Edited | Stage::Alone | Stage::Downloads | Stage::Done => self.fetch(),
        }
    }

    fn edit(&mut self) {
        self.stage = Stage::Edited;
        let blob = self.cell.clone().expect("it was just written");
        let at = self.random.below(self.wanted.len() - 10);
        self.wanted[at..at + 3].copy_from_slice(b"new");
        let mut edit = Edit::new(&blob);
        self.repeat(&mut edit, |edit| edit.write(at as u64, b"new"));
        let finished = self.repeat(&mut edit, Edit::finish);
        let blob = self.keep(finished);
        self.begin_upload(vec![Part { blob, from: Some(cell()) }], None);
    }

    fn send_alone(&mut self) {
        self.stage = Stage::Alone;
        let blob = self.parts.pop().expect("one was sent").blob;
        let mut edit = Edit::new(&blob);
        let finished = self.repeat(&mut edit, Edit::finish_on_its_own);
        let blob = self.keep(finished);
        self.begin_upload(vec![Part { blob, from: None }], self.lease);
    }

    fn repeat<T>(&mut self, edit: &mut Edit, mut call: impl FnMut(&mut Edit) -> Result<T, EditError>) -> T {
        loop {
            let result = call(edit);
            while let Some(chunk) = edit.pop() {
                self.device.insert(chunk.id, chunk.content);
            }
            match result {
                Ok(done) => return done,
                Err(EditError::Needs(ids)) => ids.iter().for_each(|id| edit.give(self.device[id].clone())),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn fetch(&mut self) {
        self.stage = Stage::Downloads;
        let blob = self.cell.clone().expect("it was just written");
        let mut download = Download::new(DownloadNumber(3), cell(), &blob, 0..blob.length(), None);
        if self.link.is_some() {
            download.handle(DownloadInput::Linked);
        }
        self.download = Some(download);
    }

    fn on_download(&mut self, output: DownloadOutput) -> Result<(), String> {
        match output {
            DownloadOutput::Send(request) => self.send(&request),
            DownloadOutput::Look(id) => {
                let content = self.other.get(&id).cloned();
                self.download.as_mut().expect("it looks").handle(DownloadInput::Looked(id, content));
            }
            DownloadOutput::Keep(chunk) => drop(self.other.insert(chunk.id, chunk.content)),
            DownloadOutput::Waits => self.download.as_mut().expect("it waits").handle(DownloadInput::Again),
            DownloadOutput::Done => self.compare()?,
            DownloadOutput::Ended(
                error @ (DownloadError::Gone | DownloadError::Damaged(_) | DownloadError::Node(_)),
            ) => {
                return Err(format!("the download ended: {error}"));
            }
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<(), String> {
        self.stage = Stage::Done;
        let blob = self.cell.clone().expect("nobody changes it any more");
        let mut walk = Walk::new(&blob);
        let mut bytes = Vec::new();
        while let Some(met) = walk.next() {
            let content = &self.other[&met.name.id];
            if met.is_node() {
                walk.enter(content).map_err(|error| error.to_string())?;
            } else {
                bytes.extend_from_slice(content);
            }
        }
        if bytes == self.wanted { Ok(()) } else { Err("other bytes came out than went in".into()) }
    }
}

/// Chunks that differ, of a content that packs well.
fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![seed as u8; length];
    for (number, chunk) in bytes.chunks_mut(CHUNK).enumerate().take(6) {
        chunk[0] = number as u8;
    }
    bytes
}
