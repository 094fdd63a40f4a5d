//! Exactly-once: one transaction, one outcome.

use iolite_values::{Attempt, CellState, ClientId, Counter, Decision, Id, Operation, Timestamp, Value};

use super::Behaviour;
use super::driver::{CLIENT, Driver, read, write};
use crate::{CommitReply, Completion, CompletionDecision, Refusal, Reply, Request};

pub const BEHAVIOURS: &[Behaviour] = &[
    ("a transaction that is sent again has its effect once", sent_again),
    ("a copy that is sent at the same time has its effect once", sent_twice),
    ("one id with two contents at once has the effect of one of them, once", two_contents),
    ("a commit without time has its outcome or is in doubt, and asked again has one", in_doubt),
    ("a commit in doubt that is given up has its one outcome", given_up),
    ("a later attempt is answered with the outcome of the earlier one", later_attempt),
    ("an attempt that conflicted can be run again", next_attempt),
    ("an earlier attempt does not take effect once a later one was seen", overtaken),
    ("an abort is validated and recorded and has no effect", abort),
    ("an abort on stale reads is a conflict", stale_abort),
    ("an acknowledged outcome is forgotten and its effect not repeated", acknowledged),
    ("acknowledging concerns one client", other_client),
    ("what became of a client's transactions can be read as of a timestamp", read_back),
    ("a commit is above everything that its client has seen", floor),
    ("a client that saw the far future is refused", far_floor),
];

fn add(driver: &mut Driver) -> iolite_values::Transaction {
    driver.transaction(Vec::new(), Decision::Commit(vec![write(1, Operation::Add(1))]))
}

fn committed(attempt: u32, at: Timestamp) -> CommitReply {
    let decision = CompletionDecision::Committed;
    CommitReply::Completed(Completion { attempt: Attempt(attempt), at, decision })
}

fn sent_again(driver: &mut Driver) {
    let transaction = add(driver);
    let at = driver.commit_of(&transaction);
    assert_eq!(driver.submit(&transaction), committed(1, at));
    assert_eq!(driver.cell(1), Some(CellState::Counter(1)));
}

fn sent_twice(driver: &mut Driver) {
    let transaction = add(driver);
    let request = Request::Commit { transaction, floor: Timestamp::ZERO, within: None };
    let (first, second) = (driver.begin(request.clone()), driver.begin(request));
    let first = driver.reply(first);
    assert_eq!(driver.reply(second), first);
    assert_eq!(driver.cell(1), Some(CellState::Counter(1)));
}

/// As when a client brings a transaction to one data centre and a courier brings it from another one: the effects are equal, and the pages that they are
/// appended to are not. The attempts are of two askers, which do not know of each other.
fn two_contents(driver: &mut Driver) {
    for (attempts, counters) in [([1, 1], [1, 2]), ([1, 2], [3, 4]), ([2, 1], [5, 6])] {
        let effect = write(1, Operation::Add(1));
        let contents = counters.map(|counter| vec![effect.clone(), write(counter + 1, Operation::Add(1))]);
        let first = driver.transaction(Vec::new(), Decision::Commit(contents[0].clone()));
        let second = iolite_values::Transaction { decision: Decision::Commit(contents[1].clone()), ..first.clone() };
        let before = count(driver, 1);
        let begun = [first, second].into_iter().zip(attempts).map(|(transaction, attempt)| {
            let transaction = iolite_values::Transaction { attempt: Attempt(attempt), ..transaction };
            driver.begin(Request::Commit { transaction, floor: Timestamp::ZERO, within: None })
        });
        let begun: Vec<_> = begun.collect();
        let replies: Vec<_> = begun.into_iter().map(|id| driver.reply(id)).collect();
        let completed = |reply: &&Reply| matches!(reply, Reply::Commit(CommitReply::Completed(_)));
        let outcomes: Vec<_> = replies.iter().filter(completed).collect();
        assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]) && !outcomes.is_empty(), "{replies:?}");
        let pages = counters.map(|counter| count(driver, counter + 1));
        assert_eq!((count(driver, 1) - before, pages[0] + pages[1]), (1, 1), "{attempts:?}");
    }
}

fn count(driver: &mut Driver, cell: i64) -> i64 {
    match driver.cell(cell) {
        Some(CellState::Counter(count)) => count,
        None => 0,
        other => panic!("{other:?}"),
    }
}

/// Begins it with no time to wait, and gives what it is told.
fn submit_at_once(driver: &mut Driver, transaction: &iolite_values::Transaction) -> CommitReply {
    let within = Some(std::time::Duration::ZERO);
    let request = Request::Commit { transaction: transaction.clone(), floor: Timestamp::ZERO, within };
    match driver.ask(request) {
        Reply::Commit(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn in_doubt(driver: &mut Driver) {
    let transaction = add(driver);
    let first = submit_at_once(driver, &transaction);
    let again = driver.submit(&transaction);
    let CommitReply::Completed(Completion { at, .. }) = again else { panic!("{again:?}") };
    assert_eq!(again, committed(1, at));
    let (id, attempt) = (transaction.id, transaction.attempt);
    let expected = [again.clone(), CommitReply::InDoubt { transaction: id, attempt }];
    assert!(expected.contains(&first), "{first:?}");
    assert_eq!(driver.submit(&transaction), again);
    assert_eq!(driver.cell(1), Some(CellState::Counter(1)));
}

fn given_up(driver: &mut Driver) {
    let transaction = add(driver);
    submit_at_once(driver, &transaction);
    let (attempt, decision) = (Attempt(2), Decision::Abort("given up".into()));
    let abort = iolite_values::Transaction { attempt, decision, ..transaction.clone() };
    let CommitReply::Completed(completion) = driver.submit(&abort) else { panic!("an outcome") };
    let value = match completion.decision {
        CompletionDecision::Committed => Some(CellState::Counter(1)),
        CompletionDecision::Aborted => None,
    };
    assert_eq!(driver.submit(&transaction), CommitReply::Completed(completion));
    driver.commit(vec![write(2, Operation::Add(1))]);
    assert_eq!(driver.cell(1), value);
}

fn later_attempt(driver: &mut Driver) {
    let mut transaction = add(driver);
    let at = driver.commit_of(&transaction);
    transaction.attempt = Attempt(2);
    assert_eq!(driver.submit(&transaction), committed(1, at));
}

fn next_attempt(driver: &mut Driver) {
    let decision = Decision::Commit(vec![write(1, Operation::Put(Value::Int(1)))]);
    let mut transaction = driver.transaction(vec![read(1)], decision);
    driver.commit(vec![write(1, Operation::Put(Value::Int(2)))]);
    let CommitReply::Conflict { at_least } = driver.submit(&transaction) else { panic!("it is one") };
    assert!(driver.resolved() >= at_least, "the feed reaches what a client needs to run again");
    transaction.attempt = Attempt(2);
    transaction.snapshot = driver.resolved();
    driver.commit_of(&transaction);
    assert_eq!(driver.cell(1), Some(CellState::Scalar(Value::Int(1))));
}

fn overtaken(driver: &mut Driver) {
    let early = add(driver);
    let mut late = early.clone();
    late.attempt = Attempt(2);
    late.reads = vec![read(2)];
    driver.commit(vec![write(2, Operation::Add(1))]);
    assert!(matches!(driver.submit(&late), CommitReply::Conflict { .. }));
    assert!(matches!(driver.submit(&early), CommitReply::Conflict { .. }));
    assert_eq!(driver.cell(1), None);
}

fn abort(driver: &mut Driver) {
    let transaction = driver.transaction(vec![read(1)], Decision::Abort("no".into()));
    let reply = driver.submit(&transaction);
    let CommitReply::Completed(Completion { decision: CompletionDecision::Aborted, attempt, .. }) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(attempt, Attempt(1));
    assert_eq!(driver.submit(&transaction), reply);
    assert_eq!(driver.told(), vec![]);
}

fn stale_abort(driver: &mut Driver) {
    let transaction = driver.transaction(vec![read(1)], Decision::Abort("no".into()));
    driver.commit(vec![write(1, Operation::Add(1))]);
    assert!(matches!(driver.submit(&transaction), CommitReply::Conflict { .. }));
}

fn acknowledged(driver: &mut Driver) {
    let first = add(driver);
    driver.commit_of(&first);
    let second = add(driver);
    let at = driver.commit_of(&second);
    let through = first.id.counter;
    assert_eq!(driver.ask(Request::Acknowledge { client: CLIENT, through }), Reply::Acknowledged);
    assert_eq!(driver.ask(Request::Acknowledge { client: CLIENT, through }), Reply::Acknowledged);
    assert_eq!(driver.submit(&first), CommitReply::Forgotten);
    assert_eq!(driver.submit(&second), committed(1, at));
    assert_eq!(driver.cell(1), Some(CellState::Counter(2)));
}

fn other_client(driver: &mut Driver) {
    let transaction = add(driver);
    let at = driver.commit_of(&transaction);
    let client = ClientId(Id::from_u128(2));
    assert_eq!(driver.ask(Request::Acknowledge { client, through: transaction.id.counter }), Reply::Acknowledged);
    assert_eq!(driver.submit(&transaction), committed(1, at));
}

fn read_back(driver: &mut Driver) {
    let (first, given_up, last) =
        (add(driver), driver.transaction(Vec::new(), Decision::Abort("no".into())), add(driver));
    let first_at = driver.commit_of(&first);
    let given_up = (given_up.id.counter, driver.submit(&given_up));
    let last_at = driver.commit_of(&last);
    let at = driver.resolved();
    assert!(at >= last_at);
    let completion = |(counter, reply)| match reply {
        CommitReply::Completed(completion) => (counter, completion),
        other => panic!("{other:?}"),
    };
    let [first, given_up, last] =
        [(first.id.counter, committed(1, first_at)), given_up, (last.id.counter, committed(1, last_at))]
            .map(completion);
    assert_eq!(given_up.1.decision, CompletionDecision::Aborted);
    let none = Counter(0);
    let questions = [
        (CLIENT, none, at, 3, vec![first.clone(), given_up.clone(), last.clone()]),
        (CLIENT, none, at, 1, vec![first.clone()]),
        (CLIENT, none, first_at, 3, vec![first.clone()]),
        (CLIENT, first.0, at, 3, vec![given_up, last.clone()]),
        (CLIENT, last.0, at, 3, vec![]),
        (ClientId(Id::from_u128(0)), none, at, 3, vec![]),
        (ClientId(Id::from_u128(2)), none, at, 3, vec![]),
    ];
    for (client, after, at, most, expected) in questions {
        let question = Request::Completions { client, after, at, most };
        assert_eq!(driver.ask(question.clone()), Reply::Completions(Ok(expected)), "{question:?}");
    }
    let (unknown, through) = (ClientId(Id::from_u128(2)), last.0);
    let last_of = |driver: &mut Driver, client, at| driver.ask(Request::LastOutcome { client, at });
    for (client, at, expected) in [(CLIENT, at, through), (CLIENT, first_at, first.0), (unknown, at, none)] {
        assert_eq!(last_of(driver, client, at), Reply::LastOutcome(Ok(expected)), "{client:?} {at:?}");
    }
    assert_eq!(driver.ask(Request::Acknowledge { client: CLIENT, through }), Reply::Acknowledged);
    assert_eq!(last_of(driver, CLIENT, at), Reply::LastOutcome(Ok(through)), "what is acknowledged is known");
    let reply = last_of(driver, CLIENT, Timestamp::MAX);
    assert!(matches!(reply, Reply::Refused(Refusal::NotResolved { .. })), "{reply:?}");
    let question = Request::Completions { client: CLIENT, after: none, at: Timestamp::MAX, most: 3 };
    let reply = driver.ask(question);
    assert!(matches!(reply, Reply::Refused(Refusal::NotResolved { .. })), "{reply:?}");
}

fn floor(driver: &mut Driver) {
    let seen = Timestamp::end_of(driver.commit(vec![write(2, Operation::Add(1))]).micros() + 50_000);
    let transaction = add(driver);
    let at = match driver.ask(Request::Commit { transaction: transaction.clone(), floor: seen, within: None }) {
        Reply::Commit(CommitReply::Completed(completion)) => completion.at,
        other => panic!("{other:?}"),
    };
    assert!(at > seen);
    assert_eq!(driver.commit_of(&transaction), at);
}

fn far_floor(driver: &mut Driver) {
    let ten_years = 10 * 365 * 24 * 3_600_000_000;
    let seen = Timestamp::end_of(driver.commit(vec![write(2, Operation::Add(1))]).micros() + ten_years);
    let transaction = add(driver);
    let reply = driver.ask(Request::Commit { transaction, floor: seen, within: None });
    assert!(matches!(reply, Reply::Refused(Refusal::TooFarAhead { .. })), "{reply:?}");
    assert!(driver.commit(vec![write(2, Operation::Add(1))]) < seen, "others are not disturbed");
}
