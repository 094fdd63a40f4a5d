//! Reactive transactions, the cache below them, and links that misbehave.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;

use harness::{Harness, Stop, at, hit, hits, key, note, note_row, notes, title_put};
use iolite_client::{Limits, Output, ReactionId, ReactionTurn, RunOf, View};
use iolite_values::{Cell, CellState, KeyRange, Operation, Row, Value, Write};
use iolite_wire::message::{Advance, FromClient, FromGateway, Welcome};

fn titles(harness: &mut Harness) -> (iolite_client::ReactionId, Rc<RefCell<Vec<Vec<String>>>>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    let id = harness.react(View::Confirmed, move |tx| {
        let rows = tx.range(notes(), &KeyRange::all(), None, false)?;
        let title = |row: &Row| match row.cell(note(0, "title").column) {
            Some(CellState::Scalar(Value::String(text))) => text.to_string(),
            _ => "?".to_owned(),
        };
        log.borrow_mut().push(rows.iter().map(|(_, row)| title(row)).collect());
        Ok(())
    });
    (id, seen)
}

fn create(id: i64, title: &str) -> Vec<Write> {
    vec![Write { cell: Cell::row(notes(), key(id)), operation: Operation::Create }, title_put(id, title)]
}

#[test]
fn a_range_sees_rows_come_change_and_go() {
    let mut harness = Harness::new();
    harness.connect();
    let (_, seen) = titles(&mut harness);
    assert!(seen.borrow().is_empty(), "it waits for its data");
    harness.load(10, &[(notes(), key(2), note_row("b", 0))]);
    harness.advance(Advance { to: at(20), changes: create(1, "a"), ..Advance::default() });
    harness.advance(Advance { to: at(30), changes: vec![title_put(2, "c")], ..Advance::default() });
    let delete = Write { cell: Cell::row(notes(), key(1)), operation: Operation::Delete };
    harness.advance(Advance { to: at(40), changes: vec![delete], ..Advance::default() });
    let expected: [&[&str]; 4] = [&["b"], &["a", "b"], &["a", "c"], &["c"]];
    assert_eq!(*seen.borrow(), expected);
}

#[test]
fn one_advance_is_seen_whole_and_once() {
    let mut harness = Harness::new();
    harness.connect();
    let (_, seen) = titles(&mut harness);
    harness.load(10, &[]);
    harness.advance(Advance { to: at(20), more: true, changes: create(1, "a"), ..Advance::default() });
    assert_eq!(seen.borrow().len(), 1, "a part is not shown");
    harness.advance(Advance { to: at(20), changes: create(2, "b"), ..Advance::default() });
    assert_eq!(seen.borrow()[1..], [["a", "b"]]);
}

#[test]
fn a_part_whose_rest_never_came_changes_nothing() {
    let mut harness = Harness::new();
    harness.connect();
    let (_, seen) = titles(&mut harness);
    harness.load(10, &[]);
    harness.advance(Advance { to: at(20), more: true, changes: create(1, "a"), ..Advance::default() });
    harness.disconnect();
    harness.connect();
    assert_eq!((seen.borrow().len(), harness.client.at()), (1, at(10)));
}

#[test]
fn the_read_set_is_that_of_the_latest_run() {
    let mut harness = Harness::new();
    harness.connect();
    let id = harness.react(View::Confirmed, |tx| {
        let target = match tx.cell(&hits(1))? {
            Some(CellState::Counter(target)) => target,
            _ => 10,
        };
        tx.cell(&hits(target))?;
        Ok(())
    });
    harness.load(10, &[]);
    harness.load(11, &[]);
    harness.runs.clear();
    harness.advance(Advance { to: at(20), changes: vec![hit(10, 1)], ..Advance::default() });
    assert_eq!(harness.runs_of(RunOf::Reaction(id)), 1, "it looks at counter 10");
    harness.advance(Advance { to: at(30), changes: vec![hit(1, 20)], ..Advance::default() });
    harness.load(31, &[]);
    harness.runs.clear();
    harness.advance(Advance { to: at(40), changes: vec![hit(10, 1)], ..Advance::default() });
    assert_eq!(harness.runs_of(RunOf::Reaction(id)), 0, "now it looks at counter 20");
}

#[test]
fn a_change_that_leaves_the_answer_as_it_was_runs_nothing() {
    let mut harness = Harness::new();
    harness.connect();
    let id = harness
        .react(View::Confirmed, |tx| tx.contains(&note(1, "tags"), &Value::from("x")).map(drop).map_err(Stop::from));
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness.runs.clear();
    let insert = |tag: &str| Write { cell: note(1, "tags"), operation: Operation::Insert(Value::from(tag)) };
    harness.advance(Advance { to: at(20), changes: vec![insert("y")], ..Advance::default() });
    assert_eq!(harness.runs_of(RunOf::Reaction(id)), 0);
    harness.advance(Advance { to: at(30), changes: vec![insert("x")], ..Advance::default() });
    assert_eq!(harness.runs_of(RunOf::Reaction(id)), 1);
}

#[test]
fn what_was_held_is_read_offline_after_a_restart() {
    let mut harness = Harness::new();
    harness.connect();
    titles(&mut harness);
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    let mut harness = harness.reopened();
    let (_, seen) = titles(&mut harness);
    assert_eq!(*seen.borrow(), [["a"]]);
    harness.react(View::Confirmed, |tx| tx.cell(&hits(5)).map(drop).map_err(Stop::from));
    harness.client.go_offline();
    harness.settle();
    let id = harness.react(View::Confirmed, |tx| tx.cell(&hits(6)).map(drop).map_err(Stop::from));
    assert!(harness.other.contains(&Output::Unavailable(id)), "offline, a miss is told at once");
}

#[test]
fn a_resumed_session_asks_for_changes_since_what_is_held() {
    let mut harness = Harness::new();
    harness.connect();
    titles(&mut harness);
    harness.load(10, &[]);
    harness.disconnect();
    harness.link();
    let sent = harness.take_sent();
    let resumes = |message: &FromClient| matches!(message, FromClient::Hello(hello) if hello.resume.is_some_and(|resume| resume.at == at(10)));
    assert!(sent.last().is_some_and(resumes), "{sent:?}");
    harness.welcome(1);
    let sent = harness.take_sent();
    assert!(
        matches!(&sent[..], [FromClient::Subscribe(subscribe)] if subscribe.held && subscribe.interests.len() == 1)
    );
}

#[test]
fn nothing_is_asked_or_submitted_before_what_is_held_is_up_to_date() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    titles(&mut harness);
    harness.load(10, &[]);
    harness.disconnect();
    harness.mutate("hit");
    harness.link();
    harness.welcome(1);
    let waiting = harness.take_sent();
    assert!(!waiting.iter().any(|message| matches!(message, FromClient::Submit(_))), "{waiting:?}");
    harness.advance(Advance { to: at(20), ..Advance::default() });
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn another_history_empties_the_cache_and_keeps_the_queue() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let (_, seen) = titles(&mut harness);
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness.disconnect();
    harness.mutate("hit");
    harness.link();
    harness.take_sent();
    harness.welcome(2);
    assert_eq!(harness.client.pending().count(), 1);
    let sent = harness.take_sent();
    assert!(sent.iter().any(|message| matches!(message, FromClient::Subscribe(subscribe) if !subscribe.held)));
    assert!(sent.iter().any(|message| matches!(message, FromClient::Submit(_))));
    assert_eq!(seen.borrow().len(), 1, "it waits for the new history's rows");
}

#[test]
fn a_gateway_that_makes_no_sense_is_left_and_nothing_has_changed() {
    let mut harness = Harness::new();
    harness.connect();
    let (_, seen) = titles(&mut harness);
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    let nonsense: Vec<FromGateway> = vec![
        FromGateway::Advance(Advance { to: at(5), ..Advance::default() }),
        FromGateway::Advance(Advance { to: at(20), changes: vec![wrong_type()], ..Advance::default() }),
        FromGateway::SchemaWanted,
        FromGateway::Welcome(Welcome {
            version: iolite_wire::message::ProtocolVersion::CURRENT,
            store: iolite_values::StoreIncarnation::default(),
            resumed: false,
            clock_micros: None,
            centre: None,
            moved: false,
            client: harness::config("ann").fresh_client,
            subject: None,
            token_left: None,
        }),
    ];
    for message in nonsense {
        harness.other.clear();
        harness.tell(message.clone());
        assert!(harness.other.contains(&Output::Disconnect), "{message:?}");
        assert_eq!((harness.client.at(), seen.borrow().len()), (at(10), 1));
        harness.connect();
    }
    harness.other.clear();
    harness.input(iolite_client::Input::Frame(vec![0xff; 40]));
    assert!(harness.other.contains(&Output::Disconnect));
}

fn wrong_type() -> Write {
    Write { cell: note(1, "title"), operation: Operation::Add(1) }
}

#[test]
fn an_interest_that_nobody_needs_goes_when_there_are_too_many() {
    let mut harness = Harness::new();
    harness.connect();
    for id in 0..300 {
        let reaction = harness.react(View::Confirmed, move |tx| tx.cell(&hits(id)).map(drop).map_err(Stop::from));
        harness.load(10 + id as u64, &[]);
        assert!(harness.client.stop(reaction));
    }
    harness.advance(Advance { to: at(1000), ..Advance::default() });
    let dropped = harness.sent.iter().filter(|message| matches!(message, FromClient::Unsubscribe(_))).count();
    assert!(dropped > 0);
    assert!(!harness.client.stop(iolite_client::ReactionId(1)), "it was stopped before");
}

#[test]
fn a_client_may_have_narrower_limits() {
    let mut harness = Harness::with(Limits { idle_interests_max: 1, subscribe_part: 2, ..Limits::default() });
    harness.connect();
    harness.take_sent();
    let three = |tx: &mut iolite_client::Transaction<'_>| {
        (1..=3).for_each(|id| drop(tx.cell(&hits(id))));
        tx.cell(&hits(4)).map(drop).map_err(Stop::from)
    };
    let reaction = harness.react(View::Confirmed, three);
    let asked = |message: &FromClient| matches!(message, FromClient::Subscribe(own) if own.interests.len() == 2);
    assert_eq!(harness.take_sent().iter().filter(|message| asked(message)).count(), 2);
    assert!(harness.client.stop(reaction));
    harness.advance(Advance { to: at(1000), ..Advance::default() });
    let sent = harness.take_sent();
    assert!(
        matches!(&sent[..], [FromClient::Unsubscribe(two), FromClient::Unsubscribe(one)] if (two.len(), one.len()) == (2, 1)),
        "{sent:?}"
    );
}

#[test]
fn reactions_only_read() {
    let mut harness = Harness::new();
    harness.connect();
    let id = harness.react(View::Confirmed, |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    let failed = |output: &Output| matches!(output, Output::ReactionFailed { reaction, .. } if *reaction == id);
    assert!(harness.other.iter().any(failed));
}

#[test]
fn a_dead_link_is_noticed() {
    let mut harness = Harness::new();
    harness.connect();
    harness.take_sent();
    harness.pass(std::time::Duration::from_secs(11));
    assert!(matches!(harness.take_sent()[..], [FromClient::Ping(_)]));
    harness.other.clear();
    harness.pass(std::time::Duration::from_secs(15));
    assert!(harness.other.contains(&Output::Disconnect));
}

#[test]
fn columns_of_a_newer_schema_do_no_harm() {
    let mut harness = Harness::new();
    harness.connect();
    let (_, seen) = titles(&mut harness);
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    let newer = Write { cell: note(1, "added_later"), operation: Operation::Put(Value::Int(1)) };
    harness.advance(Advance { to: at(20), changes: vec![newer, title_put(1, "b")], ..Advance::default() });
    assert_eq!(seen.borrow().last().map(|last| last[0].as_str()), Some("b"));
}

#[test]
fn a_client_that_only_listens_still_tells_that_it_lives() {
    let mut harness = Harness::new();
    harness.connect();
    let mut pings = 0;
    for second in 1..60 {
        harness.pass(std::time::Duration::from_secs(1));
        harness.advance(Advance { to: at(second), ..Advance::default() });
        pings += harness.answer_pings();
    }
    assert!((4..=7).contains(&pings), "{pings}");
}

#[test]
fn a_page_whose_timers_come_minutes_late_keeps_its_link() {
    let mut harness = Harness::new();
    harness.connect();
    for round in 0..5 {
        harness.other.clear();
        harness.pass(std::time::Duration::from_secs(60));
        assert!(!harness.other.contains(&Output::Disconnect), "round {round}");
        let pings = harness.take_sent().into_iter().filter_map(|message| match message {
            FromClient::Ping(number) => Some(number),
            _ => None,
        });
        pings.collect::<Vec<_>>().into_iter().for_each(|number| harness.tell(FromGateway::Pong(number)));
    }
}

/// A reaction to the counter that counter 1 names, if it is above zero, and else to counter 10; and what adds to counter 1.
fn pointing() -> (Harness, iolite_client::ReactionId) {
    let mut harness = Harness::new();
    harness.mutator("on", |tx| Ok(tx.write(hits(1), Operation::Add(10))?));
    harness.mutator("back", |tx| Ok(tx.write(hits(1), Operation::Add(-10))?));
    harness.connect();
    let id = harness.react(View::Optimistic, |tx| {
        let target = match tx.cell(&hits(1))? {
            Some(CellState::Counter(target)) if target != 0 => target,
            _ => 10,
        };
        tx.cell(&hits(target + 10))?;
        Ok(())
    });
    harness.load(10, &[]);
    harness.load(11, &[]);
    (harness, id)
}

#[test]
fn who_waits_for_what_cannot_come_goes_on_when_it_is_not_needed_any_more() {
    let (mut harness, id) = pointing();
    harness.client.go_offline();
    harness.settle();
    harness.mutate("on");
    harness.mutate("on");
    assert!(harness.other.contains(&Output::Unavailable(id)), "counter 30 is not here");
    harness.runs.clear();
    harness.mutate("back");
    harness.mutate("back");
    assert!(harness.runs_of(RunOf::Reaction(id)) > 0, "what it needs is here");
}

#[test]
fn who_waits_may_come_to_wait_for_something_else_any_number_of_times() {
    let (mut harness, id) = pointing();
    harness.client.go_offline();
    harness.settle();
    for _ in 0..2 * iolite_client::Client::MISSES_MAX {
        harness.mutate("on");
    }
    let failed = |output: &Output| matches!(output, Output::ReactionFailed { reaction, .. } if *reaction == id);
    assert!(!harness.other.iter().any(failed), "each of them is asked for by what is there");
}

#[test]
fn beginning_many_reactions_looks_at_none_of_the_others_and_a_change_looks_at_whom_it_concerns() {
    const MANY: i64 = 500;
    let mut harness = Harness::new();
    harness.connect();
    harness.react(View::Confirmed, |tx| {
        tx.range(hits(0).table, &KeyRange::all(), None, false)?;
        Ok(())
    });
    harness.load(10, &[]);
    let before = harness.client.reactions_looked_at();
    for page in 0..MANY {
        harness.react(View::Optimistic, move |tx| {
            tx.cell(&hits(page))?;
            Ok(())
        });
    }
    let begun = harness.client.reactions_looked_at() - before;
    assert_eq!(begun, 0, "whose data is held runs at once");
    harness.advance(Advance { to: at(20), changes: vec![hit(7, 1)], ..Advance::default() });
    let looked_at = harness.client.reactions_looked_at() - before;
    assert_eq!(looked_at, 2, "the one of the page, and the one of all pages");
}

#[test]
fn a_change_looks_at_all_who_read_one_cell_and_at_nobody_else() {
    const MANY: u64 = 100;
    let mut harness = Harness::new();
    harness.connect();
    harness.react(View::Confirmed, |tx| {
        tx.range(hits(0).table, &KeyRange::all(), None, false)?;
        Ok(())
    });
    harness.load(10, &[]);
    for _ in 0..MANY {
        harness.react(View::Durable, |tx| {
            tx.cell(&hits(1))?;
            Ok(())
        });
        harness.react(View::Durable, |tx| {
            tx.cell(&hits(2))?;
            Ok(())
        });
    }
    let before = harness.client.reactions_looked_at();
    harness.advance(Advance { to: at(20), changes: vec![hit(1, 1)], ..Advance::default() });
    assert_eq!(harness.client.reactions_looked_at() - before, MANY + 1);
}

/// How often these ran since this was last asked.
fn runs(harness: &mut Harness, ids: [ReactionId; 2]) -> [usize; 2] {
    let runs = std::mem::take(&mut harness.runs);
    ids.map(|id| runs.iter().filter(|run| **run == RunOf::Reaction(id)).count())
}

fn give_turn(harness: &mut Harness, turn: ReactionTurn) {
    harness.client.set_reaction_turn(turn);
    harness.settle();
}

#[test]
fn reactions_that_are_held_back_run_in_the_turns_that_their_host_gives_them_and_once_in_each() {
    let mut harness = Harness::new();
    harness.connect();
    let (range, _) = titles(&mut harness);
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness.client.set_reaction_turn(ReactionTurn::Waits);
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    let cell = harness.react(View::Optimistic, |tx| {
        tx.cell(&hits(1))?;
        Ok(())
    });
    let both = [range, cell];
    runs(&mut harness, both);
    give_turn(&mut harness, ReactionTurn::Awaited);
    assert_eq!(runs(&mut harness, both), [0, 1], "it begins, and asks for what it misses");
    harness.load(20, &[]);
    give_turn(&mut harness, ReactionTurn::Awaited);
    assert_eq!(runs(&mut harness, both), [0, 1], "its data is here");
    let before = harness.client.views_number();
    harness.mutate("hit");
    harness.mutate("hit");
    harness.advance(Advance { to: at(30), changes: create(2, "b"), ..Advance::default() });
    assert_eq!(runs(&mut harness, both), [0, 0], "they wait for a turn");
    assert!(harness.client.reactions_wait() && harness.client.views_number() != before);
    give_turn(&mut harness, ReactionTurn::Awaited);
    assert_eq!(runs(&mut harness, both), [0, 0], "nobody waits for a first result");
    give_turn(&mut harness, ReactionTurn::All);
    assert_eq!((runs(&mut harness, both), harness.client.reactions_wait()), ([1, 1], false));
    harness.mutate("hit");
    assert_eq!(runs(&mut harness, both), [0, 0], "the turn is over when nothing is due");
}
