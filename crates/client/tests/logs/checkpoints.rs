//! Checkpoints at a member: what it says of its state, and how it begins from the state of others.

use iolite_logs::State;
use iolite_wire::logs::LogState;
use iolite_wire::message::{FromGateway, LogHash, LogPart, RowSnapshot};

use super::*;

/// The entries in front of the first block: eight pages of 128.
const FIRST_BLOCK: u64 = 8 * 128;

/// The same harness, whose member has replayed the first block.
fn at_a_block() -> (Harness, Server) {
    let (mut harness, mut server) = joined();
    harness.load(100, &[]);
    for _ in 0..FIRST_BLOCK {
        tell_other(&mut harness, &mut server, "count");
    }
    (harness, server)
}

fn said(harness: &mut Harness) -> Vec<LogHash> {
    let sent = harness.take_sent().into_iter();
    sent.filter_map(|message| if let FromClient::LogHash(hash) = message { Some(hash) } else { None }).collect()
}

/// A state in which `B1` was counted so often.
fn state(times: i64) -> State {
    let cell = |column: &str, value| (ColumnId::of(column), CellState::Scalar(value));
    let row = Row::from_parts(true, [cell("times", Value::Int(times))]);
    let rows = vec![RowSnapshot { table: cells(), key: self::row("B1"), row }];
    State::new(LogState { rows }.encode().expect("it is small"))
}

/// The rows of a checkpoint in front of a block.
fn checkpoint(block: u64, index: u64, pages_from: u64, state: &State) -> Vec<(TableId, RowKey, Row)> {
    let made = |key: RowKey, writes: Vec<Write>| {
        let mut row = Row::default();
        writes.iter().for_each(|write| row.apply(write.cell.column, &write.operation).expect("it fits"));
        (LogCheckpoint::table(), key, row)
    };
    let head = LogCheckpoint { block, index, hash: state.hash(), parts: state.parts(), pages_from };
    let key = LogCheckpoint::head_key(&budget(), block).expect("short");
    let part = LogCheckpoint::part_key(&budget(), block, 0).expect("short");
    let bytes = state.part(0).expect("it has one").to_vec();
    vec![made(key.clone(), head.write_head(&key)), made(part.clone(), LogCheckpoint::write_part(&part, &bytes))]
}

fn writes_of(rows: &[(TableId, RowKey, Row)]) -> Vec<Write> {
    let cells = |(table, key, row): &(TableId, RowKey, Row)| {
        let (table, key) = (*table, key.clone());
        let cells = row.cells().map(|(column, state)| (column, state.clone())).collect::<Vec<_>>();
        let life = Write { cell: Cell::row(table, key.clone()), operation: Operation::Create };
        let put = cells.into_iter().map(move |(column, state)| {
            let CellState::Scalar(value) = state else { panic!("it has scalars only") };
            Write { cell: Cell { table, row: key.clone(), column }, operation: Operation::Put(value) }
        });
        [life].into_iter().chain(put)
    };
    rows.iter().flat_map(cells).collect()
}

/// A client that joins a log of which there is a checkpoint.
fn joining(rows: &[(TableId, RowKey, Row)]) -> Harness {
    let mut harness = Harness::with_schema(APP);
    operations(&mut harness);
    harness.connect();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    harness.settle();
    harness.load(100, rows);
    harness.load(100, rows);
    harness
}

fn position(harness: &Harness) -> u64 {
    harness.client.logs().next().expect("it is joined").position
}

#[test]
fn a_member_says_what_it_has_in_front_of_a_block_and_gives_it_to_who_asks() {
    let (mut harness, _) = at_a_block();
    let all = said(&mut harness);
    let [hash] = &all[..] else { panic!("it says so once: {all:?}") };
    assert_eq!((hash.block, hash.index, &hash.log), (1, FIRST_BLOCK + 1, &budget()));
    let asked = LogPart { log: budget(), block: 1, part: 0, state: Vec::new() };
    harness.tell(FromGateway::LogWanted(asked.clone()));
    harness.tell(FromGateway::LogWanted(LogPart { block: 2, ..asked.clone() }));
    harness.tell(FromGateway::LogWanted(LogPart { part: 1, ..asked }));
    let given = harness.take_sent().into_iter();
    let given: Vec<LogPart> =
        given.filter_map(|message| if let FromClient::LogPart(part) = message { Some(part) } else { None }).collect();
    let [part] = &given[..] else { panic!("it has one of these only: {given:?}") };
    assert_eq!(State::new(part.state.clone()).hash(), hash.hash);
    let rows = LogState::decode(&part.state).expect("it is a state").rows;
    assert_eq!(rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>(), [row("A1"), row("B1")]);
    // A new session does not know it.
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    assert_eq!(said(&mut harness), all);
}

#[test]
fn who_joins_begins_from_the_last_checkpoint_and_replays_what_came_after_it() {
    let state = state(40);
    let mut harness = joining(&checkpoint(3, 3000, 16, &state));
    let confirmed = watch(&mut harness, View::Confirmed);
    assert_eq!((times_of(&confirmed), position(&harness)), (40, 3000));
    assert_eq!(text_of(&confirmed, "A1"), "", "what the log begins with is in the state, or was undone there");
    let page = budget().page(24).expect("short");
    let writes = Server::default().other("count").into_iter();
    let writes = writes.map(|write| Write { cell: Cell { row: page.clone(), ..write.cell }, ..write });
    harness.advance(Advance { to: at(200), changes: writes.collect(), ..Advance::default() });
    assert_eq!((times_of(&confirmed), position(&harness)), (41, 3001));
    // What it holds is stored with the position behind it.
    let mut reopened = Harness::on_with_schema(harness.storage.clone(), APP);
    let confirmed = watch(&mut reopened, View::Confirmed);
    assert_eq!((times_of(&confirmed), position(&reopened)), (41, 3001));
}

#[test]
fn a_member_whose_next_page_is_gone_goes_on_from_the_checkpoint() {
    let (mut harness, mut server) = joined();
    let confirmed = watch(&mut harness, View::Confirmed);
    tell_other(&mut harness, &mut server, "count");
    let state = state(40);
    let [head, part] = checkpoint(3, 3000, 0, &state).try_into().expect("a head and a part");
    // Its pages are there still.
    harness.advance(Advance { to: at(150), changes: writes_of(&[head]), ..Advance::default() });
    server.now = 150;
    tell_other(&mut harness, &mut server, "count");
    assert_eq!((times_of(&confirmed), position(&harness)), (2, 3));
    let [head, _] = checkpoint(4, 4000, 8, &state).try_into().expect("a head and a part");
    harness.advance(Advance { to: at(300), changes: writes_of(std::slice::from_ref(&head)), ..Advance::default() });
    assert_eq!(times_of(&confirmed), 2, "the state is not here yet");
    let part_4 = (part.0, LogCheckpoint::part_key(&budget(), 4, 0).expect("short"), part.2);
    harness.load(301, &[head, part_4]);
    assert_eq!((times_of(&confirmed), position(&harness)), (40, 4000));
}

#[test]
fn of_an_own_operation_that_is_in_a_checkpoint_nobody_says_that_it_took_effect() {
    let (mut harness, _) = joined();
    let optimistic = watch(&mut harness, View::Optimistic);
    let counter = harness.operate(&budget(), "count");
    let later = harness.operate(&budget(), "count");
    let submits = harness.take_submits();
    let state = state(40);
    let rows = checkpoint(3, 3000, 24, &state);
    let committed = Outcome { counter, attempt: submits[0].attempt, verdict: Verdict::Committed(at(120)) };
    harness.advance(Advance {
        to: at(200),
        changes: writes_of(&rows[..1]),
        outcomes: vec![committed],
        ..Advance::default()
    });
    harness.load(201, &rows);
    let MutationStatus::Quarantined { reason } = harness.last_status(counter) else {
        panic!("{:?}", harness.last_status(counter))
    };
    assert!(reason.contains("is not known"), "{reason}");
    assert!(matches!(harness.last_status(later), MutationStatus::Pending(_)), "it is not committed yet");
    assert_eq!(times_of(&optimistic), 41, "the state, and what is pending on top");
}

#[test]
fn another_state_in_front_of_the_same_block_is_told_to_the_app() {
    let (mut harness, _) = at_a_block();
    let hash = said(&mut harness).pop().expect("it says so");
    let told = |harness: &Harness| {
        let all = harness.other.iter().filter_map(|output| match output {
            Output::LogDiffers { log, index } => Some((log.clone(), *index)),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    harness.tell(FromGateway::LogDiffers(LogHash { hash: [1; 32], ..hash.clone() }));
    harness.tell(FromGateway::LogDiffers(LogHash { hash: [1; 32], ..hash.clone() }));
    assert_eq!(told(&harness), [(budget(), FIRST_BLOCK + 1)], "once");
    assert_eq!(harness.client.logs().next().and_then(|joined| joined.differs), Some(FIRST_BLOCK + 1));
    // A checkpoint that others have made says the same.
    let (mut harness, _) = at_a_block();
    harness.advance(Advance {
        to: at(90_000),
        changes: writes_of(&checkpoint(1, FIRST_BLOCK + 1, 0, &state(7))[..1]),
        ..Advance::default()
    });
    assert_eq!(told(&harness), [(budget(), FIRST_BLOCK + 1)]);
}

#[test]
fn a_checkpoint_that_is_not_what_its_head_says_stops_the_log_and_nothing_is_lost() {
    let mut rows = checkpoint(3, 3000, 16, &state(40));
    rows[1].2 = checkpoint(3, 3000, 16, &state(41))[1].2.clone();
    let harness = joining(&rows);
    let stopped = harness.client.logs().next().and_then(|joined| joined.stopped).expect("it stands still");
    assert!(stopped.contains("checkpoint"), "{stopped}");
}

#[test]
fn nothing_is_appended_to_a_page_that_is_gone_while_the_checkpoint_is_on_its_way() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "count");
    harness.take_sent();
    let state = state(40);
    let rows = checkpoint(4, 4000, 24, &state);
    let gone =
        Write { cell: Cell::row(LogPages::table(), budget().page(0).expect("short")), operation: Operation::Delete };
    let changes = [writes_of(&rows[..1]), vec![gone]].concat();
    harness.advance(Advance { to: at(300), changes, is_owed: true, ..Advance::default() });
    let counter = harness.operate(&budget(), "count");
    let sent = harness.take_sent();
    assert!(!sent.iter().any(|message| matches!(message, FromClient::Submit(_))), "{sent:?}");
    assert!(!sent.contains(&FromClient::Applied(at(300))), "what is behind the checkpoint is not replayed yet");
    // The parts come, and then the call goes to the page behind the checkpoint.
    harness.sent = sent;
    harness.load(301, &rows);
    let submit = harness.take_submits().pop().expect("it is sent now");
    assert_eq!(LogPages::read_key(&submit.decision.writes()[0].cell.row), Some((budget(), 32)));
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)));
}
