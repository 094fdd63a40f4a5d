//! Anonymous transactions: results, conflicts, aborts.

use iolite::{CallError, Client, Connection, MutationEnd, TransactError, Transaction, View, abort};
use iolite_values::{Attempt, CoordinatorId, Timestamp};
use iolite_wire::message::{Advance, Outcome, Snapshot, Submit, Verdict};

use crate::notes::{hits, open, options, schema, wait_for_hits};
use crate::scripted_gateway::ScriptedGateway;

#[tokio::test]
async fn conflicting_transactions_run_again_and_each_takes_effect_once() {
    let server = iolite::embedded().await.expect("a server");
    let clients: Vec<_> = (0..4).map(|_| open(&server)).collect();
    clients[0].mutate("add", &("n", "0")).expect("called").confirmed().await.expect("confirmed");
    let mut tasks = Vec::new();
    for client in clients.clone() {
        tasks.push(tokio::spawn(async move {
            client.online().await.expect("let in");
            let mut seen = Vec::new();
            for _ in 0..25 {
                let count = |tx: &mut iolite::Transaction<'_>| {
                    let row = tx.row("notes", "n")?.ok_or_else(|| abort("the note is gone"))?;
                    let number: i64 = row.get::<String>("title")?.parse().map_err(|_| abort("not a number"))?;
                    tx.set("notes", "n", "title", (number + 1).to_string())?;
                    Ok(number)
                };
                seen.push(client.transact(count).await.expect("committed"));
            }
            seen
        }));
    }
    let mut seen = Vec::new();
    for task in tasks {
        seen.extend(task.await.expect("it did not panic"));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..100).collect::<Vec<i64>>(), "each run that took effect returned what it read");
}

#[tokio::test]
async fn an_abort_ends_a_transaction_without_effect() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    client.online().await.expect("let in");
    let ended = client.transact(|tx| {
        tx.add("hits", "home", "total", 5)?;
        Err::<(), _>(abort("changed my mind"))
    });
    let rejected = MutationEnd::Rejected { reason: "changed my mind".into() };
    assert_eq!(ended.await, Err(TransactError::End(rejected)));
    wait_for_hits(&client, 0).await;
}

#[tokio::test]
async fn a_transaction_needs_a_connection() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    client.go_offline();
    assert_eq!(*client.connection().borrow(), Connection::Offline);
    assert_eq!(client.transact(|_| Ok(())).await, Err(TransactError::Call(CallError::Offline)));
    client.go_online();
    client.online().await.expect("let in again");
    client.transact(|_| Ok(())).await.expect("committed");
}

#[tokio::test]
async fn a_call_inside_a_closure_is_refused_and_does_not_hang() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    client.online().await.expect("let in");
    let inner = client.clone();
    let refused = client.transact(move |_| Ok(inner.mutate("hit", "home").map(|_| ()))).await.expect("committed");
    assert_eq!(refused, Err(CallError::Nested));
}

#[tokio::test]
async fn clients_whose_closures_call_each_other_are_refused_and_do_not_hang() {
    let server = iolite::embedded().await.expect("a server");
    let (ann, ben) = (open(&server), open(&server));
    ann.online().await.expect("let in");
    let refused = ann.transact(move |_| Ok(ben.mutate("hit", "home").map(|_| ()))).await.expect("committed");
    assert_eq!(refused, Err(CallError::Nested));
}

#[tokio::test]
async fn a_closure_that_is_refused_may_own_what_calls_the_client() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    client.go_offline();
    let reaction = client.react(View::Confirmed, hits);
    let owner = move |_: &mut Transaction<'_>| Ok(reaction.latest().is_some());
    assert_eq!(client.transact(owner).await, Err(TransactError::Call(CallError::Offline)));
}

#[tokio::test]
async fn a_closure_that_depends_on_something_else_is_found_in_development() {
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(crate::notes::schema(), crate::notes::options().compare_runs(true)).expect("in memory");
    client.online().await.expect("let in");
    let mut runs = 0;
    let ended = client.transact(move |tx| {
        runs += 1;
        tx.add("hits", "home", "total", runs)
    });
    let end = ended.await.expect_err("its runs differ");
    assert!(end.to_string().contains("ran twice"), "{end}");
    client.transact(|tx| tx.add("hits", "home", "total", 1)).await.expect("committed");
    wait_for_hits(&client, 1).await;
}

#[tokio::test]
async fn a_closure_may_own_what_calls_its_client_when_it_is_dropped() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    client.online().await.expect("let in");
    let owned = client.react(iolite::View::Confirmed, crate::notes::hits);
    let done = client.transact(move |tx| {
        let _ = owned.latest();
        tx.add("hits", "home", "total", 1)
    });
    tokio::time::timeout(crate::notes::PATIENCE, done).await.expect("it does not hang").expect("committed");
}

fn at(micros: u64) -> Timestamp {
    Timestamp::new(micros, CoordinatorId::default())
}

/// Answers the subscription of a closure that counts hits, of which there are none, and takes its first attempt.
async fn take_first_attempt(gateway: &mut ScriptedGateway) -> Submit {
    let (subscription, _) = gateway.subscription().await.interests[0];
    let snapshots = vec![Snapshot { subscription, rows: Vec::new(), reaches: None }];
    gateway.advance(at(10), Advance { snapshots, ..Advance::default() }).await;
    gateway.submission().await
}

/// A copy of the first attempt was late, and committed when its conflict had been told. The page of the replica says when that can be.
#[tokio::test]
async fn a_transaction_returns_what_the_attempt_that_took_effect_returned() {
    let (url, gateway) = ScriptedGateway::listen().await;
    let client = Client::connect(&url, "", schema(), options()).expect("in memory");
    let mut gateway = gateway.await;
    client.online().await.expect("let in");
    let counting = client.transact(|tx| {
        tx.add("hits", "home", "total", 1)?;
        tx.counter("hits", "home", "total")
    });
    let script = async {
        let first = take_first_attempt(&mut gateway).await;
        let iolite_values::Decision::Commit(changes) = first.decision else { panic!("it was not given up") };
        let conflict = Outcome { counter: first.counter, attempt: first.attempt, verdict: Verdict::Conflict(at(20)) };
        gateway.advance(at(20), Advance { changes, outcomes: vec![conflict], ..Advance::default() }).await;
        let second = gateway.submission().await;
        assert_eq!((first.attempt, second.attempt), (Attempt(1), Attempt(2)));
        let outcome = Outcome { counter: first.counter, attempt: first.attempt, verdict: Verdict::Committed(at(30)) };
        gateway.advance(at(30), Advance { outcomes: vec![outcome], ..Advance::default() }).await;
    };
    let (counted, ()) = tokio::join!(counting, script);
    assert_eq!(counted, Ok(1), "the second attempt would have counted 2");
}

/// As after a lost link: the state that contains the commit is told before the outcome of the attempt that is sent again.
#[tokio::test]
async fn a_run_after_the_submission_does_not_change_what_is_returned() {
    let (url, gateway) = ScriptedGateway::listen().await;
    let client = Client::connect(&url, "", schema(), options()).expect("in memory");
    let mut gateway = gateway.await;
    client.online().await.expect("let in");
    let (ran, mut runs) = tokio::sync::mpsc::unbounded_channel();
    let counting = client.transact(move |tx| {
        tx.add("hits", "home", "total", 1)?;
        let total = tx.counter("hits", "home", "total")?;
        ran.send(total).expect("the test goes on");
        Ok(total)
    });
    let script = async {
        let first = take_first_attempt(&mut gateway).await;
        let iolite_values::Decision::Commit(changes) = first.decision else { panic!("it was not given up") };
        gateway.advance(at(20), Advance { changes, ..Advance::default() }).await;
        while runs.recv().await.expect("the closure is there") != 2 {}
        let outcome = Outcome { counter: first.counter, attempt: first.attempt, verdict: Verdict::Committed(at(20)) };
        gateway.advance(at(21), Advance { outcomes: vec![outcome], ..Advance::default() }).await;
    };
    let (counted, ()) = tokio::join!(counting, script);
    assert_eq!(counted, Ok(1), "the run on top of its own effect counted 2");
}
