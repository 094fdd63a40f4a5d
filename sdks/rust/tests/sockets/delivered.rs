//! The delivered view: an own change shows there when everybody who follows it has applied it.

use std::sync::mpsc::{Receiver, Sender, channel};

use iolite::table::Register;
use iolite::{
    Abort, CallError, Client, DeliveryError, DifferenceError, Embedded, Mutators, NotHeld, Options, PeekError,
    ReactionError, RunError, Schema, Table, Transaction, View, embedded, schema,
};
use tokio::time::timeout;

use crate::notes::PATIENCE;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(live, delivered)]
struct Items {
    #[key]
    room: String,
    #[key]
    id: String,
    #[column(default = 0)]
    x: Register<i64>,
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
    schema().with::<Items>().with::<Plain>().build().expect("valid")
}

fn open(server: &Embedded) -> Client {
    let mutators = Mutators::new().with("move", |tx, x: i64| tx.at(Items::X, ("hall", "chair")).set(x));
    server.client(app(), Options::new().mutators(mutators)).expect("storage in memory")
}

fn place(tx: &mut Transaction<'_>) -> iolite::Result<i64> {
    tx.at(Items::X, ("hall", "chair")).get()
}

async fn seen(client: &Client, view: View) -> i64 {
    *timeout(PATIENCE, client.read(view, place)).await.expect("in time").expect("it can be read")
}

/// The tables and columns that not everybody shows as this client does.
fn marked(client: &Client) -> Vec<(String, String)> {
    let found = client.difference(View::Optimistic, View::Delivered).expect("the view can tell");
    found.into_iter().map(|each| (each.table, each.column)).collect()
}

/// A client whose app is busy with the first change that it sees, until it is let go.
fn busy(server: &Embedded) -> (Client, iolite::Reaction<i64>, Receiver<()>, Sender<()>) {
    let client = open(server);
    let ((at_it, is_at_it), (let_go, go_on)) = (channel(), channel::<()>());
    let reaction = client.react(View::Confirmed, move |tx| {
        let place = place(tx)?;
        if place == 2 {
            let _ = at_it.send(());
            let _ = go_on.recv();
        }
        Ok(place)
    });
    (client, reaction, is_at_it, let_go)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_is_delivered_when_everybody_who_follows_it_has_applied_it() {
    let server = embedded().await.expect("it starts");
    let ann = open(&server);
    let mut watched = ann.react(View::Delivered, place);
    let first = ann.mutate("move", &1).expect("called");
    timeout(PATIENCE, first.delivered()).await.expect("nobody else is there").expect("followed");
    assert_eq!(seen(&ann, View::Delivered).await, 1);

    let (_bob, mut of_bob, is_at_it, let_go) = busy(&server);
    timeout(PATIENCE, of_bob.wait_for(|place| *place == 1)).await.expect("in time").expect("open");
    let second = ann.mutate("move", &2).expect("called");
    assert_eq!(seen(&ann, View::Optimistic).await, 2);
    timeout(PATIENCE, second.confirmed()).await.expect("in time").expect("confirmed");
    tokio::task::spawn_blocking(move || is_at_it.recv_timeout(PATIENCE)).await.expect("joined").expect("bob has it");
    assert_eq!(seen(&ann, View::Confirmed).await, 2);
    assert_eq!(seen(&ann, View::Delivered).await, 1, "bob has not applied it");
    assert_eq!(ann.peek(View::Optimistic, place), Ok(2));
    assert_eq!(ann.peek(View::Delivered, place), Ok(1));
    assert_eq!(marked(&ann), [("items".to_owned(), "x".to_owned())]);
    drop(let_go);
    timeout(PATIENCE, second.delivered()).await.expect("in time").expect("followed");
    assert_eq!((ann.peek(View::Delivered, place), marked(&ann)), (Ok(2), Vec::new()));
    assert_eq!(seen(&ann, View::Delivered).await, 2);
    timeout(PATIENCE, watched.wait_for(|place| *place == 2)).await.expect("it runs again").expect("open");
}

#[tokio::test]
async fn a_peek_never_waits_and_says_what_is_not_held() {
    let server = embedded().await.expect("it starts");
    let client = open(&server);
    let missing = client.peek(View::Confirmed, place).expect_err("nothing was read yet");
    assert!(matches!(&missing, PeekError::NotHeld(NotHeld { table, .. }) if table == "items"), "{missing:?}");
    assert_eq!(seen(&client, View::Confirmed).await, 0);
    let _kept = client.pin(|tx| place(tx).map(drop));
    assert_eq!(client.peek(View::Confirmed, place), Ok(0));
    let writes = client.peek(View::Optimistic, |tx| tx.at(Items::X, ("hall", "chair")).set(1));
    assert_eq!(writes, Err(PeekError::Failed(Abort::Run(RunError::ReadOnly))));
    let panics = client.peek(View::Optimistic, |_| -> iolite::Result<()> { panic!("my mistake") });
    assert_eq!(panics, Err(PeekError::Failed(Abort::Mistake("the closure panicked: my mistake".into()))));
    let inside = client.clone();
    let nested = client.peek(View::Optimistic, move |_| Ok(inside.peek(View::Optimistic, place)));
    assert_eq!(nested, Ok(Err(PeekError::Call(CallError::Nested))));
    let other = client.difference_in(View::Optimistic, View::Delivered, "plain");
    assert!(matches!(other, Err(DifferenceError::NotDelivered(_))), "{other:?}");
}

#[tokio::test]
async fn what_is_not_followed_says_so() {
    let server = embedded().await.expect("it starts");
    let client = open(&server);
    let read = client.read(View::Delivered, |tx| tx.at(Plain::X, "a").get());
    let error = timeout(PATIENCE, read).await.expect("in time").expect_err("the table does not say it");
    assert!(matches!(&error, ReactionError::Failed(why) if why.contains("does not say `delivered`")), "{error:?}");
    let other = schema().with::<Plain>().build().expect("valid");
    let mutators = Mutators::new().with("put", |tx, x: i64| tx.at(Plain::X, "a").set(x));
    let server = embedded().await.expect("it starts");
    let client = server.client(other, Options::new().mutators(mutators)).expect("in memory");
    let handle = client.mutate("put", &1).expect("called");
    let ended = timeout(PATIENCE, handle.delivered()).await.expect("in time");
    assert_eq!(ended, Err(DeliveryError::NotFollowed));
}
