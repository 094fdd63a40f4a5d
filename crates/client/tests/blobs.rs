//! Mutations that name large blobs: sent when the chunks are on the server, and not before.

mod harness;

use std::collections::BTreeMap;

use harness::{Harness, at};
use iolite_blobs::{Around, Builder, Done, Edit, Effect, Lease, Leases, ObjectName, RowCommit, Session, SessionInput};
use iolite_client::{BlobInput, BlobOutput, Gateway, Input, MutationStatus, Output};
use iolite_machine::{Instant, Now, WallTime};
use iolite_values::{
    Blob, Cell, CellState, ChunkId, Chunks, ColumnId, Decision, Id, LeaseName, Operation, Row, RowKey,
    StoreIncarnation, TableId, Value, Write,
};
use iolite_wire::blobs::{BlobReply, BlobRequest};
use iolite_wire::message::{Advance, GoodbyeReason, Submit, Verdict};

const SCHEMA: &str = r#"{"tables":{"photos":{"live":true,"columns":{"id":{"type":"int"},"photo":{"type":"blob","optional":true},"name":{"type":"string","optional":true}},"key":["id"]},"notes":{"columns":{"id":{"type":"int"},"recording":{"type":"blob"}},"key":["id"],"consistency":"causal","onConflict":"manual"}}}"#;

/// A client, its device, and a gateway with its store of chunks. Everything that it is told of commits and positions is said by the test.
struct Album {
    harness: Harness,
    device: BTreeMap<ChunkId, Vec<u8>>,
    session: Option<Session>,
    leases: Leases,
    objects: BTreeMap<ObjectName, Vec<u8>>,
    /// Requests since they were last taken.
    said: Vec<BlobRequest>,
    clock: u64,
    is_full: bool,
    asked_for: usize,
    fetched: Vec<Result<(), String>>,
}

impl Album {
    fn new() -> Album {
        Album {
            harness: Harness::with_schema(SCHEMA),
            device: BTreeMap::new(),
            session: None,
            leases: Leases::default(),
            objects: BTreeMap::new(),
            said: Vec::new(),
            clock: 100,
            is_full: false,
            asked_for: 0,
            fetched: Vec::new(),
        }
    }

    /// Puts a content onto the device. It is what the mutation "add" names from now on.
    fn put(&mut self, content: &[u8]) -> Blob {
        let mut builder = Builder::new();
        builder.push(content).expect("not too long");
        let mut finished = builder.finish().expect("a blob");
        while let Some(chunk) = finished.pop() {
            self.device.insert(chunk.id, chunk.content);
        }
        let blob = finished.blob.clone();
        self.harness.mutator("add", move |tx| Ok(tx.write(photo(1), Operation::Put(blob.clone().into()))?));
        finished.blob
    }

    fn bound(&self) -> Now {
        Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_000) }
    }

    /// Carries out everything about blobs until nothing is left.
    fn settle(&mut self) {
        loop {
            let outputs: Vec<Output> =
                self.harness.other.extract_if(.., |own| matches!(own, Output::Blobs(_))).collect();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                let Output::Blobs(output) = output else { unreachable!("only these were taken") };
                self.carry_out(output);
            }
        }
    }

    fn carry_out(&mut self, output: BlobOutput) {
        match output {
            BlobOutput::Connect(gateway) => {
                assert_eq!(gateway, Gateway(0));
                self.asked_for += 1;
                self.tell(BlobInput::Linked);
            }
            BlobOutput::Disconnect => self.session = None,
            BlobOutput::Send(frame) => {
                let request = BlobRequest::decode(&frame).expect("its own frame");
                self.said.push(request.clone());
                self.serve(request);
            }
            BlobOutput::Load { upload, chunk } => {
                let content = self.device.get(&chunk).cloned();
                self.tell(BlobInput::Loaded { upload, chunk, content });
            }
            BlobOutput::Look { download, chunk } => {
                let content = self.device.get(&chunk).cloned();
                self.tell(BlobInput::Looked { download, chunk, content });
            }
            BlobOutput::Keep { chunk, content } => drop(self.device.insert(chunk, content)),
            BlobOutput::Fetched { result, .. } => self.fetched.push(result),
        }
    }

    fn tell(&mut self, input: BlobInput) {
        self.harness.input(Input::Blobs(input));
    }

    fn serve(&mut self, request: BlobRequest) {
        let now = self.bound();
        if let BlobRequest::Hello(hello) = &request {
            self.session = Some(Session::new(hello.client, StoreIncarnation(Id::from_u128(1)), [7; 16]));
        } else if let Some(session) = &mut self.session {
            let around = Around { leases: &self.leases, is_full: self.is_full, is_ruled: false };
            session.handle(now, SessionInput::Request(request), around);
        }
        while let Some(effect) = self.session.as_mut().and_then(Session::poll) {
            let (ticket, done) = match effect {
                Effect::Send(reply) => {
                    let frame = reply.encode().expect("it fits");
                    self.tell(BlobInput::Frame(frame));
                    continue;
                }
                Effect::Commit(ticket, commit) => (ticket, self.commit(commit)),
                Effect::Store(ticket, object, content) => {
                    self.objects.insert(object, content);
                    (ticket, Done::Stored)
                }
                Effect::Load(ticket, object) => (ticket, Done::Loaded(self.objects.get(&object).cloned())),
                Effect::Look(ticket, object) => (ticket, Done::Looked(self.objects.contains_key(&object))),
                Effect::ReadCell(ticket, _) => (ticket, Done::Cell(None)),
                Effect::End => return self.session = None,
            };
            if let Some(session) = &mut self.session {
                let around = Around { leases: &self.leases, is_full: self.is_full, is_ruled: false };
                session.handle(now, SessionInput::Done(ticket, done), around);
            }
        }
    }

    fn commit(&mut self, commit: RowCommit) -> Done {
        self.clock += 1;
        let when = at(self.clock);
        match commit {
            RowCommit::Grant { lease, row } | RowCommit::Renew { lease, row } => self.leases.set(lease, Some(row)),
            RowCommit::Seal { lease, tree, .. } => self.leases.seal(lease, tree, when),
        }
        self.leases.advance(when);
        Done::Committed(when)
    }

    /// The leases of the client are over.
    fn revoke(&mut self) {
        let row: Option<Lease> = None;
        let leases: Vec<LeaseName> = self.objects.keys().map(|object| object.lease).collect();
        leases.into_iter().for_each(|lease| self.leases.set(lease, row));
    }

    fn advance(&mut self, to: u64) {
        self.harness.advance(Advance { to: at(to), ..Advance::default() });
        self.settle();
    }

    fn submits(&mut self) -> Vec<Submit> {
        self.harness.take_submits()
    }

    /// How often a chunk was put since this was last asked.
    fn puts(&mut self) -> usize {
        std::mem::take(&mut self.said).iter().filter(|request| matches!(request, BlobRequest::Put(_))).count()
    }
}

fn photos() -> TableId {
    TableId::of("photos")
}

fn key(id: i64) -> RowKey {
    RowKey::new(&[Value::Int(id)]).expect("a key")
}

fn photo(id: i64) -> Cell {
    Cell { table: photos(), row: key(id), column: ColumnId::of("photo") }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place / 251) as u8).collect()
}

/// The leases of the one blob that a submission names.
fn leases_of(submit: &Submit) -> Vec<LeaseName> {
    let Decision::Commit(writes) = &submit.decision else { panic!("{submit:?}") };
    let blob = writes.iter().find_map(|write| match &write.operation {
        Operation::Put(Value::Blob(blob)) => Some(blob),
        _ => None,
    });
    let Chunks::Tree(tree) = blob.expect("it names one").chunks() else { panic!("a tree") };
    assert!(!tree.waits_for_lease(), "what is sent names its lease");
    tree.leases().to_vec()
}

#[test]
fn a_mutation_with_a_large_blob_is_sent_when_its_chunks_are_sealed_and_the_state_is_as_far() {
    let mut album = Album::new();
    album.harness.connect();
    album.advance(50);
    album.put(&content(200_000));
    album.harness.mutate("add");
    assert_eq!(album.submits(), []);
    album.settle();
    assert_eq!((album.puts(), album.objects.len()), (4, 4));
    assert_eq!(album.submits(), [], "the seal is above what the client has seen");
    album.advance(102);
    let submits = album.submits();
    assert_eq!((submits.len(), submits[0].snapshot), (1, at(102)));
    let lease = album.objects.keys().next().expect("it was stored").lease;
    assert_eq!(leases_of(&submits[0]), [lease]);
    album.harness.decide(submits[0].counter, 1, 120, Vec::new(), Verdict::Committed(at(120)));
    album.settle();
    assert!(matches!(album.harness.statuses.last(), Some((_, MutationStatus::Confirmed { .. }))));
}

#[test]
fn after_a_conflict_the_seal_is_asked_for_again_and_nothing_is_put_twice() {
    let mut album = Album::new();
    album.harness.connect();
    album.put(&content(100_000));
    let counter = album.harness.mutate("add");
    album.settle();
    album.advance(200);
    assert_eq!((album.puts(), album.submits().len()), (2, 1));
    album.harness.decide(counter, 1, 210, Vec::new(), Verdict::Conflict(at(205)));
    album.harness.pass(std::time::Duration::from_secs(1));
    album.settle();
    let sealed = album.said.iter().any(|request| matches!(request, BlobRequest::Seal(_)));
    assert!(sealed, "{:?}", album.said);
    assert_eq!((album.puts(), album.submits().len()), (0, 1));
}

#[test]
fn a_change_set_that_conflicts_leaves_its_chunks_to_the_next_one() {
    let mut album = Album::new();
    album.harness.connect();
    let recording = album.put(&content(100_000));
    album.harness.mutator("note", move |tx| {
        let put = vec![Operation::Put(recording.clone().into())];
        Ok(tx.insert(TableId::of("notes"), &key(1), [(ColumnId::of("recording"), put)].into())?)
    });
    album.harness.mutate("note");
    album.settle();
    album.advance(200);
    assert_eq!(album.puts(), 2);
    let set = album.submits().pop().expect("it is sent");
    let lease = leases_of(&set);
    // Another client has written a row that the set reads.
    album.harness.decide(set.counter, 1, 210, Vec::new(), Verdict::Conflict(at(205)));
    let abort = album.submits().pop().expect("it is closed");
    album.harness.decide(set.counter, abort.attempt.0, 220, Vec::new(), Verdict::Aborted);
    album.settle();
    // The row is known to be free by then.
    album.harness.load(230, &[]);
    album.settle();
    let next = album.submits().pop().expect("it is sent again");
    assert_eq!((next.counter > set.counter, leases_of(&next), album.puts()), (true, lease, 0));
    album.harness.decide(next.counter, 1, 240, next.decision.writes().to_vec(), Verdict::Committed(at(240)));
    album.settle();
    album.advance(250);
    assert_eq!(album.harness.client.pending().count(), 0);
}

#[test]
fn a_recording_that_was_changed_over_one_that_was_replaced_is_a_conflict_and_no_refusal() {
    let mut album = Album::new();
    let cell = Cell { table: TableId::of("notes"), row: key(1), column: ColumnId::of("recording") };
    let note = |blob: Blob| {
        Row::from_parts(true, [(ColumnId::of("recording"), CellState::Scalar(Value::Blob(std::sync::Arc::new(blob))))])
    };
    let before = album.put(&content(100_000)).leased(LeaseName(Id::from_u128(9))).expect("it waits");
    let mut edit = Edit::new(&before);
    album.device.values().for_each(|chunk| edit.give(chunk.clone()));
    edit.write(5, b"x").expect("its chunk is here");
    let mut finished = edit.finish().expect("a blob");
    while let Some(chunk) = finished.pop() {
        album.device.insert(chunk.id, chunk.content);
    }
    let edited = finished.blob;
    let change = cell.clone();
    album.harness.mutator("edit", move |tx| Ok(tx.write(change.clone(), Operation::Put(edited.clone().into()))?));
    album.harness.connect();
    let call = album.harness.mutate("edit");
    album.harness.load(10, &[(cell.table, key(1), note(before))]);
    album.settle();
    // The gateway sees another blob in the cell by now.
    let is_pending = |album: &Album| matches!(album.harness.last_status(call), MutationStatus::Pending(_));
    assert!(album.said.iter().any(|request| matches!(request, BlobRequest::Seal(_))));
    assert!(album.submits().is_empty() && is_pending(&album), "{:?}", album.harness.statuses);
    let theirs = album.put(&content(90_000)).leased(LeaseName(Id::from_u128(8))).expect("it waits");
    let written = Write { cell, operation: Operation::Put(theirs.into()) };
    album.harness.advance(Advance { to: at(20), changes: vec![written], ..Advance::default() });
    album.settle();
    assert_eq!(album.harness.client.conflicts("notes").expect("it is causal").len(), 1);
    assert!(album.submits().is_empty() && is_pending(&album));
}

#[test]
fn a_lease_that_is_over_has_everything_sent_under_another() {
    let mut album = Album::new();
    album.harness.connect();
    album.put(&content(100_000));
    let counter = album.harness.mutate("add");
    album.settle();
    album.advance(200);
    let first = leases_of(&album.submits()[0]);
    album.puts();
    album.revoke();
    album.harness.decide(counter, 1, 210, Vec::new(), Verdict::Conflict(at(205)));
    album.harness.pass(std::time::Duration::from_secs(1));
    album.settle();
    album.advance(300);
    assert_eq!(album.puts(), 2);
    let second = leases_of(&album.submits()[0]);
    assert_ne!(first, second);
}

#[test]
fn what_a_cut_left_unanswered_is_asked_about_and_the_upload_goes_on() {
    let mut album = Album::new();
    album.harness.connect();
    album.put(&content(3 << 20));
    album.harness.mutate("add");
    let mut cuts = 0;
    // The link is cut behind each tenth chunk.
    while album.objects.len() < 48 {
        let (before, mut sent) = (album.objects.len(), Vec::new());
        while album.objects.len() < (before + 10).min(48) {
            let Some(place) = album.harness.other.iter().position(|own| matches!(own, Output::Blobs(_))) else { break };
            let Output::Blobs(output) = album.harness.other.remove(place) else { unreachable!("it was found") };
            sent.push(output.clone());
            album.carry_out(output);
        }
        album.harness.other.retain(|own| !matches!(own, Output::Blobs(BlobOutput::Send(_))));
        album.session = None;
        album.tell(BlobInput::LinkLost);
        cuts += 1;
        album.harness.pass(std::time::Duration::from_secs(31));
        album.harness.answer_pings();
        assert!(cuts < 40, "it goes on");
    }
    album.settle();
    album.advance(300);
    assert_eq!(album.submits().len(), 1);
    let puts = album.puts();
    assert!(puts <= 48 + 16 * cuts, "{puts} puts with {cuts} cuts");
}

#[test]
fn chunks_that_the_device_does_not_have_refuse_the_mutation() {
    let mut album = Album::new();
    album.harness.connect();
    album.put(&content(100_000));
    album.device.clear();
    album.harness.mutate("add");
    album.settle();
    let Some((_, MutationStatus::Quarantined { reason })) = album.harness.statuses.last() else {
        panic!("{:?}", album.harness.statuses)
    };
    assert!(reason.contains("put the blob again"), "{reason}");
}

#[test]
fn a_blob_of_one_row_is_not_put_into_another() {
    let mut album = Album::new();
    let taken = album.put(&content(100_000)).leased(LeaseName(Id::from_u128(9))).expect("it waits");
    album.harness.mutator("copy", move |tx| Ok(tx.write(photo(2), Operation::Put(taken.clone().into()))?));
    album.harness.connect();
    album.harness.mutate("copy");
    album.harness.load(10, &[]);
    album.settle();
    assert_eq!(album.submits(), []);
    let refused = album.harness.statuses.last();
    assert!(
        matches!(refused, Some((_, MutationStatus::Quarantined { reason })) if reason.contains("put its content again"))
    );
}

#[test]
fn a_full_store_and_a_gateway_without_one_hold_up_only_what_has_large_blobs_and_say_why() {
    let mut album = Album::new();
    album.harness.connect();
    album.is_full = true;
    album.put(&content(100_000));
    album.harness.mutate("add");
    album.settle();
    assert!(album.harness.client.blobs_wait().expect("it waits").contains("full"));
    album.is_full = false;
    album.harness.pass(std::time::Duration::from_secs(1));
    album.settle();
    album.advance(300);
    assert_eq!((album.submits().len(), album.harness.client.blobs_wait()), (1, None));
}

#[test]
fn without_work_there_is_no_link_and_after_a_goodbye_for_good_only_with_another_session() {
    let mut album = Album::new();
    album.harness.connect();
    album.advance(50);
    assert_eq!(album.asked_for, 0);
    album.put(&content(100_000));
    album.harness.mutate("add");
    let connect = album.harness.other.iter().filter(|own| matches!(own, Output::Blobs(BlobOutput::Connect(_)))).count();
    assert_eq!(connect, 1);
    album.harness.other.clear();
    album.tell(BlobInput::Linked);
    let goodbye =
        iolite_wire::message::Goodbye { reason: GoodbyeReason::Unauthorized, message: "no".into(), retry_after: None };
    album.tell(BlobInput::Frame(BlobReply::Goodbye(goodbye).encode().expect("short")));
    assert_eq!(album.harness.client.blobs_wait().as_deref(), Some("no"));
    album.harness.other.clear();
    album.harness.pass(std::time::Duration::from_secs(100));
    assert!(!album.harness.other.iter().any(|own| matches!(own, Output::Blobs(BlobOutput::Connect(_)))));
}

#[test]
fn a_link_whose_token_ran_out_is_made_again_with_the_newer_one_that_the_session_has() {
    let mut album = Album::new();
    album.harness.connect();
    album.put(&content(100_000));
    album.harness.mutate("add");
    album.harness.other.clear();
    album.tell(BlobInput::Linked);
    let newer = album.harness.now.instant;
    album.harness.client.set_token(newer, "newer".into());
    let message = "the token has run out".to_owned();
    let goodbye = iolite_wire::message::Goodbye { reason: GoodbyeReason::Unauthorized, message, retry_after: None };
    album.tell(BlobInput::Frame(BlobReply::Goodbye(goodbye).encode().expect("short")));
    album.harness.other.clear();
    album.harness.pass(std::time::Duration::from_secs(100));
    let links = album.harness.other.iter().filter(|own| matches!(own, Output::Blobs(BlobOutput::Connect(_)))).count();
    assert_eq!(links, 1, "the session goes on, and so does the upload");
}

#[test]
fn a_part_of_a_blob_is_fetched_as_far_as_the_device_lacks_it() {
    let mut album = Album::new();
    album.harness.connect();
    let blob = album.put(&content(3 << 20)).leased(LeaseName(Id::from_u128(9))).expect("it waits");
    album.harness.client.fetch(&photo(1), &blob, 0..200_000);
    album.harness.settle();
    album.settle();
    let gets = |album: &Album| album.said.iter().filter(|request| matches!(request, BlobRequest::Get(_))).count();
    assert_eq!((album.fetched.clone(), gets(&album)), (vec![Ok(())], 0), "all of it is here");
    album.device.clear();
    album.harness.client.fetch(&photo(1), &blob, 0..200_000);
    album.harness.settle();
    album.settle();
    assert_eq!(gets(&album), 4);
    assert!(matches!(&album.fetched[..], [_, Err(why)] if why.contains("read it again")), "the row has another blob");
}

#[test]
fn a_row_that_is_put_with_the_blob_that_it_has_writes_everything_else() {
    let mut album = Album::new();
    let taken = album.put(&content(100_000)).leased(LeaseName(Id::from_u128(9))).expect("it waits");
    let row = Row::from_parts(false, [(photo(1).column, CellState::Scalar(taken.clone().into()))]);
    album.harness.mutator("rewrite", move |tx| {
        tx.write(photo(1), Operation::Put(taken.clone().into()))?;
        Ok(tx.write(Cell { column: ColumnId::of("name"), ..photo(1) }, Operation::Put(Value::from("harbour")))?)
    });
    album.harness.connect();
    album.harness.mutate("rewrite");
    album.harness.load(10, &[(photos(), key(1), row)]);
    album.settle();
    let submits = album.submits();
    let Decision::Commit(writes) = &submits[0].decision else { panic!("{submits:?}") };
    assert_eq!((writes.len(), writes[0].cell.column), (1, ColumnId::of("name")));
    assert_eq!(submits[0].reads.len(), 1, "what it does not change, it has read");
}
