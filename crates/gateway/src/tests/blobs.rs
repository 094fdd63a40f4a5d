//! `/blobs` over a real store: a blob from the device into a row, and all who are not let do that.

use std::collections::BTreeMap;

use iolite_access::{Access, AnonymousKey, TokenSettings, Tokens};
use iolite_blobs::{
    Builder, CheckedPut, Client, ClientInput, ClientOutput, Done, LEASES_TABLE, ObjectName, Part, SEALS_TABLE, Upload,
    UploadNumber, UploadOutput,
    limits::{LEASE_FOR, LEASES_OF_CLIENT_MAX},
    pack,
};
use iolite_catalog::Deployment;
use iolite_machine::WallTime;
use iolite_rights::{Rights, TableRules};
use iolite_values::{
    Blob, Cell, ChunkId, ColumnId, Interest, KeyRange, LeaseName, Operation, RowKey, Schema, TableId, Timestamp, Value,
    Write,
};
use iolite_wire::blobs::{
    BLOB_PROTOCOL_VERSION, BlobGet, BlobHello, BlobPut, BlobRefusal, BlobReply, BlobRequest, BlobSeal, BlobTree,
};
use iolite_wire::message::{FromClient, GoodbyeReason, Hello, ProtocolVersion, Rejection, Submit, Verdict};

use super::real_world::{RealWorld, verdicts};
use super::world::*;
use crate::{BlobInput, BlobLink, BlobOutput, BlobRoom, Deploy, DeploymentId, Input};

const PHOTOS: &str = r#"{"tables":{"photos":{"key":["id"],"columns":{"id":{"type":"int"},"photo":{"type":"blob"}}}}}"#;

/// A gateway with a store of chunks, and the client of session 1 with its device.
struct Album {
    world: RealWorld,
    objects: BTreeMap<ObjectName, Vec<u8>>,
    device: BTreeMap<ChunkId, Vec<u8>>,
    client: Client,
    uploads: u64,
}

impl Album {
    fn new() -> Album {
        Album::of(RealWorld::of(PHOTOS), TOKEN)
    }

    /// The same of an anonymous user, who may store this many chunks.
    fn of_guest(chunks_max: u64) -> Album {
        let settings = TokenSettings {
            issuer: "https://sign-in.example".into(),
            audience: "photos".into(),
            claims: BTreeMap::new(),
            life_max: LEASE_FOR,
            anonymous: true,
        };
        let access = Access::Tokens(Tokens::new(settings, Vec::new()).expect("good settings"));
        let user = iolite_values::Id::from_u128(1);
        let token = AnonymousKey::from_seed([7; 32]).token(user, "photos", WallTime::default(), LEASE_FOR);
        let mut album = Album::of(RealWorld::of_guest(access, &token, PHOTOS), &token);
        album.world.gateway.settings.limits.blob_bytes_anonymous_max = chunks_max << 16;
        album
    }

    fn of(mut world: RealWorld, token: &str) -> Album {
        world.take();
        let (objects, device) = (BTreeMap::new(), BTreeMap::new());
        let mut album = Album { world, objects, device, client: Client::new(), uploads: 0 };
        album.open(1);
        album.client.handle(ClientInput::Connected { client: hello(1).client, token: token.into() });
        album
    }

    fn open(&mut self, link: u64) {
        self.world.input(Input::Blobs(BlobLink(link), BlobInput::Opened([link as u8; 16])));
    }

    fn say(&mut self, link: u64, request: BlobRequest) -> Vec<BlobOutput> {
        self.world.input(Input::Blobs(BlobLink(link), BlobInput::Message(request)));
        self.carry_out(link)
    }

    /// Does what the gateway asks of the store of chunks, and gives what it says to one connection.
    fn carry_out(&mut self, link: u64) -> Vec<BlobOutput> {
        let mut said = Vec::new();
        while !self.world.blobs.is_empty() {
            let (of, output) = self.world.blobs.remove(0);
            let (ticket, done) = match output {
                BlobOutput::Store(ticket, object, content) => {
                    self.objects.insert(object, content);
                    (ticket, Done::Stored)
                }
                BlobOutput::Load(ticket, object) => (ticket, Done::Loaded(self.objects.get(&object).cloned())),
                BlobOutput::Look(ticket, object) => (ticket, Done::Looked(self.objects.contains_key(&object))),
                BlobOutput::Send(_) | BlobOutput::Close => {
                    assert_eq!(of, BlobLink(link), "nobody else is told anything");
                    said.push(output);
                    continue;
                }
            };
            self.world.input(Input::Blobs(of, BlobInput::Done(ticket, done)));
        }
        said
    }

    fn put(&mut self, content: &[u8]) -> Blob {
        let mut builder = Builder::new();
        builder.push(content).expect("not too long");
        let mut finished = builder.finish().expect("a blob");
        while let Some(chunk) = finished.pop() {
            self.device.insert(chunk.id, chunk.content);
        }
        finished.blob
    }

    /// Uploads a blob of this content: the blob as a mutation may name it.
    fn upload(&mut self, content: &[u8]) -> (Blob, Timestamp) {
        let blob = self.put(content);
        self.uploads += 1;
        let upload = Upload::new(vec![Part { blob, from: None }]);
        self.client.handle(ClientInput::Upload(UploadNumber(self.uploads), Box::new(upload)));
        loop {
            match self.client.poll().expect("it goes on") {
                ClientOutput::Send(request) => {
                    for output in self.say(1, request) {
                        let BlobOutput::Send(reply) = output else { panic!("{output:?}") };
                        self.client.handle(ClientInput::Reply(reply));
                    }
                }
                ClientOutput::Upload(number, UploadOutput::Load(chunk)) => {
                    self.client.handle(ClientInput::Loaded(number, chunk, self.device.get(&chunk).cloned()));
                }
                ClientOutput::Upload(_, UploadOutput::Sealed { at, mut blobs, .. }) => return (blobs.remove(0), at),
                ClientOutput::Upload(_, UploadOutput::Leased(..)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn submit(&mut self, submit: Submit) -> Vec<(u64, Verdict)> {
        self.world.say(1, FromClient::Submit(submit));
        verdicts(&self.world.advances(1))
    }

    fn rows(&mut self, table: &str) -> usize {
        let interest = Interest::Range { table: TableId::of(table), range: KeyRange::all() };
        self.world.rows(interest)
    }
}

fn photo_cell(id: i64) -> Cell {
    let row = RowKey::new(&[Value::Int(id)]).expect("a key");
    Cell { table: TableId::of("photos"), row, column: ColumnId::of("photo") }
}

/// A mutation that inserts a photo, on this snapshot.
fn insert(counter: u64, blob: &Blob, snapshot: Timestamp) -> Submit {
    let cell = photo_cell(counter as i64);
    let create = Write { cell: Cell::row(cell.table, cell.row.clone()), operation: Operation::Create };
    let put = Write { cell, operation: Operation::Put(blob.clone().into()) };
    Submit { snapshot, ..blind(counter, vec![create, put]) }
}

/// A hello with the schema of this file.
fn greeting(client: u64) -> Hello {
    Hello { schema: Schema::from_json(PHOTOS).expect("a good schema").hash(), ..hello(client) }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place / 7) as u8).collect()
}

fn blob_hello() -> BlobHello {
    let version = BLOB_PROTOCOL_VERSION;
    BlobHello { oldest_version: version, newest_version: version, token: hello(1).token, client: hello(1).client }
}

fn goodbye(outputs: &[BlobOutput]) -> (GoodbyeReason, &str) {
    match outputs {
        [.., BlobOutput::Send(BlobReply::Goodbye(goodbye)), BlobOutput::Close] => (goodbye.reason, &goodbye.message),
        other => panic!("a goodbye was expected, not {other:?}"),
    }
}

#[test]
fn a_photo_gets_into_a_row_and_its_commit_spends_the_lease_and_the_seal() {
    let mut album = Album::new();
    let (photo, at) = album.upload(&content(200_000));
    assert_eq!((album.rows(LEASES_TABLE), album.rows(SEALS_TABLE)), (1, 1));
    let told = album.world.advances(1);
    assert!(
        told.iter().any(|advance| advance.to >= at),
        "the session waits for no other commit to be as far: {told:?}"
    );
    let position = album.world.gateway.position();
    assert!(matches!(album.submit(insert(1, &photo, position))[..], [(1, Verdict::Committed(_))]));
    assert_eq!((album.rows(LEASES_TABLE), album.rows(SEALS_TABLE), album.rows("photos")), (0, 0, 1));
    let lease = BlobTree::of(&photo).expect("a tree").tree.leases()[0];
    let chunk = BlobTree::of(&photo).expect("a tree").tree.root()[0].id;
    let get = BlobGet { request: 7, cell: photo_cell(1), lease, chunk };
    let said = album.say(1, BlobRequest::Get(get.clone()));
    assert!(matches!(said[..], [BlobOutput::Send(BlobReply::Chunk(7, _))]), "{said:?}");
    let elsewhere = BlobGet { request: 8, cell: photo_cell(2), ..get };
    let said = album.say(1, BlobRequest::Get(elsewhere));
    assert_eq!(said, [BlobOutput::Send(BlobReply::Gone(8))], "an id is no right to a chunk");
}

#[test]
fn a_blob_whose_lease_is_spent_is_in_no_second_row() {
    let mut album = Album::new();
    let (photo, _) = album.upload(&content(100_000));
    let position = album.world.gateway.position();
    album.submit(insert(1, &photo, position));
    let position = album.world.gateway.position();
    assert!(matches!(album.submit(insert(2, &photo, position))[..], [(2, Verdict::Conflict(_))]));
    assert_eq!(album.rows("photos"), 1);
}

/// Else a cut behind the commit would cost the upload once more.
#[test]
fn who_did_not_hear_of_its_commit_and_sends_it_again_is_told_that_it_committed() {
    let mut album = Album::new();
    let (photo, _) = album.upload(&content(100_000));
    let position = album.world.gateway.position();
    let Some((1, Verdict::Committed(at))) = album.submit(insert(1, &photo, position)).pop() else {
        panic!("it commits")
    };
    album.world.input(Input::SessionClosed(crate::SessionId(1)));
    album.world.join(2, greeting(1));
    album.world.take();
    let again = insert(1, &photo, position);
    album.world.say(2, FromClient::Submit(again));
    assert_eq!(verdicts(&album.world.advances(2)), [(1, Verdict::Committed(at))]);
}

#[test]
fn a_tree_is_in_a_row_only_if_its_own_client_has_sealed_it() {
    let mut album = Album::new();
    let (photo, _) = album.upload(&content(100_000));
    let position = album.world.gateway.position();
    album.world.join(2, greeting(2));
    album.world.take();
    album.world.say(2, FromClient::Submit(insert(1, &photo, position)));
    let theirs = verdicts(&album.world.advances(2));
    assert!(matches!(theirs[..], [(1, Verdict::Conflict(_))]), "a lease of another client: {theirs:?}");
    let unsealed = album.put(&content(70_000));
    let strange = unsealed.leased(LeaseName(iolite_values::Id::from_u128(77))).expect("it waits");
    assert!(matches!(album.submit(insert(1, &strange, position))[..], [(1, Verdict::Conflict(_))]));
    let waiting = album.submit(insert(2, &unsealed, position));
    assert!(
        matches!(&waiting[..], [(2, Verdict::Rejected(Rejection::Invalid(reason)))] if reason.contains("put it again")),
        "{waiting:?}"
    );
    assert_eq!(album.rows("photos"), 0);
}

#[test]
fn nobody_writes_leases_and_seals_but_the_gateway() {
    let mut album = Album::new();
    let row = RowKey::new(&[Value::Id(iolite_values::Id::from_u128(1))]).expect("a key");
    let forged = Write { cell: Cell::row(TableId::of(LEASES_TABLE), row), operation: Operation::Create };
    let verdicts = album.submit(blind(1, vec![forged]));
    assert!(matches!(verdicts[..], [(1, Verdict::Rejected(Rejection::Invalid(_)))]), "{verdicts:?}");
    let mut hello = album.say(1, BlobRequest::Hello(blob_hello()));
    assert_eq!(hello.len(), 1, "it is welcome");
    hello.clear();
    let held = Cell { table: TableId::of(SEALS_TABLE), ..photo_cell(1) };
    let (lease, chunk) = (LeaseName(iolite_values::Id::from_u128(1)), ChunkId::of(b"x"));
    let said = album.say(1, BlobRequest::Get(BlobGet { request: 1, cell: held, lease, chunk }));
    assert_eq!(said, [BlobOutput::Send(BlobReply::Gone(1))]);
}

#[test]
fn a_connection_is_let_in_as_a_session_is() {
    let mut album = Album::new();
    album.open(2);
    let said = album.say(2, BlobRequest::Lease);
    assert!(matches!(goodbye(&said), (GoodbyeReason::Protocol, message) if message.contains("say hello")));
    album.open(7);
    let put =
        BlobPut { lease: LeaseName(iolite_values::Id::from_u128(1)), chunk: ChunkId::of(b"x"), content: pack(b"x") };
    let put = CheckedPut::check(put).expect("it is what its name says");
    album.world.input(Input::Blobs(BlobLink(7), BlobInput::Put(put)));
    let said = album.carry_out(7);
    assert!(matches!(goodbye(&said), (GoodbyeReason::Protocol, message) if message.contains("say hello")));
    album.open(3);
    let said = album.say(3, BlobRequest::Hello(BlobHello { token: "guessed".into(), ..blob_hello() }));
    assert_eq!(goodbye(&said).0, GoodbyeReason::Unauthorized);
    album.open(4);
    let newer = ProtocolVersion(BLOB_PROTOCOL_VERSION.0 + 1);
    let said =
        album.say(4, BlobRequest::Hello(BlobHello { oldest_version: newer, newest_version: newer, ..blob_hello() }));
    assert!(matches!(goodbye(&said), (GoodbyeReason::Version, message) if message.contains("of the blob protocol")));
    album.open(5);
    album.say(5, BlobRequest::Hello(blob_hello()));
    album.open(6);
    album.world.input(Input::Blobs(BlobLink(6), BlobInput::Message(BlobRequest::Hello(blob_hello()))));
    let closed = album.world.blobs.contains(&(BlobLink(5), BlobOutput::Close));
    assert!(closed, "a client has one connection, the newest");
}

#[test]
fn a_gateway_without_a_store_of_chunks_says_so() {
    let mut world = World::new();
    world.input(Input::Blobs(BlobLink(1), BlobInput::Opened([1; 16])));
    world.input(Input::Blobs(BlobLink(1), BlobInput::Message(BlobRequest::Hello(blob_hello()))));
    assert!(matches!(goodbye(&world.blobs), (GoodbyeReason::Unavailable, message) if message.contains("[blobs]")));
}

#[test]
fn a_silent_connection_is_closed() {
    let mut world = World::new();
    world.input(Input::Blobs(BlobLink(1), BlobInput::Opened([1; 16])));
    world.wait(std::time::Duration::from_secs(11));
    assert_eq!(goodbye(&world.blobs).0, GoodbyeReason::Limit);
}

#[test]
fn a_full_store_takes_nothing_more_and_reads_go_on() {
    let mut album = Album::new();
    let (photo, _) = album.upload(&content(100_000));
    let position = album.world.gateway.position();
    album.submit(insert(1, &photo, position));
    let refused = |refusal| [BlobOutput::Send(BlobReply::Refused(refusal))];
    album.world.input(Input::BlobRoom(BlobRoom::Full));
    assert_eq!(album.say(1, BlobRequest::Lease), refused(BlobRefusal::StoreFull));
    let tree = BlobTree::of(&photo).expect("a tree").tree;
    let get = BlobGet { request: 7, cell: photo_cell(1), lease: tree.leases()[0], chunk: tree.root()[0].id };
    let said = album.say(1, BlobRequest::Get(get));
    assert!(matches!(said[..], [BlobOutput::Send(BlobReply::Chunk(7, _))]), "{said:?}");
    album.world.input(Input::BlobRoom(BlobRoom::Counting));
    assert_eq!(album.say(1, BlobRequest::Lease), refused(BlobRefusal::Unavailable));
    album.world.input(Input::BlobRoom(BlobRoom::Free));
    album.upload(&content(120_000));
}

#[test]
fn a_sweep_has_the_leases_revoked_that_are_over_so_many_at_a_time() {
    let mut album = Album::new();
    let (photo, _) = album.upload(&content(100_000));
    let leases = LEASES_OF_CLIENT_MAX;
    for _ in 1..leases {
        album.say(1, BlobRequest::Lease);
    }
    album.open(2);
    album.say(2, BlobRequest::Hello(BlobHello { client: hello(2).client, ..blob_hello() }));
    album.say(2, BlobRequest::Lease);
    assert_eq!((album.rows(LEASES_TABLE), album.rows(SEALS_TABLE)), (leases + 1, 1));
    album.world.input(Input::RevokeLeases);
    assert_eq!((album.rows(LEASES_TABLE), album.rows(SEALS_TABLE)), (leases + 1, 1), "none is over");
    album.world.now.wall = WallTime::from_micros(LEASE_FOR.as_micros() as u64 + 1);
    album.world.input(Input::RevokeLeases);
    assert_eq!((album.rows(LEASES_TABLE), album.rows(SEALS_TABLE)), (0, 0));
    let position = album.world.gateway.position();
    assert!(matches!(album.submit(insert(1, &photo, position))[..], [(1, Verdict::Conflict(_))]));
}

#[test]
fn a_user_reads_the_blobs_of_rows_that_the_user_may_see_and_no_others() {
    let mut album = Album::new();
    let photos: Vec<Blob> = [1, 2]
        .map(|id| {
            let (photo, _) = album.upload(&content(100_000 + id));
            let position = album.world.gateway.position();
            let writes = Submit { ..insert(id as u64, &photo, position) };
            assert!(matches!(album.submit(writes)[..], [(_, Verdict::Committed(_))]));
            photo
        })
        .into();
    let read = iolite_rights::row("id").is(iolite_rights::value(1));
    let rights = Rights::default().table("photos", TableRules::default().read(read));
    let deployment = Deployment { schema: Schema::from_json(PHOTOS).expect("a good schema"), rights };
    album.world.input(Input::Deploy(DeploymentId(1), Deploy { deployment, is_plan: false }.into()));
    album.open(2);
    let token = format!("{TOKEN} as {{\"sub\":\"ann\"}}");
    album.say(2, BlobRequest::Hello(BlobHello { token, client: client(2), ..blob_hello() }));
    let mut gets = |request, id: i64, photo: &Blob| {
        let tree = BlobTree::of(photo).expect("a tree").tree;
        let get = BlobGet { request, cell: photo_cell(id), lease: tree.leases()[0], chunk: tree.root()[0].id };
        album.say(2, BlobRequest::Get(get))
    };
    let said = gets(7, 1, &photos[0]);
    assert!(matches!(said[..], [BlobOutput::Send(BlobReply::Chunk(7, _))]), "{said:?}");
    assert_eq!(gets(8, 2, &photos[1]), [BlobOutput::Send(BlobReply::Gone(8))]);
}

/// Puts so many chunks of 64 KiB, and returns how many were stored before one was refused.
fn put_chunks(album: &mut Album, lease: LeaseName, first: u8, count: u8) -> usize {
    let mut stored = 0;
    for chunk in first..first + count {
        let content = vec![chunk; 1 << 16];
        let put = BlobPut { lease, chunk: ChunkId::of(&content), content: pack(&content) };
        let put = CheckedPut::check(put).expect("it is what its name says");
        album.world.input(Input::Blobs(BlobLink(1), BlobInput::Put(put)));
        match &album.carry_out(1)[..] {
            [BlobOutput::Send(BlobReply::Stored(_))] => stored += 1,
            [BlobOutput::Send(BlobReply::Refused(BlobRefusal::UserFull))] => break,
            other => panic!("{other:?}"),
        }
    }
    stored
}

/// Says hello as the anonymous user of the album.
fn greet(album: &mut Album) {
    let user = iolite_values::Id::from_u128(1);
    let token = AnonymousKey::from_seed([7; 32]).token(user, "photos", album.world.now.wall, LEASE_FOR);
    let said = album.say(1, BlobRequest::Hello(BlobHello { token, ..blob_hello() }));
    assert!(matches!(said[..], [BlobOutput::Send(BlobReply::Welcome(_))]), "{said:?}");
}

fn lease(album: &mut Album) -> Option<LeaseName> {
    match &album.say(1, BlobRequest::Lease)[..] {
        [BlobOutput::Send(BlobReply::Leased(leased))] => Some(leased.lease),
        [BlobOutput::Send(BlobReply::Refused(BlobRefusal::UserFull))] => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_user_seals_so_much_and_then_gets_no_lease() {
    let mut album = Album::of_guest(5);
    let (photo, at) = album.upload(&content(100_000));
    assert!(matches!(album.submit(insert(1, &photo, at))[..], [(1, Verdict::Committed(_))]));
    // Another connection, of which nothing is known but what is in the store.
    album.world.gateway.blobs.quotas = Default::default();
    album.upload(&content(120_000));
    album.world.gateway.blobs.quotas = Default::default();
    let last = lease(&mut album).expect("one chunk is left");
    assert_eq!(put_chunks(&mut album, last, 1, 2), 1);
    assert_eq!(lease(&mut album), None);
    album.world.gateway.settings.limits.blob_bytes_anonymous_max = 6 << 16;
    assert!(lease(&mut album).is_some());
}

#[test]
fn a_seal_that_is_more_than_a_user_may_have_is_refused() {
    let mut album = Album::of_guest(3);
    greet(&mut album);
    let blob = album.put(&content(100_000));
    let lease = lease(&mut album).expect("there is room");
    let tree = BlobTree::of(&blob.leased(lease).expect("it waits")).expect("a tree");
    for content in album.device.clone().into_values() {
        let put = BlobPut { lease, chunk: ChunkId::of(&content), content: pack(&content) };
        let put = CheckedPut::check(put).expect("it is what its name says");
        album.world.input(Input::Blobs(BlobLink(1), BlobInput::Put(put)));
        album.carry_out(1);
    }
    album.world.gateway.settings.limits.blob_bytes_anonymous_max = 1 << 16;
    let seal = BlobRequest::Seal(BlobSeal { lease, tree, from: None });
    assert_eq!(album.say(1, seal.clone()), [BlobOutput::Send(BlobReply::Refused(BlobRefusal::UserFull))]);
    album.world.gateway.settings.limits.blob_bytes_anonymous_max = 2 << 16;
    assert!(matches!(album.say(1, seal)[..], [BlobOutput::Send(BlobReply::Sealed(_))]));
}

#[test]
fn what_a_user_stores_and_seals_never_has_the_bound_too_until_a_sweep_has_it() {
    let mut album = Album::of_guest(4);
    greet(&mut album);
    let first = lease(&mut album).expect("there is room");
    assert_eq!(put_chunks(&mut album, first, 0, 5), 4);
    assert_eq!(lease(&mut album), None);
    // All of the connection is gone, and its lease is over.
    album.world.input(Input::Blobs(BlobLink(1), BlobInput::Closed));
    album.open(1);
    greet(&mut album);
    assert_eq!(lease(&mut album), None);
    album.world.now.wall = WallTime::from_micros(LEASE_FOR.as_micros() as u64 + 1);
    album.world.input(Input::RevokeLeases);
    assert_eq!((album.rows(LEASES_TABLE), lease(&mut album)), (0, None), "its chunks are there yet");
    album.world.now.instant = album.world.now.instant + LEASE_FOR;
    album.world.input(Input::RevokeLeases);
    let next = lease(&mut album).expect("they are gone");
    assert_eq!(put_chunks(&mut album, next, 0, 5), 4);
}
