//! The views of a log: what an operation changes is in the delivered one when all members have replayed it.

use std::sync::mpsc::channel;

use iolite::table::Register;
use iolite::{Client, Embedded, Mutators, Options, Schema, Table, Transaction, View, embedded, schema};
use tokio::time::timeout;

use crate::notes::PATIENCE;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(live, log = "sheet")]
struct Cells {
    #[key]
    sheet: String,
    #[key]
    at: String,
    #[column(default = 0)]
    times: Register<i64>,
}

fn app() -> Schema {
    schema().with::<Cells>().build().expect("valid")
}

fn times(tx: &mut Transaction<'_>) -> iolite::Result<i64> {
    tx.at(Cells::TIMES, ("budget", "B1")).get()
}

fn open(server: &Embedded) -> Client {
    let mutators =
        Mutators::new().operation("sheet", "set", |tx, times: i64| tx.at(Cells::TIMES, ("budget", "B1")).set(times));
    server.client(app(), Options::new().mutators(mutators)).expect("storage in memory")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operation_is_in_the_delivered_view_when_all_members_have_applied_it() {
    let server = embedded().await.expect("it starts");
    let [ann, bob] = [open(&server), open(&server)];
    let [of_ann, _of_bob] = [&ann, &bob].map(|client| client.log("sheet", "budget").expect("the schema has it"));
    let ((at_it, is_at_it), (let_go, go_on)) = (channel(), channel::<()>());
    // Bob's app is busy with what it sees first.
    let mut seen = bob.react(View::Confirmed, move |tx| {
        let times = times(tx)?;
        if times == 2 {
            let _ = at_it.send(());
            let _ = go_on.recv();
        }
        Ok(times)
    });
    timeout(PATIENCE, seen.wait_for(|times| *times == 0)).await.expect("in time").expect("open");
    let first = of_ann.run("set", &1).expect("called");
    timeout(PATIENCE, first.delivered()).await.expect("in time").expect("bob has it");
    assert_eq!(ann.peek(View::Delivered, times), Ok(1));
    let second = of_ann.run("set", &2).expect("called");
    timeout(PATIENCE, second.confirmed()).await.expect("in time").expect("confirmed");
    tokio::task::spawn_blocking(move || is_at_it.recv_timeout(PATIENCE)).await.expect("joined").expect("bob has it");
    assert_eq!((ann.peek(View::Confirmed, times), ann.peek(View::Delivered, times)), (Ok(2), Ok(1)));
    let marked = ann.difference(View::Optimistic, View::Delivered).expect("the view can tell");
    assert_eq!(marked.iter().map(|each| each.column.as_str()).collect::<Vec<_>>(), ["times"]);
    let mut watched = ann.react(View::Delivered, times);
    drop(let_go);
    timeout(PATIENCE, second.delivered()).await.expect("in time").expect("bob has it");
    timeout(PATIENCE, watched.wait_for(|times| *times == 2)).await.expect("it runs again").expect("open");
    assert_eq!(ann.peek(View::Delivered, times), Ok(2));
}

#[tokio::test]
async fn members_hear_of_each_other_and_of_who_leaves() {
    let server = embedded().await.expect("it starts");
    let [ann, bob] = [open(&server), open(&server)];
    let of_ann = ann.log("sheet", "budget").expect("the schema has it");
    let mut members = of_ann.on_members();
    let one = members.wait_for(|members| members.len() == 1 && members[0].is_own);
    timeout(PATIENCE, one).await.expect("in time").expect("open");
    let of_bob = bob.log("sheet", "budget").expect("the schema has it");
    timeout(PATIENCE, members.wait_for(|members| members.len() == 2)).await.expect("in time").expect("open");
    let mut of_both = of_bob.on_members();
    timeout(PATIENCE, of_both.wait_for(|members| members.len() == 2)).await.expect("in time").expect("open");
    let origins = |log: &iolite::Log| log.members().into_iter().map(|member| member.origin).collect::<Vec<_>>();
    assert_eq!(origins(&of_ann), origins(&of_bob), "by the same names");
    assert_eq!(of_bob.members().iter().filter(|member| member.is_own).count(), 1);
    of_bob.leave().expect("nothing is pending");
    let alone = members.wait_for(|members| members.len() == 1 && members[0].is_own);
    timeout(PATIENCE, alone).await.expect("in time").expect("open");
}
