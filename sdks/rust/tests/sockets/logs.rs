//! Logs: clients of one server replay the same operations in the same order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use iolite::table::Register;
use iolite::{
    Client, Embedded, LogError, MutationEnd, MutationStatus, Mutators, Options, Schema, Table, Transaction, View,
    embedded, embedded_in, schema,
};
use tokio::time::timeout;

use crate::notes::PATIENCE;
use crate::offline::Folder;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(live, log = "sheet")]
struct Cells {
    #[key]
    sheet: String,
    #[key]
    at: String,
    #[column(default = "")]
    text: Register<String>,
}

/// A table of a log that begins empty.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(live, log = "list")]
struct Lists {
    #[key]
    list: String,
    #[column(default = "")]
    text: Register<String>,
}

#[derive(Table, Clone, Debug, PartialEq)]
#[table(live)]
struct Plain {
    #[key]
    id: String,
    #[column(default = 0)]
    x: Register<i64>,
}

fn app() -> Schema {
    schema().with::<Cells>().with::<Lists>().with::<Plain>().beginning_with("sheet", "header").build().expect("valid")
}

fn text(tx: &mut Transaction<'_>, at: &str) -> iolite::Result<String> {
    tx.at(Cells::TEXT, ("budget", at)).get()
}

fn options() -> Options {
    let mutators = Mutators::new()
        .operation("sheet", "header", |tx, ()| tx.at(Cells::TEXT, ("budget", "A1")).set("Budget".to_owned()))
        .operation("sheet", "set", |tx, (at, text): (String, String)| {
            tx.at(Cells::TEXT, ("budget", at.as_str())).set(text)
        })
        .operation("sheet", "append", |tx, (at, more): (String, String)| {
            let before = text(tx, &at)?;
            tx.at(Cells::TEXT, ("budget", at.as_str())).set(before + &more)
        })
        .operation("list", "append", |tx, (list, more): (String, String)| {
            let before = tx.at(Lists::TEXT, list.as_str()).get()?;
            tx.at(Lists::TEXT, list.as_str()).set(before + &more)
        })
        .operation("sheet", "claim", |tx, who: String| match text(tx, "owner")?.as_str() {
            "" => tx.at(Cells::TEXT, ("budget", "owner")).set(who),
            owner => Err(iolite::abort(format!("it is {owner}'s"))),
        })
        .with("plain", |tx, x: i64| tx.at(Plain::X, "p").set(x));
    Options::new().mutators(mutators)
}

fn open(server: &Embedded) -> Client {
    server.client(app(), options()).expect("storage in memory")
}

async fn seen(client: &Client, view: View, at: &'static str) -> String {
    let read = client.read(view, move |tx| text(tx, at));
    (*timeout(PATIENCE, read).await.expect("in time").expect("it can be read")).clone()
}

async fn shows(client: &Client, at: &'static str, wanted: &str) {
    let mut reaction = client.react(View::Confirmed, move |tx| text(tx, at));
    let wait = async { while **reaction.next().await.expect("it can be read") != *wanted {} };
    timeout(PATIENCE, wait).await.expect("in time");
}

#[tokio::test]
async fn what_one_member_calls_the_others_replay_in_the_same_order() {
    let server = embedded().await.expect("it starts");
    let clients = [open(&server), open(&server), open(&server)];
    let logs = clients.each_ref().map(|client| client.log("sheet", "budget").expect("the schema has it"));
    for client in &clients {
        assert_eq!(seen(client, View::Confirmed, "A1").await, "Budget");
    }
    let mut calls = Vec::new();
    for turn in 0..60 {
        let who = turn % 3;
        calls.push(logs[who].run("append", &("B2", format!("{who}"))).expect("there is room"));
    }
    for call in calls {
        timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("it is confirmed");
        timeout(PATIENCE, call.delivered()).await.expect("in time").expect("all have replayed it");
    }
    let first = seen(&clients[0], View::Confirmed, "B2").await;
    assert_eq!(first.len(), 60);
    for client in &clients {
        shows(client, "B2", &first).await;
    }
    for who in ["0", "1", "2"] {
        assert_eq!(first.matches(who).count(), 20, "each operation once");
    }
    assert!(logs.iter().all(|log| log.position() == 61 && log.stopped().is_none()));
    logs[0].leave().expect("nothing is pending");
    let error = timeout(PATIENCE, clients[0].read(View::Confirmed, |tx| text(tx, "B2"))).await.expect("in time");
    assert!(error.is_err(), "it is not joined any more");
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn an_operation_is_seen_at_once_and_one_of_two_that_exclude_each_other_is_rejected() {
    let server = embedded().await.expect("it starts");
    let (ann, ben) = (open(&server), open(&server));
    let [of_ann, of_ben] = [&ann, &ben].map(|client| client.log("sheet", "budget").expect("the schema has it"));
    assert_eq!(seen(&ann, View::Confirmed, "owner").await, "");
    assert_eq!(seen(&ben, View::Confirmed, "owner").await, "");
    let calls = [of_ann.run("claim", &"ann"), of_ben.run("claim", &"ben")].map(|call| call.expect("there is room"));
    let mut ends = Vec::new();
    for call in &calls {
        ends.push(timeout(PATIENCE, call.confirmed()).await.expect("in time"));
    }
    let won = ends.iter().filter(|end| end.is_ok()).count();
    assert_eq!(won, 1, "{ends:?}");
    let lost = ends.iter().find_map(|end| end.as_ref().err()).expect("one of them");
    let owner = if ends[0].is_ok() { "ann" } else { "ben" };
    assert_eq!(*lost, MutationEnd::Rejected { reason: format!("it is {owner}'s") });
    for client in [&ann, &ben] {
        shows(client, "owner", owner).await;
    }
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn a_log_and_calls_that_were_made_offline_are_there_after_a_restart_of_client_and_server() {
    let (served, own) = (Folder::new("log-server"), Folder::new("log-client"));
    let server = embedded_in(&served.0).await.expect("it starts");
    let client = server.client(app(), options().directory(&own.0)).expect("its own storage");
    let log = client.log("sheet", "budget").expect("the schema has it");
    let call = log.run("append", &("B2", "1")).expect("there is room");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("it is confirmed");
    client.go_offline();
    let call = log.run("append", &("B2", "2")).expect("there is room");
    timeout(PATIENCE, call.durable()).await.expect("in time").expect("it is stored");
    assert!(matches!(call.status(), MutationStatus::Pending(_)));
    drop(log);
    client.close().await;
    server.stop().await.expect("it stops");
    let server = embedded_in(&served.0).await.expect("it starts again");
    let client = server.client(app(), options().directory(&own.0)).expect("its own storage");
    assert_eq!(seen(&client, View::Optimistic, "B2").await, "12");
    shows(&client, "B2", "12").await;
    let other = open(&server);
    let log = other.log("sheet", "budget").expect("the schema has it");
    shows(&other, "B2", "12").await;
    assert_eq!(log.position(), 3);
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn what_is_no_log_of_the_schema_and_what_is_not_joined_is_said() {
    let server = embedded().await.expect("it starts");
    let client = open(&server);
    assert_eq!(client.log("chart", "budget").map(drop), Err(LogError::Unknown { name: "chart".into() }));
    let read = client.read(View::Confirmed, |tx| text(tx, "A1"));
    let error = timeout(PATIENCE, read).await.expect("in time").expect_err("it is not joined");
    assert!(error.to_string().contains("join the log before you read it"), "{error}");
    let log = client.log("sheet", "budget").expect("the schema has it");
    let error = timeout(PATIENCE, log.run("unheardOf", &()).expect("it is called").confirmed()).await.expect("in time");
    assert!(error.is_err(), "{error:?}");
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn who_joins_a_long_log_begins_from_the_state_of_those_who_are_there() {
    let server = embedded().await.expect("it starts");
    let [first, second] = [open(&server), open(&server)];
    let log = first.log("sheet", "budget").expect("the schema has it");
    let _second_log = second.log("sheet", "budget").expect("the schema has it");
    // Eight pages, and one more.
    for number in 0..9 * 128 {
        let call = log.run("set", &("B2", format!("{number}"))).expect("there is room");
        if number % 32 == 0 {
            timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("it is confirmed");
        }
    }
    log.run("append", &("B2", "!")).expect("there is room").delivered().await.expect("both have replayed it");
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let mutators = Mutators::new().operation("sheet", "set", move |tx, (at, text): (String, String)| {
        counted.fetch_add(1, Ordering::Relaxed);
        tx.at(Cells::TEXT, ("budget", at.as_str())).set(text)
    });
    let mutators = mutators.operation("sheet", "append", |tx, (at, more): (String, String)| {
        let before = text(tx, &at)?;
        tx.at(Cells::TEXT, ("budget", at.as_str())).set(before + &more)
    });
    let late = server.client(app(), Options::new().mutators(mutators)).expect("storage in memory");
    let late_log = late.log("sheet", "budget").expect("the schema has it");
    shows(&late, "B2", "1151!").await;
    assert_eq!(seen(&late, View::Confirmed, "A1").await, "Budget", "the state has what the log began with");
    assert_eq!((late_log.position(), late_log.stopped(), late_log.differs()), (9 * 128 + 2, None, None));
    let replayed = runs.load(Ordering::Relaxed);
    assert!(replayed < 2 * 2 * 128, "it replays what came after the checkpoint only, not {replayed} entries");
}

#[tokio::test]
async fn members_whose_operations_do_not_do_the_same_are_told() {
    let server = embedded().await.expect("it starts");
    let named = |name: &'static str| {
        let mutators = Mutators::new().operation("sheet", "set", move |tx, (at, _): (String, String)| {
            tx.at(Cells::TEXT, ("budget", at.as_str())).set(name.to_owned())
        });
        let mutators = mutators.operation("sheet", "header", |_, ()| Ok(()));
        server.client(app(), Options::new().mutators(mutators)).expect("storage in memory")
    };
    let clients = [named("one"), named("other")];
    let logs = clients.each_ref().map(|client| client.log("sheet", "budget").expect("the schema has it"));
    for number in 0..8 * 128 {
        let call = logs[0].run("set", &("B2", "")).expect("there is room");
        if number % 32 == 31 {
            timeout(PATIENCE, call.delivered()).await.expect("in time").expect("both have replayed it");
        }
    }
    let told = async {
        while logs.iter().any(|log| log.differs() != Some(8 * 128 + 1)) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, told).await.expect("both are told where they differ");
}

#[tokio::test]
async fn what_is_called_in_many_logs_before_there_is_a_connection_is_sent_as_the_session_takes_it() {
    const LOGS: usize = 64;
    const CALLS: usize = 12;
    let server = embedded().await.expect("it starts");
    let client = open(&server);
    let logs: Vec<_> =
        (0..LOGS).map(|number| client.log("list", &*format!("list {number}")).expect("there is room")).collect();
    let mut calls = Vec::new();
    for number in 0..CALLS {
        for (place, log) in logs.iter().enumerate() {
            calls.push(log.run("append", &(format!("list {place}"), format!("{number} "))).expect("there is room"));
        }
    }
    for call in calls {
        timeout(PATIENCE, call.delivered()).await.expect("in time").expect("it is delivered");
    }
    let wanted: String = (0..CALLS).map(|number| format!("{number} ")).collect();
    for place in 0..LOGS {
        let list = format!("list {place}");
        let read = client.read(View::Confirmed, move |tx| tx.at(Lists::TEXT, list.as_str()).get());
        assert_eq!(*read.await.expect("it is joined"), wanted, "in the order of the calls, in list {place}");
    }
}
