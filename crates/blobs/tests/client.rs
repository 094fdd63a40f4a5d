//! A client's machines on one connection, against the gateway's session: bounds, cuts, and what is wrong at either end.

use std::collections::{BTreeMap, VecDeque};

use iolite_blobs::{
    Around, Builder, Client, ClientInput, ClientOutput, Done, Download, DownloadError, DownloadNumber, DownloadOutput,
    Effect, Leases, ObjectName, Part, RowCommit, Session, SessionInput, Ticket, Upload, UploadError, UploadNumber,
    UploadOutput, pack,
};
use iolite_machine::Now;
use iolite_values::{Blob, Cell, ChunkId, ClientId, ColumnId, Cutting, Id, RowKey, StoreIncarnation, TableId};
use iolite_values::{Timestamp, Value};
use iolite_wire::blobs::{BlobContent, BlobRefusal, BlobReply, BlobRequest};

const CHUNK: usize = Cutting::CHUNK_BYTES_MAX;

fn cell() -> Cell {
    let row = RowKey::new(&[Value::Int(1)]).expect("short");
    Cell { table: TableId(1), row, column: ColumnId(1) }
}

/// Both sides. Effects are carried out in order, or wait while `holds` is set.
struct Pair {
    client: Client,
    session: Session,
    device: BTreeMap<ChunkId, Vec<u8>>,
    objects: BTreeMap<ObjectName, Vec<u8>>,
    leases: Leases,
    clock: u64,
    cell: Option<Blob>,
    ended: Vec<ClientOutput>,
    puts: usize,
    /// Puts of this connection that the client has no answer to.
    unanswered: usize,
    gets: usize,
    held: VecDeque<Effect>,
    is_full: bool,
}

fn session() -> Session {
    Session::new(ClientId(Id::from_u128(1)), StoreIncarnation(Id::from_u128(5)), [9; 16])
}

impl Pair {
    fn new() -> Pair {
        let mut pair = Pair {
            client: Client::new(),
            session: session(),
            device: BTreeMap::new(),
            objects: BTreeMap::new(),
            leases: Leases::default(),
            clock: 0,
            cell: None,
            ended: Vec::new(),
            puts: 0,
            unanswered: 0,
            gets: 0,
            held: VecDeque::new(),
            is_full: false,
        };
        pair.connect();
        pair
    }

    fn connect(&mut self) {
        self.session = session();
        self.held.clear();
        self.unanswered = 0;
        self.client.handle(ClientInput::Connected { client: ClientId(Id::from_u128(1)), token: String::new() });
    }

    fn blob(&mut self, chunks: usize, seed: u8) -> Blob {
        let mut builder = Builder::new();
        for number in 0..chunks {
            let mut content = vec![seed; CHUNK];
            content[0] = number as u8;
            builder.push(&content).expect("short");
            self.device.extend(std::iter::from_fn(|| builder.pop()).map(|chunk| (chunk.id, chunk.content)));
        }
        let mut finished = builder.finish().expect("short");
        self.device.extend(std::iter::from_fn(|| finished.pop()).map(|chunk| (chunk.id, chunk.content)));
        finished.blob
    }

    fn upload(&mut self, number: u64, blob: Blob) {
        let upload = Upload::new(vec![Part { blob, from: None }]);
        self.client.handle(ClientInput::Upload(UploadNumber(number), Box::new(upload)));
    }

    fn download(&mut self, number: u16) {
        let blob = self.cell.clone().expect("it has a blob");
        let download = Download::new(DownloadNumber(number), cell(), &blob, 0..blob.length(), None);
        self.client.handle(ClientInput::Download(DownloadNumber(number), Box::new(download)));
    }

    /// All that goes on by itself, for so many turns.
    fn run(&mut self, turns: usize) {
        for _ in 0..turns {
            while let Some(output) = self.client.poll() {
                self.on_output(output);
            }
            while let Some(effect) = self.session.poll() {
                self.held.push_back(effect);
            }
            let Some(effect) = self.held.pop_front() else { return };
            self.perform(effect);
        }
    }

    fn on_output(&mut self, output: ClientOutput) {
        match output {
            ClientOutput::Send(BlobRequest::Hello(_)) => {}
            ClientOutput::Send(request) => {
                let is_put = matches!(request, BlobRequest::Put(_));
                self.puts += usize::from(is_put);
                self.unanswered += usize::from(is_put);
                let is_seal = matches!(request, BlobRequest::Seal(_));
                assert!(!is_seal || self.unanswered == 0, "a seal while chunks are under way");
                self.gets += usize::from(matches!(request, BlobRequest::Get(_)));
                self.tell(SessionInput::Request(request));
            }
            ClientOutput::Upload(number, UploadOutput::Load(id)) => {
                self.client.handle(ClientInput::Loaded(number, id, self.device.get(&id).cloned()));
            }
            ClientOutput::Download(number, DownloadOutput::Look(id)) => {
                self.client.handle(ClientInput::Looked(number, id, self.device.get(&id).cloned()));
            }
            ClientOutput::Download(_, DownloadOutput::Keep(chunk)) => {
                self.device.insert(chunk.id, chunk.content);
            }
            ClientOutput::Upload(_, UploadOutput::Leased(..)) => {}
            other @ (ClientOutput::Upload(..) | ClientOutput::Download(..) | ClientOutput::Goodbye(_)) => {
                self.ended.push(other);
            }
        }
    }

    fn tell(&mut self, input: SessionInput) {
        self.session.handle(
            Now::default(),
            input,
            Around { leases: &self.leases, is_full: self.is_full, is_ruled: false },
        );
    }

    fn perform(&mut self, effect: Effect) {
        let (ticket, done): (Ticket, Done) = match effect {
            Effect::Send(reply) => {
                let answers = matches!(reply, BlobReply::Stored(_) | BlobReply::LeaseOver(_));
                self.unanswered = self.unanswered.saturating_sub(usize::from(answers));
                return self.client.handle(ClientInput::Reply(reply));
            }
            Effect::End => return,
            Effect::Commit(ticket, commit) => {
                self.clock += 1;
                if let RowCommit::Grant { lease, row } = commit {
                    self.leases.set(lease, Some(row));
                }
                (ticket, Done::Committed(Timestamp::from_u64(self.clock)))
            }
            Effect::Store(ticket, object, content) => {
                self.objects.insert(object, content);
                (ticket, Done::Stored)
            }
            Effect::Load(ticket, object) => (ticket, Done::Loaded(self.objects.get(&object).cloned())),
            Effect::Look(ticket, object) => (ticket, Done::Looked(self.objects.contains_key(&object))),
            Effect::ReadCell(ticket, _) => {
                (ticket, Done::Cell(self.cell.clone().map(|blob| (blob, Timestamp::from_u64(1)))))
            }
        };
        self.tell(SessionInput::Done(ticket, done));
    }

    /// A blob that was uploaded, in the cell. The device forgets it.
    fn with_blob(chunks: usize) -> Pair {
        let mut pair = Pair::new();
        let blob = pair.blob(chunks, 1);
        pair.upload(1, blob);
        pair.run(10_000);
        let Some(ClientOutput::Upload(_, UploadOutput::Sealed { blobs, .. })) = pair.ended.pop() else {
            panic!("{:?}", pair.ended)
        };
        pair.cell = blobs.into_iter().next();
        pair.device.clear();
        pair
    }
}

#[test]
fn many_uploads_and_downloads_of_a_connection_keep_to_its_bounds_together() {
    let mut pair = Pair::with_blob(40);
    for number in 1..5 {
        pair.download(number);
        let blob = pair.blob(30, number as u8 + 1);
        pair.upload(number.into(), blob);
    }
    pair.run(100_000);
    let ends = |of: fn(&ClientOutput) -> bool| pair.ended.iter().filter(|output| of(output)).count();
    assert_eq!(ends(|output| matches!(output, ClientOutput::Upload(_, UploadOutput::Sealed { .. }))), 4);
    assert_eq!(ends(|output| matches!(output, ClientOutput::Download(_, DownloadOutput::Done))), 4);
    assert_eq!(pair.ended.len(), 8, "{:?}", pair.ended);
}

/// 90 chunks and a node. The gateway has stored some of what a cut leaves unanswered, and is asked.
#[test]
fn an_upload_with_cuts_sends_again_only_what_was_not_stored() {
    let mut pair = Pair::new();
    let blob = pair.blob(90, 1);
    pair.upload(1, blob);
    for _ in 0..5 {
        pair.run(70);
        pair.client.handle(ClientInput::Lost);
        pair.connect();
    }
    pair.run(10_000);
    assert!(matches!(pair.ended[..], [ClientOutput::Upload(_, UploadOutput::Sealed { .. })]), "{:?}", pair.ended);
    assert_eq!(pair.objects.len(), 91);
    assert!(pair.puts > 91 && pair.puts <= 91 + 5 * 16, "{} puts", pair.puts);
}

#[test]
fn a_download_with_cuts_fetches_no_chunk_that_is_kept() {
    let mut pair = Pair::with_blob(90);
    pair.download(1);
    for _ in 0..5 {
        pair.run(30);
        pair.client.handle(ClientInput::Lost);
        pair.connect();
    }
    pair.run(10_000);
    assert!(matches!(pair.ended[..], [ClientOutput::Download(_, DownloadOutput::Done)]), "{:?}", pair.ended);
    assert!(pair.gets > 91 && pair.gets <= 91 + 5 * 16, "{} gets", pair.gets);
    pair.download(2);
    let before = pair.gets;
    pair.run(10_000);
    assert_eq!(pair.gets, before, "all of it is on the device");
}

#[test]
fn an_upload_whose_device_lost_a_chunk_ends_and_the_next_one_goes_on() {
    let mut pair = Pair::new();
    let (broken, whole) = (pair.blob(40, 1), pair.blob(20, 2));
    let lost = *pair.device.iter().find(|(_, content)| content[1] == 1 && content[0] == 20).expect("a chunk").0;
    pair.device.remove(&lost);
    pair.upload(1, broken);
    pair.upload(2, whole);
    pair.run(10_000);
    let [ClientOutput::Upload(UploadNumber(1), first), ClientOutput::Upload(UploadNumber(2), second)] = &pair.ended[..]
    else {
        panic!("{:?}", pair.ended)
    };
    assert_eq!(*first, UploadOutput::Ended(UploadError::NotHere(lost)));
    assert!(matches!(second, UploadOutput::Sealed { .. }), "the connection was free for it: {second:?}");
}

#[test]
fn an_upload_that_is_stopped_leaves_the_connection_to_the_next_one() {
    let mut pair = Pair::new();
    let (first, second) = (pair.blob(40, 1), pair.blob(40, 2));
    pair.upload(1, first);
    pair.upload(2, second);
    pair.run(20);
    pair.client.handle(ClientInput::StopUpload(UploadNumber(1)));
    pair.run(10_000);
    assert!(matches!(&pair.ended[..], [ClientOutput::Upload(UploadNumber(2), UploadOutput::Sealed { .. })]));
}

#[test]
fn a_full_store_makes_an_upload_wait_and_downloads_go_on() {
    let mut pair = Pair::with_blob(20);
    pair.is_full = true;
    let blob = pair.blob(3, 9);
    pair.upload(2, blob);
    pair.download(1);
    pair.run(10_000);
    let waits = ClientOutput::Upload(UploadNumber(2), UploadOutput::Waits(BlobRefusal::StoreFull));
    assert_eq!(pair.ended, [waits, ClientOutput::Download(DownloadNumber(1), DownloadOutput::Done)]);
    pair.is_full = false;
    pair.client.handle(ClientInput::Again);
    pair.run(10_000);
    assert!(matches!(pair.ended.last(), Some(ClientOutput::Upload(_, UploadOutput::Sealed { .. }))));
}

#[test]
fn a_lease_that_is_over_makes_an_upload_begin_anew() {
    let mut pair = Pair::new();
    let blob = pair.blob(40, 1);
    pair.upload(1, blob);
    pair.run(60);
    let lease = pair.objects.keys().next().expect("some are stored").lease;
    pair.leases.set(lease, None);
    pair.leases.advance(Timestamp::from_u64(pair.clock));
    pair.run(10_000);
    let [ClientOutput::Upload(_, UploadOutput::Sealed { lease: other, .. })] = &pair.ended[..] else {
        panic!("{:?}", pair.ended)
    };
    assert_ne!(*other, lease);
    assert_eq!(pair.objects.keys().filter(|object| object.lease == *other).count(), 40);
}

#[test]
fn a_chunk_that_is_not_its_name_or_is_gone_ends_the_download() {
    for (content, end) in [(Some(b"another".to_vec()), None), (None, Some(DownloadError::Gone))] {
        let mut pair = Pair::with_blob(3);
        let object = *pair.objects.keys().next().expect("three are stored");
        pair.objects.remove(&object);
        pair.objects.extend(content.map(|content| (object, content)));
        pair.download(1);
        pair.run(10_000);
        let end = end.unwrap_or(DownloadError::Damaged(object.chunk));
        assert_eq!(pair.ended, [ClientOutput::Download(DownloadNumber(1), DownloadOutput::Ended(end))]);
        assert!(!pair.device.contains_key(&object.chunk));
    }
}

#[test]
fn a_node_that_is_damaged_on_the_device_is_fetched() {
    let mut pair = Pair::with_blob(70);
    let blob = pair.cell.clone().expect("it has one");
    let node = iolite_blobs::Walk::new(&blob).next().expect("a node").name.id;
    pair.device.insert(node, b"bits".to_vec());
    pair.download(1);
    pair.run(10_000);
    assert_eq!(pair.ended, [ClientOutput::Download(DownloadNumber(1), DownloadOutput::Done)]);
    assert_eq!(ChunkId::of(&pair.device[&node]), node);
}

#[test]
fn a_blob_that_was_sent_or_lies_in_its_cell_is_not_uploaded() {
    let pair = Pair::with_blob(2);
    for blob in [pair.cell.clone().expect("it has one"), Blob::inline([1]).expect("short")] {
        let mut upload = Upload::new(vec![Part { blob, from: None }]);
        assert_eq!(upload.poll(), Some(UploadOutput::Ended(UploadError::NothingToSend { blob: 0 })));
    }
}

#[test]
fn replies_that_nobody_asked_for_are_passed_over() {
    let mut pair = Pair::with_blob(3);
    pair.download(1);
    let content: BlobContent = pack(b"noise");
    for reply in [BlobReply::Chunk(77, content.clone()), BlobReply::Gone(0x2_0000), BlobReply::Unavailable(9)] {
        pair.client.handle(ClientInput::Reply(reply));
    }
    pair.run(10_000);
    assert_eq!(pair.ended, [ClientOutput::Download(DownloadNumber(1), DownloadOutput::Done)]);
}
