//! Messages that can be read and make no sense here: tables that are none, wrong types, clocks of another time.

use std::time::{Duration, SystemTime};

use iolite_values::{
    Attempt, Cell, ColumnId, CoordinatorId, Counter, Decision, Element, Interest, KeyRange, LaneNumber, Operation,
    Read, RowKey, StoreIncarnation, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{
    FromClient, FromGateway, GoodbyeReason, Outcome, Rejection, Resume, Submit, Subscribe, SubscriptionId, Verdict,
};

use super::witness::{Witness, schema};
use crate::support::dev::{Dev, Folder};
use crate::support::raw_session::{RawSession, hello};

const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

fn in_ten_years() -> Timestamp {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("the clock is past 1970") + TEN_YEARS;
    Timestamp::new(since.as_micros() as u64, CoordinatorId::default())
}

fn seen_of(table: &str, mark: &str) -> Cell {
    let row = RowKey::new(&[Value::from(mark)]).expect("short");
    Cell { table: TableId::of(table), row, column: ColumnId::of("seen") }
}

/// A first attempt that read nothing.
pub fn submit(counter: u64, writes: Vec<Write>) -> Submit {
    Submit {
        counter: Counter(counter),
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        decision: Decision::Commit(writes),
        acknowledged: None,
        lane: LaneNumber::STRONG,
        follows: None,
    }
}

/// A session that was let in.
pub async fn enter(server: &Dev) -> RawSession {
    let mut session = RawSession::connect(&server.sync_url()).await;
    session.hello(&server.token(), schema().hash()).await;
    assert!(matches!(session.hear().await, Some(FromGateway::Welcome(_))));
    session
}

/// The outcome that comes next.
pub async fn outcome(session: &mut RawSession) -> Outcome {
    loop {
        match session.hear().await {
            Some(FromGateway::Advance(advance)) => {
                if let Some(outcome) = advance.outcomes.into_iter().next() {
                    return outcome;
                }
            }
            other => panic!("{other:?} in the place of an outcome"),
        }
    }
}

#[tokio::test]
async fn unknown_tables_and_wrong_types_are_rejected_by_name_and_change_nothing() {
    let folder = Folder::new("attack-contents");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let mut session = enter(&server).await;
    let wrong = [
        (seen_of("secrets", "mark 0"), Operation::Put(Value::Int(1))),
        (seen_of("marks", "mark 0"), Operation::Put(Value::from("one"))),
        (seen_of("marks", "mark 0"), Operation::Add(1)),
        (Cell { column: ColumnId::of("hidden"), ..seen_of("marks", "mark 0") }, Operation::Put(Value::Int(1))),
    ];
    for (counter, (cell, operation)) in (1..).zip(wrong) {
        session.say(&FromClient::Submit(submit(counter, vec![Write { cell, operation: operation.clone() }]))).await;
        let Outcome { verdict, .. } = outcome(&mut session).await;
        let Verdict::Rejected(Rejection::Invalid(reason)) = verdict else { panic!("{operation:?}: {verdict:?}") };
        assert!(!reason.is_empty());
    }
    let interest = Interest::Range { table: TableId::of("secrets"), range: KeyRange::all() };
    let interests = vec![(SubscriptionId(1), interest)];
    session.say(&FromClient::Subscribe(Subscribe { held: false, interests, first: Default::default() })).await;
    let said = session.hear().await;
    assert!(matches!(&said, Some(FromGateway::Goodbye(said)) if said.reason == GoodbyeReason::Schema), "{said:?}");
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn a_clock_ten_years_ahead_moves_nobody_elses() {
    let folder = Folder::new("attack-clock");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let mut session = enter(&server).await;
    let write = Write { cell: seen_of("marks", "mark 0"), operation: Operation::Put(Value::Int(1)) };
    let mut early = submit(1, vec![write]);
    early.snapshot = in_ten_years();
    early.reads = vec![Read::Cell { cell: seen_of("marks", "mark 0"), element: Element::Whole }];
    session.say(&FromClient::Submit(early)).await;
    let told = outcome(&mut session).await;
    let Verdict::Conflict(at_least) = told.verdict else { panic!("{told:?} for a state that does not exist") };
    assert!(at_least < in_ten_years().min(Timestamp::MAX), "it is sent back to the present");

    let mut from_the_future = RawSession::connect(&server.sync_url()).await;
    let mut held = hello(&server.token(), schema().hash());
    held.resume = Some(Resume { store: StoreIncarnation::default(), at: in_ten_years(), rights: None });
    from_the_future.say(&FromClient::Hello(held)).await;
    let said = from_the_future.hear().await;
    assert!(matches!(&said, Some(FromGateway::Welcome(welcome)) if !welcome.resumed), "of no history here: {said:?}");
    witness.noticed_nothing().await;
}
