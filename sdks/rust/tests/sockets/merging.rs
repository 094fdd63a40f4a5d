//! Tables that merge: calls take place at the device, offline too, and no two of them are in conflict. Two clients and a server.

use iolite::table::{Counter, Register, Set};
use iolite::{
    Abort, Client, Embedded, MutationEnd, MutationHandle, Mutators, Options, Schema, Table, Transaction, View, schema,
};
use tokio::time::timeout;

use crate::notes::PATIENCE;
use crate::offline::Folder;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "people", causal)]
struct Person {
    #[key]
    id: String,
    born: i64,
    status: Register<String>,
    friends: Set<String>,
    visits: Counter,
}

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "tasks")]
struct Task {
    #[key]
    id: String,
}

fn app() -> Schema {
    schema().with::<Person>().with::<Task>().build().expect("valid")
}

fn join(tx: &mut Transaction<'_>, id: String) -> iolite::Result<()> {
    let (status, friends) = (Register("new".into()), Set(Vec::new()));
    tx.create(&Person { id, born: 1970, status, friends, visits: Counter(0) })
}

fn befriend(tx: &mut Transaction<'_>, (me, other): (String, String)) -> iolite::Result<()> {
    tx.at(Person::FRIENDS, &me).insert(other.clone())?;
    tx.at(Person::FRIENDS, &other).insert(me)
}

fn options() -> Options {
    let mutators = Mutators::new()
        .with("join", join)
        .with("befriend", befriend)
        .with("part", |tx: &mut Transaction<'_>, (me, other): (String, String)| {
            tx.at(Person::FRIENDS, &me).remove(other.clone())?;
            tx.at(Person::FRIENDS, &other).remove(me)
        })
        .with("visit", |tx: &mut Transaction<'_>, id: String| tx.at(Person::VISITS, &id).add(1))
        .with("say", |tx: &mut Transaction<'_>, (id, status): (String, String)| tx.at(Person::STATUS, &id).set(status))
        .with("leave", |tx: &mut Transaction<'_>, id: String| tx.delete("people", &id))
        .with("born", |tx: &mut Transaction<'_>, id: String| tx.at(Person::BORN, &id).set(1980))
        .with("both", |tx: &mut Transaction<'_>, id: String| {
            join(tx, id.clone())?;
            tx.create(&Task { id })
        });
    Options::new().mutators(mutators)
}

/// A client that holds all people.
async fn client(server: &Embedded, options: Options) -> Client {
    let client = server.client(app(), options).expect("opened");
    client.online().await.expect("let in");
    let mut people = client.pin(|tx| tx.all::<Person>().map(drop));
    people.next().await.expect("they are here");
    std::mem::forget(people);
    client
}

async fn confirmed(client: &Client, name: &str, arguments: &impl serde::Serialize) {
    let call = client.mutate(name, arguments).expect("called");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
}

async fn here(client: &Client, name: &str, arguments: &impl serde::Serialize) -> MutationHandle {
    let call = client.mutate(name, arguments).expect("called");
    timeout(PATIENCE, call.durable()).await.expect("in time").expect("on this device");
    call
}

/// A person's status, friends and visits.
type Shown = Option<(String, Vec<String>, i64)>;

async fn shown(client: &Client, view: View, id: &'static str) -> Shown {
    let read = client.read(view, move |tx| {
        let person = tx.get::<Person>(id)?;
        Ok::<_, Abort>(person.map(|own| (own.status.0, own.friends.0, own.visits.0)))
    });
    (*timeout(PATIENCE, read).await.expect("in time").expect("it can be read")).clone()
}

fn person(status: &str, friends: &[&str], visits: i64) -> Shown {
    Some((status.into(), friends.iter().map(|own| (*own).to_owned()).collect(), visits))
}

async fn sees(client: &Client, id: &'static str, wanted: &Shown) {
    let seen = async {
        while shown(client, View::Confirmed, id).await != *wanted {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let in_time = timeout(PATIENCE, seen).await;
    assert!(in_time.is_ok(), "it shows {:?}", shown(client, View::Confirmed, id).await);
}

#[tokio::test]
async fn two_who_change_one_row_offline_merge() {
    let server = iolite::embedded().await.expect("a server");
    let (one, other) = (client(&server, options()).await, client(&server, options()).await);
    for id in ["ann", "ben", "cid"] {
        confirmed(&one, "join", &id).await;
        sees(&other, id, &person("new", &[], 0)).await;
    }
    confirmed(&one, "befriend", &("ann", "ben")).await;
    sees(&other, "ann", &person("new", &["ben"], 0)).await;
    one.go_offline();
    other.go_offline();
    let calls = [
        here(&one, "visit", &"ann").await,
        here(&one, "say", &("ann", "at sea")).await,
        here(&one, "part", &("ann", "ben")).await,
        here(&other, "visit", &"ann").await,
        here(&other, "befriend", &("ann", "cid")).await,
        here(&other, "befriend", &("ann", "ben")).await,
    ];
    assert_eq!(shown(&one, View::Optimistic, "ann").await, person("at sea", &[], 1));
    assert_eq!(shown(&other, View::Optimistic, "ann").await, person("new", &["ben", "cid"], 1));
    one.go_online();
    other.go_online();
    // What is pending may hide what is confirmed until both have all.
    for call in calls {
        timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
    }
    let merged = person("at sea", &["ben", "cid"], 2);
    for client in [&one, &other] {
        sees(client, "ann", &merged).await;
        assert_eq!(shown(client, View::Optimistic, "ann").await, merged);
    }
}

#[tokio::test]
async fn what_took_place_offline_is_there_after_a_restart_and_counts_once() {
    let folder = Folder::new("merging");
    let server = iolite::embedded().await.expect("a server");
    let other = client(&server, options()).await;
    let one = client(&server, options().directory(&folder.0)).await;
    confirmed(&one, "join", &"ann").await;
    one.go_offline();
    for _ in 0..20 {
        here(&one, "visit", &"ann").await;
    }
    here(&one, "say", &("ann", "at sea")).await;
    one.close().await;

    // This version of the app has no mutators: nothing runs again.
    let one = server.client(app(), Options::new().directory(&folder.0)).expect("a closed folder");
    one.go_offline();
    assert_eq!(one.pending().len(), 21);
    assert_eq!(shown(&one, View::Optimistic, "ann").await, person("at sea", &[], 20));
    one.go_online();
    sees(&other, "ann", &person("at sea", &[], 20)).await;
    sees(&one, "ann", &person("at sea", &[], 20)).await;
    assert_eq!(one.pending().len(), 0);
}

#[tokio::test]
async fn a_row_that_was_deleted_and_changed_at_once_comes_back_whole() {
    let server = iolite::embedded().await.expect("a server");
    let (one, other) = (client(&server, options()).await, client(&server, options()).await);
    confirmed(&one, "join", &"ann").await;
    confirmed(&one, "befriend", &("ann", "ann")).await;
    confirmed(&one, "visit", &"ann").await;
    sees(&other, "ann", &person("new", &["ann"], 1)).await;
    one.go_offline();
    here(&one, "visit", &"ann").await;
    confirmed(&other, "leave", &"ann").await;
    assert_eq!(shown(&other, View::Confirmed, "ann").await, None);
    one.go_online();
    for client in [&one, &other] {
        sees(client, "ann", &person("new", &["ann"], 2)).await;
    }
    // Whoever inserts it after a deletion that everybody saw begins anew.
    confirmed(&other, "leave", &"ann").await;
    sees(&one, "ann", &None).await;
    confirmed(&one, "join", &"ann").await;
    sees(&other, "ann", &person("new", &[], 0)).await;
}

#[tokio::test]
async fn what_a_table_that_merges_does_not_take_is_refused_with_what_to_do() {
    let server = iolite::embedded().await.expect("a server");
    let one = client(&server, options()).await;
    confirmed(&one, "join", &"ann").await;
    for (name, id, advice) in [("born", "ann", "make it a register"), ("both", "ben", "make it two mutations")] {
        let call = one.mutate(name, id).expect("called");
        let end = timeout(PATIENCE, call.confirmed()).await.expect("in time").expect_err("it is refused");
        let MutationEnd::Cancelled { reason } = end else { panic!("{end:?}") };
        assert!(reason.contains(advice), "{reason}");
    }
    // An insertion of a row that is here already is the app's mistake, as everywhere.
    let call = one.mutate("join", &"ann").expect("called");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect_err("there is one");
}
