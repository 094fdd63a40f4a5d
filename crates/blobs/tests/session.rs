//! The gateway's side against clients that do as they like: refused, bounded, and nobody else is concerned.

use iolite_blobs::{
    Around, CheckedPut, Chunk, Done, Effect, Lease, Leases, ObjectName, RowCommit, Session, SessionInput, Ticket,
    encode_node, limits, pack,
};
use iolite_machine::{Now, WallTime};
use iolite_values::{
    Blob, BlobDigest, Cell, ChunkId, ChunkName, ClientId, ColumnId, Cutting, Id, LeaseName, RowKey, StoreIncarnation,
    TableId, Timestamp, Tree, Value,
};
use iolite_wire::blobs::{
    BlobGet, BlobPut, BlobRefusal, BlobReply, BlobRequest, BlobSeal, BlobStored, BlobTree, BlobUnsealed, LeasedChunks,
    TreeId,
};
use iolite_wire::message::GoodbyeReason;

const CHUNK: u64 = Cutting::CHUNK_BYTES_MAX as u64;

fn lease(number: u128) -> LeaseName {
    LeaseName(Id::from_u128(number))
}

fn client(number: u128) -> ClientId {
    ClientId(Id::from_u128(number))
}

fn store() -> StoreIncarnation {
    StoreIncarnation(Id::from_u128(5))
}

fn cell() -> Cell {
    let row = RowKey::new(&[Value::Int(1)]).expect("short");
    Cell { table: TableId(1), row, column: ColumnId(1) }
}

/// A gateway with one session of client 1, which has lease 7. Lease 8 is another client's.
struct Gateway {
    leases: Leases,
    session: Session,
    is_full: bool,
    is_ruled: bool,
    wall: u64,
}

const HOUR: u64 = 3600 * 1_000_000;

impl Gateway {
    fn new() -> Gateway {
        let mut leases = Leases::default();
        let until = WallTime::from_micros(24 * HOUR);
        leases.set(lease(7), Some(Lease { client: client(1), until }));
        leases.set(lease(8), Some(Lease { client: client(2), until }));
        let mut session = Session::new(client(1), store(), [3; 16]);
        assert!(matches!(session.poll(), Some(Effect::Send(BlobReply::Welcome(_)))));
        Gateway { leases, session, is_full: false, is_ruled: false, wall: 1 }
    }

    fn take(&mut self, input: SessionInput) -> Vec<Effect> {
        let now = Now { wall: WallTime::from_micros(self.wall), ..Now::default() };
        let Gateway { is_full, is_ruled, .. } = *self;
        self.session.handle(now, input, Around { leases: &self.leases, is_full, is_ruled });
        std::iter::from_fn(|| self.session.poll()).collect()
    }

    fn ask(&mut self, request: BlobRequest) -> Vec<Effect> {
        self.take(SessionInput::Request(request))
    }

    fn done(&mut self, ticket: u64, done: Done) -> Vec<Effect> {
        self.take(SessionInput::Done(Ticket(ticket), done))
    }
}

fn put(lease: LeaseName, content: &[u8]) -> BlobRequest {
    BlobRequest::Put(BlobPut { lease, chunk: ChunkId::of(content), content: pack(content) })
}

fn object(lease: LeaseName, chunk: ChunkId) -> ObjectName {
    ObjectName { store: store(), lease, chunk }
}

fn is_goodbye(effects: &[Effect], reason: GoodbyeReason) {
    let [Effect::Send(BlobReply::Goodbye(goodbye)), Effect::End] = effects else { panic!("{effects:?}") };
    assert_eq!(goodbye.reason, reason);
}

/// A flat tree of these chunks.
fn tree(leases: Vec<LeaseName>, root: Vec<ChunkName>) -> BlobTree {
    let length = root.len() as u64 * CHUNK;
    let digest = BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), length);
    let tree = Tree::new(Cutting::Fixed64K, 0, leases, root).expect("a tree");
    BlobTree::of(&Blob::tree(length, digest, tree).expect("a blob")).expect("it has chunks")
}

fn name(lease: u8, content: &[u8]) -> ChunkName {
    ChunkName { lease, id: ChunkId::of(content) }
}

fn seal(tree: BlobTree, from: Option<Cell>) -> BlobRequest {
    BlobRequest::Seal(BlobSeal { lease: lease(7), tree, from })
}

fn get(request: u32, lease: LeaseName) -> BlobRequest {
    BlobRequest::Get(BlobGet { request, cell: cell(), lease, chunk: ChunkId::of(b"a") })
}

#[test]
fn a_lease_is_committed_before_it_is_told_and_then_takes_chunks() {
    let mut gateway = Gateway::new();
    let effects = gateway.ask(BlobRequest::Lease);
    let [Effect::Commit(ticket, RowCommit::Grant { lease, row })] = effects[..] else { panic!("{effects:?}") };
    assert_eq!((row.client, row.until), (client(1), WallTime::from_micros(24 * HOUR + 1)));
    let early = gateway.ask(put(lease, b"a"));
    assert_eq!(early, [Effect::Send(BlobReply::LeaseOver(lease))], "nobody was told of it yet");
    let told = gateway.done(ticket.0, Done::Committed(Timestamp::from_u64(9)));
    assert!(matches!(told[..], [Effect::Send(BlobReply::Leased(leased))] if leased.lease == lease));
    let effects = gateway.ask(put(lease, b"a"));
    let [Effect::Store(ticket, stored, _)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*stored, object(lease, ChunkId::of(b"a")));
    let answer = BlobReply::Stored(BlobStored { lease, chunk: ChunkId::of(b"a") });
    assert_eq!(gateway.done(ticket.0, Done::Stored), [Effect::Send(answer)]);
    gateway.leases.advance(Timestamp::from_u64(9));
    assert_eq!(gateway.ask(put(lease, b"a")), [Effect::Send(BlobReply::LeaseOver(lease))], "the feed knows better");
}

#[test]
fn leases_of_others_and_leases_that_are_over_take_nothing() {
    let mut gateway = Gateway::new();
    for unknown in [lease(8), lease(99)] {
        let over = [Effect::Send(BlobReply::LeaseOver(unknown))];
        assert_eq!(gateway.ask(put(unknown, b"a")), over);
        assert_eq!(gateway.ask(BlobRequest::Have(LeasedChunks { lease: unknown, chunks: Vec::new() })), over);
        let tree = tree(vec![unknown], vec![name(0, b"a")]);
        assert_eq!(gateway.ask(BlobRequest::Seal(BlobSeal { lease: unknown, tree, from: None })), over);
    }
    gateway.wall = 24 * HOUR;
    assert_eq!(gateway.ask(put(lease(7), b"a")), [Effect::Send(BlobReply::LeaseOver(lease(7)))]);
}

#[test]
fn a_lease_that_is_used_is_given_again_when_half_of_it_is_over() {
    let mut gateway = Gateway::new();
    gateway.wall = 12 * HOUR - 1;
    assert_eq!(gateway.ask(put(lease(7), b"a")).len(), 1);
    gateway.wall = 12 * HOUR;
    let effects = gateway.ask(put(lease(7), b"b"));
    let [Effect::Commit(_, RowCommit::Renew { row, .. }), Effect::Store(..)] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(row.until, WallTime::from_micros(36 * HOUR));
    assert_eq!(gateway.ask(put(lease(7), b"c")).len(), 1, "once");
}

#[test]
fn a_client_has_64_leases_and_a_full_store_gives_none() {
    let mut gateway = Gateway::new();
    for _ in 1..limits::LEASES_OF_CLIENT_MAX {
        assert!(matches!(gateway.ask(BlobRequest::Lease)[..], [Effect::Commit(..)]));
    }
    let refused = |why| [Effect::Send(BlobReply::Refused(why))];
    assert_eq!(gateway.ask(BlobRequest::Lease), refused(BlobRefusal::TooManyLeases));
    gateway.is_full = true;
    assert_eq!(gateway.ask(BlobRequest::Lease), refused(BlobRefusal::StoreFull));
    assert_eq!(gateway.ask(put(lease(7), b"a")), refused(BlobRefusal::StoreFull));
}

#[test]
fn a_chunk_that_is_not_its_name_ends_the_connection() {
    let mut gateway = Gateway::new();
    let content = pack(b"something else");
    let effects = gateway.ask(BlobRequest::Put(BlobPut { lease: lease(7), chunk: ChunkId::of(b"a"), content }));
    is_goodbye(&effects, GoodbyeReason::Protocol);
    assert_eq!(gateway.ask(BlobRequest::Lease), [], "nothing more is heard");
}

#[test]
fn a_chunk_that_the_host_has_looked_at_is_stored_as_one_of_a_request_is() {
    let BlobRequest::Put(own) = put(lease(7), b"a") else { unreachable!("a put") };
    let checked = CheckedPut::check(own).expect("it is what its name says");
    assert_eq!(Gateway::new().take(SessionInput::Put(checked)), Gateway::new().ask(put(lease(7), b"a")));
    let wrong = BlobPut { lease: lease(7), chunk: ChunkId::of(b"a"), content: pack(b"b") };
    assert_eq!(CheckedPut::check(wrong), None);
}

#[test]
fn what_is_packed_unpacks_to_no_more_than_a_chunk() {
    let full = vec![0; Cutting::CHUNK_BYTES_MAX];
    let packed = pack(&full);
    assert!(packed.bytes.len() < 1000);
    assert_eq!(iolite_blobs::unpack(ChunkId::of(&full), packed.clone()), Some(full.clone()));
    for wrong in [1, 65_535, 65_537, u32::MAX] {
        let lies = iolite_wire::blobs::BlobContent { unpacked_bytes: wrong, ..packed.clone() };
        assert_eq!(iolite_blobs::unpack(ChunkId::of(&full), lies), None);
    }
    let noise: Vec<u8> = (0..64).map(|n: u8| n.wrapping_mul(151)).collect();
    assert_eq!(pack(&noise).unpacked_bytes, 0, "packing saves nothing");
}

#[test]
fn what_is_open_for_a_connection_is_bounded() {
    let open = |request: &dyn Fn(u32) -> BlobRequest, times: usize| {
        let mut gateway = Gateway::new();
        for number in 0..times {
            assert!(!gateway.ask(request(number as u32)).contains(&Effect::End), "{number} of {times}");
        }
        is_goodbye(&gateway.ask(request(99)), GoodbyeReason::Limit);
    };
    open(&|number| put(lease(7), &number.to_be_bytes()), limits::WINDOW_BYTES_MAX / Cutting::CHUNK_BYTES_MAX);
    open(&|number| get(number, lease(7)), limits::GETS_OPEN_MAX);
    let chunks = |count| BlobRequest::Have(LeasedChunks { lease: lease(7), chunks: vec![ChunkId::of(b"a"); count] });
    open(&|_| chunks(limits::HAVE_CHUNKS_MAX), 1);
    is_goodbye(&Gateway::new().ask(chunks(limits::HAVE_CHUNKS_MAX + 1)), GoodbyeReason::Limit);
    open(&|_| seal(tree(vec![lease(7)], vec![name(0, b"a")]), None), 1);
    open(&|_| seal(tree(vec![lease(6), lease(7)], vec![name(1, b"a")]), Some(cell())), 1);
}

#[test]
fn a_question_is_answered_with_what_is_lacking() {
    let mut gateway = Gateway::new();
    let [a, b] = [ChunkId::of(b"a"), ChunkId::of(b"b")];
    let effects = gateway.ask(BlobRequest::Have(LeasedChunks { lease: lease(7), chunks: vec![a, b] }));
    assert_eq!(effects.len(), 2);
    assert_eq!(gateway.done(1, Done::Looked(false)), []);
    let answer = BlobReply::HaveReply(LeasedChunks { lease: lease(7), chunks: vec![b] });
    assert_eq!(gateway.done(0, Done::Looked(true)), [Effect::Send(answer)]);
}

#[test]
fn a_tree_with_holes_is_not_sealed_and_the_holes_are_told() {
    let mut gateway = Gateway::new();
    let tree = tree(vec![lease(7)], vec![name(0, b"a"), name(0, b"b")]);
    assert_eq!(gateway.ask(seal(tree.clone(), None)).len(), 2);
    assert_eq!(gateway.done(0, Done::Looked(true)), []);
    let lacks = vec![ChunkId::of(b"b")];
    let unsealed = BlobReply::Unsealed(BlobUnsealed { lease: lease(7), tree: tree.id(), lacks });
    assert_eq!(gateway.done(1, Done::Looked(false)), [Effect::Send(unsealed)]);
    assert_eq!(gateway.ask(seal(tree.clone(), None)).len(), 2);
    gateway.done(2, Done::Looked(true));
    let effects = gateway.done(3, Done::Looked(true));
    let commit = RowCommit::Seal { lease: lease(7), tree: tree.id(), holds: None, chunks: 2 };
    assert_eq!(effects, [Effect::Commit(Ticket(4), commit)]);
    let at = Timestamp::from_u64(11);
    assert!(
        matches!(gateway.done(4, Done::Committed(at))[..], [Effect::Send(BlobReply::Sealed(sealed))] if sealed.at == at)
    );
}

#[test]
fn a_lease_seals_so_many_trees() {
    let mut gateway = Gateway::new();
    let [last, more] = [b"a", b"b"].map(|content| tree(vec![lease(7)], vec![name(0, content)]));
    for number in 1..limits::SEALS_OF_LEASE_MAX {
        gateway.leases.seal(lease(7), TreeId(ChunkId::of(&number.to_be_bytes())), Timestamp::ZERO);
    }
    assert!(matches!(gateway.ask(seal(last.clone(), None))[..], [Effect::Look(..)]));
    assert!(matches!(gateway.done(0, Done::Looked(true))[..], [Effect::Commit(..)]));
    gateway.leases.seal(lease(7), last.id(), Timestamp::from_u64(11));
    gateway.done(1, Done::Committed(Timestamp::from_u64(11)));
    let told = gateway.ask(seal(last, None));
    assert!(matches!(told[..], [Effect::Send(BlobReply::Sealed(_))]), "it is sealed already: {told:?}");
    is_goodbye(&gateway.ask(seal(more, None)), GoodbyeReason::Limit);
}

#[test]
fn a_walk_looks_for_32_objects_at_a_time_and_ends_after_256_that_are_lacking() {
    let mut gateway = Gateway::new();
    let names: Vec<ChunkName> = (0..1024_u32).map(|number| name(0, &number.to_be_bytes())).collect();
    let node = encode_node(&names);
    let root = vec![ChunkName { lease: 0, id: ChunkId::of(&node) }];
    let tree = Tree::new(Cutting::Fixed64K, 1, vec![lease(7)], root).expect("a tree");
    let blob = Blob::tree(1024 * CHUNK, BlobDigest::from_bytes([0; 32]), tree).expect("of this shape");
    let tree = BlobTree::of(&blob).expect("it has chunks");
    assert_eq!(gateway.ask(seal(tree, None)), [Effect::Load(Ticket(0), object(lease(7), ChunkId::of(&node)))]);
    let mut open: std::collections::VecDeque<Effect> = gateway.done(0, Done::Loaded(Some(node))).into();
    assert_eq!(open.len(), limits::LOOKS_OPEN_MAX);
    let mut lacks = Vec::new();
    while let Some(effect) = open.pop_front() {
        match effect {
            Effect::Look(ticket, _) => open.extend(gateway.done(ticket.0, Done::Looked(false))),
            Effect::Send(BlobReply::Unsealed(unsealed)) => lacks = unsealed.lacks,
            other => panic!("{other:?}"),
        }
        assert!(open.len() <= limits::LOOKS_OPEN_MAX);
    }
    assert!((limits::LACKS_MAX..limits::LACKS_MAX + limits::LOOKS_OPEN_MAX).contains(&lacks.len()), "{}", lacks.len());
}

#[test]
fn chunks_of_another_lease_are_taken_only_from_the_place_where_the_cell_has_them() {
    let from = tree(vec![lease(6)], vec![name(0, b"a"), name(0, b"b")]).to_blob();
    let read = || Done::Cell(Some((from.clone(), Timestamp::from_u64(5))));
    let leases = vec![lease(6), lease(7)];
    let unsealed = |tree: &BlobTree| {
        [Effect::Send(BlobReply::Unsealed(BlobUnsealed { lease: lease(7), tree: tree.id(), lacks: Vec::new() }))]
    };
    let shared = tree(leases.clone(), vec![name(0, b"a"), name(1, b"c")]);
    let mut gateway = Gateway::new();
    assert_eq!(gateway.ask(seal(shared.clone(), Some(cell()))), [Effect::ReadCell(Ticket(0), cell())]);
    let looks = gateway.done(0, read());
    assert_eq!(looks, [Effect::Look(Ticket(1), object(lease(7), ChunkId::of(b"c")))]);
    let effects = gateway.done(1, Done::Looked(true));
    let [Effect::Commit(_, RowCommit::Seal { holds: Some(held), .. })] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((held.at, &held.cell), (Timestamp::from_u64(5), &cell()));
    assert_eq!(gateway.done(2, Done::Conflict), unsealed(&shared), "the cell has changed");

    let elsewhere = tree(leases.clone(), vec![name(0, b"b"), name(1, b"c")]);
    let unknown = tree(leases, vec![name(0, b"x"), name(1, b"c")]);
    let others = tree(vec![lease(6), lease(8), lease(7)], vec![name(0, b"a"), name(2, b"c")]);
    for wrong in [elsewhere, unknown, others] {
        let mut gateway = Gateway::new();
        gateway.ask(seal(wrong.clone(), Some(cell())));
        assert_eq!(gateway.done(0, read()), unsealed(&wrong));
        gateway.ask(seal(wrong.clone(), Some(cell())));
        assert_eq!(gateway.done(1, Done::Cell(None)), unsealed(&wrong), "the cell is empty, or not to be read");
        assert_eq!(gateway.ask(seal(wrong.clone(), None)), unsealed(&wrong), "and of no cell");
    }
}

/// A shared node says indexes. Under another list of leases they would name chunks that nobody has seen there.
#[test]
fn a_shared_node_under_another_list_of_leases_is_looked_into() {
    let names: Vec<ChunkName> = (0..70_u32).map(|number| name((number % 2) as u8, &number.to_be_bytes())).collect();
    let node = encode_node(&names);
    let blob = |leases, lease| {
        let root = vec![ChunkName { lease, id: ChunkId::of(&node) }];
        let tree = Tree::new(Cutting::Fixed64K, 1, leases, root).expect("a tree");
        Blob::tree(70 * CHUNK, BlobDigest::from_bytes([0; 32]), tree).expect("of this shape")
    };
    let from = blob(vec![lease(5), lease(6)], 0);
    let swapped = BlobTree::of(&blob(vec![lease(6), lease(5), lease(7)], 1)).expect("it has chunks");
    let mut gateway = Gateway::new();
    gateway.ask(seal(swapped.clone(), Some(cell())));
    let effects = gateway.done(0, Done::Cell(Some((from, Timestamp::from_u64(5)))));
    assert_eq!(effects, [Effect::Load(Ticket(1), object(lease(5), ChunkId::of(&node)))]);
    let effects = gateway.done(1, Done::Loaded(Some(node.clone())));
    assert_eq!(effects, [Effect::Load(Ticket(2), object(lease(5), ChunkId::of(&node)))], "that of the cell");
    let effects = gateway.done(2, Done::Loaded(Some(node)));
    let lacks = Vec::new();
    let unsealed = BlobUnsealed { lease: lease(7), tree: swapped.id(), lacks };
    assert_eq!(effects, [Effect::Send(BlobReply::Unsealed(unsealed))]);
}

#[test]
fn a_node_that_lists_what_its_place_does_not_ask_for_ends_the_connection() {
    let mut gateway = Gateway::new();
    let node = Chunk::new(b"no list of names".to_vec());
    let root = vec![ChunkName { lease: 0, id: node.id }];
    let tree = Tree::new(Cutting::Fixed64K, 1, vec![lease(7)], root).expect("a tree");
    let blob = Blob::tree(70 * CHUNK, BlobDigest::from_bytes([0; 32]), tree).expect("of this shape");
    gateway.ask(seal(BlobTree::of(&blob).expect("it has chunks"), None));
    is_goodbye(&gateway.done(0, Done::Loaded(Some(node.content))), GoodbyeReason::Protocol);
}

#[test]
fn a_node_that_is_damaged_in_the_store_is_lacking() {
    let node = Chunk::new(encode_node(&[name(0, b"a"); 70]));
    let root = vec![ChunkName { lease: 0, id: node.id }];
    let tree = Tree::new(Cutting::Fixed64K, 1, vec![lease(7)], root).expect("a tree");
    let blob = Blob::tree(70 * CHUNK, BlobDigest::from_bytes([0; 32]), tree).expect("of this shape");
    let tree = BlobTree::of(&blob).expect("it has chunks");
    for damaged in [None, Some(b"bits".to_vec())] {
        let mut gateway = Gateway::new();
        gateway.ask(seal(tree.clone(), Some(cell())));
        let unsealed = BlobUnsealed { lease: lease(7), tree: tree.id(), lacks: vec![node.id] };
        assert_eq!(gateway.done(0, Done::Loaded(damaged)), [Effect::Send(BlobReply::Unsealed(unsealed))]);
    }
}

#[test]
fn a_tree_whose_last_lease_is_not_the_own_one_or_that_waits_for_one_ends_the_connection() {
    let waits = tree(vec![lease(7)], vec![name(1, b"a")]);
    let others = tree(vec![lease(7), lease(6)], vec![name(0, b"a")]);
    for wrong in [waits, others] {
        is_goodbye(&Gateway::new().ask(seal(wrong, None)), GoodbyeReason::Protocol);
    }
}

#[test]
fn a_chunk_is_sent_for_a_cell_that_lists_its_lease_and_may_be_read() {
    let blob = tree(vec![lease(6)], vec![name(0, b"a")]).to_blob();
    let mut gateway = Gateway::new();
    assert_eq!(gateway.ask(get(1, lease(6))), [Effect::ReadCell(Ticket(0), cell())]);
    let effects = gateway.done(0, Done::Cell(Some((blob.clone(), Timestamp::ZERO))));
    assert_eq!(effects, [Effect::Load(Ticket(1), object(lease(6), ChunkId::of(b"a")))]);
    let effects = gateway.done(1, Done::Loaded(Some(b"a".to_vec())));
    assert_eq!(effects, [Effect::Send(BlobReply::Chunk(1, pack(b"a")))]);
    assert!(matches!(gateway.ask(get(2, lease(6)))[..], [Effect::Load(..)]), "the cell is read once");
    assert_eq!(gateway.done(2, Done::Loaded(None)), [Effect::Send(BlobReply::Gone(2))]);
    gateway.ask(get(3, lease(8)));
    assert_eq!(gateway.done(3, Done::Cell(Some((blob, Timestamp::ZERO)))), [Effect::Send(BlobReply::Gone(3))]);
    gateway.ask(get(4, lease(8)));
    assert_eq!(gateway.done(4, Done::Cell(None)), [Effect::Send(BlobReply::Gone(4))]);
    gateway.ask(get(5, lease(8)));
    assert_eq!(gateway.done(5, Done::Unavailable), [Effect::Send(BlobReply::Unavailable(5))]);
}

#[test]
fn so_many_cells_are_known_and_then_they_are_read_again() {
    let blob = tree(vec![lease(6)], vec![name(0, b"a")]).to_blob();
    let mut gateway = Gateway::new();
    let ask = |gateway: &mut Gateway, number: i64| {
        let row = RowKey::new(&[Value::Int(number)]).expect("short");
        let get = BlobGet { request: 1, cell: Cell { row, ..cell() }, lease: lease(6), chunk: ChunkId::of(b"a") };
        match gateway.ask(BlobRequest::Get(get))[..] {
            [Effect::ReadCell(ticket, _)] => {
                let effects = gateway.done(ticket.0, Done::Cell(Some((blob.clone(), Timestamp::ZERO))));
                let [Effect::Load(ticket, _)] = effects[..] else { panic!("{effects:?}") };
                gateway.done(ticket.0, Done::Loaded(None));
                true
            }
            [Effect::Load(ticket, _)] => {
                gateway.done(ticket.0, Done::Loaded(None));
                false
            }
            ref other => panic!("{other:?}"),
        }
    };
    for number in 0..limits::CELLS_KNOWN_MAX as i64 {
        assert!(ask(&mut gateway, number));
    }
    assert!(!ask(&mut gateway, 0));
    assert!(ask(&mut gateway, -1));
    assert!(ask(&mut gateway, 0));
}

#[test]
fn a_second_hello_ends_the_connection() {
    let hello = iolite_wire::blobs::BlobHello {
        oldest_version: iolite_wire::blobs::BLOB_PROTOCOL_VERSION,
        newest_version: iolite_wire::blobs::BLOB_PROTOCOL_VERSION,
        token: String::new(),
        client: client(1),
    };
    is_goodbye(&Gateway::new().ask(BlobRequest::Hello(hello)), GoodbyeReason::Protocol);
}

#[test]
fn each_chunk_of_a_user_under_rights_is_judged_so_a_transfer_ends_when_the_row_goes_out_of_sight() {
    let blob = tree(vec![lease(6)], vec![name(0, b"a")]).to_blob();
    let mut gateway = Gateway { is_ruled: true, ..Gateway::new() };
    for request in 1..=3 {
        let effects = gateway.ask(get(request, lease(6)));
        let [Effect::ReadCell(ticket, _)] = effects[..] else { panic!("{effects:?}") };
        let read = (request < 3).then(|| (blob.clone(), Timestamp::ZERO));
        match gateway.done(ticket.0, Done::Cell(read))[..] {
            [Effect::Load(ticket, _)] if request < 3 => drop(gateway.done(ticket.0, Done::Loaded(None))),
            [Effect::Send(BlobReply::Gone(3))] => {}
            ref other => panic!("{other:?}"),
        }
    }
}
