//! Anonymous transactions: results, conflicts, aborts.

use iolite::{CallError, Connection, MutationEnd, TransactError, abort};

use crate::notes::{open, wait_for_hits};

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
