//! Collaborative texts, from `live` handles and from closures.

use std::collections::BTreeMap;

use iolite::live::{Live, LiveError};
use iolite::table::{Counter, Text};
use iolite::{Client, EditError, Embedded, MutationEnd, Mutators, Options, Schema, Table, View, schema};

#[derive(Table, Clone, Debug, PartialEq)]
struct Note {
    #[key]
    id: i64,
    body: Text,
    edits: Counter,
}

#[derive(Table)]
#[table(live)]
struct Page {
    #[key]
    name: String,
    body: Text,
}

fn tables() -> Schema {
    schema().with::<Note>().with::<Page>().build().expect("valid")
}

async fn two_clients() -> (Embedded, Client, Client) {
    let server = iolite::embedded().await.expect("a server");
    let open = || server.client(tables(), Options::new()).expect("in memory");
    let (one, other) = (open(), open());
    one.online().await.expect("let in");
    other.online().await.expect("let in");
    (server, one, other)
}

fn page(client: &Client) -> Live<Page, Text> {
    client.live(Page::BODY, "p").expect("it fits")
}

#[tokio::test]
async fn a_row_begins_with_its_text_and_closures_read_and_change_it() {
    let (server, one, other) = two_clients().await;
    let note = Note { id: 1, body: "hello".into(), edits: Counter(0) };
    one.transact(move |tx| tx.create(&note)).await.expect("committed");
    let seen = one.transact(|tx| {
        tx.at(Note::BODY, 1).insert(5, " w\u{1fa91}rld")?;
        tx.at(Note::BODY, 1).splice(0, 1, "J")?;
        tx.at(Note::BODY, 1).remove(6, 1)?;
        Ok((tx.at(Note::BODY, 1).get()?, tx.at(Note::BODY, 1).length()?))
    });
    assert_eq!(seen.await.expect("committed"), ("Jello \u{1fa91}rld".to_owned(), 11));
    let mut watched = other.live_row::<Note>(1).expect("it fits").watch(View::Confirmed);
    let there = |note: &Option<Note>| note.as_ref().is_some_and(|note| &*note.body == "Jello \u{1fa91}rld");
    watched.wait_for(there).await.expect("it comes");
    let parted = other.transact(|tx| tx.at(Note::BODY, 1).insert(7, "x")).await;
    assert!(parted.is_err_and(|error| error.to_string().contains("halves of one character")));
    let outside = other.transact(|tx| tx.at(Note::BODY, 1).remove(11, 1)).await;
    assert!(outside.is_err_and(|error| error.to_string().contains("11 UTF-16 units")));
    server.stop().await.expect("it ends");
}

#[tokio::test]
async fn a_closure_without_structs_changes_a_text_at_a_position() {
    let (server, one, _other) = two_clients().await;
    let seen = one.transact(|tx| {
        tx.splice("page", "p", "body", 0, 0, "hello")?;
        tx.splice("page", "p", "body", 1, 3, "ipp")?;
        tx.text("page", "p", "body")
    });
    assert_eq!(seen.await.expect("committed"), "hippo");
    server.stop().await.expect("it ends");
}

#[tokio::test]
async fn two_who_type_at_once_end_with_one_text_and_none_runs_again() {
    let (server, one, other) = two_clients().await;
    let (here, there) = (page(&one), page(&other));
    let (mut seen, mut seen_there) = (here.watch(View::Confirmed), there.watch(View::Confirmed));
    seen.next().await.expect("held");
    seen_there.next().await.expect("held");
    let mut last = Vec::new();
    for (at, (a, b)) in (0u32..).zip("left".chars().zip("rght".chars())) {
        last.push(here.insert(at, &a.to_string()).expect("called"));
        last.push(there.insert(at, &b.to_string()).expect("called"));
    }
    for handle in last {
        handle.confirmed().await.expect("committed");
    }
    let whole = |text: &Text| text.len() == 8;
    let text = seen.wait_for(whole).await.expect("it comes").clone();
    assert_eq!(seen_there.wait_for(whole).await.expect("it comes"), text);
    assert!(["leftrght", "rghtleft"].contains(&&**text), "{text:?}");
    assert_eq!((one.attempts(), other.attempts()), (4, 4), "edits of two never conflict");
    server.stop().await.expect("it ends");
}

#[tokio::test]
async fn what_two_type_offline_is_merged_once_both_are_back() {
    let (server, one, other) = two_clients().await;
    let (here, there) = (page(&one), page(&other));
    let (mut seen, mut seen_there) = (here.watch(View::Confirmed), there.watch(View::Confirmed));
    seen.next().await.expect("held");
    here.insert(0, "the end").expect("called").confirmed().await.expect("committed");
    seen_there.wait_for(|text| &**text == "the end").await.expect("it comes");
    one.go_offline();
    other.go_offline();
    for (at, letter) in (4u32..).zip("happy ".chars()) {
        here.insert(at, &letter.to_string()).expect("queued");
    }
    there.insert(7, "!").expect("queued");
    there.splice(0, 1, "T").expect("queued");
    one.go_online();
    other.go_online();
    let whole = |text: &Text| &**text == "The happy end!";
    seen.wait_for(whole).await.expect("it comes");
    seen_there.wait_for(whole).await.expect("it comes");
    server.stop().await.expect("it ends");
}

#[tokio::test]
async fn an_edit_that_stands_on_one_that_was_taken_back_is_refused_with_its_payload() {
    let (server, one, _other) = two_clients().await;
    let here = page(&one);
    here.watch(View::Optimistic).next().await.expect("held");
    one.go_offline();
    let first = here.insert(0, "a").expect("queued");
    let second = here.insert(1, "b").expect("queued");
    assert!(one.cancel(first.counter()));
    let third = here.insert(0, "c").expect("queued");
    one.go_online();
    third.confirmed().await.expect("committed");
    let end = second.confirmed().await.expect_err("it stands on nothing");
    assert!(matches!(&end, MutationEnd::Rejected { reason } if reason.contains("taken back")), "{end:?}");
    let kept: BTreeMap<_, _> = one.refused().into_iter().map(|own| (own.counter, own.arguments)).collect();
    assert!(kept[&second.counter()].contains(r#""text":"b""#), "{kept:?}");
    assert_eq!(&**here.watch(View::Confirmed).next().await.expect("held"), "c");
    server.stop().await.expect("it ends");
}

#[tokio::test]
async fn a_closure_that_stands_on_what_was_taken_back_makes_its_edit_anew() {
    let server = iolite::embedded().await.expect("a server");
    let append = |tx: &mut iolite::Transaction<'_>, text: String| {
        let end = tx.at(Page::BODY, "p").length()?;
        tx.at(Page::BODY, "p").insert(end, &text)
    };
    let options = Options::new().mutators(Mutators::new().with("append", append));
    let one = server.client(tables(), options).expect("in memory");
    one.online().await.expect("let in");
    page(&one).watch(View::Optimistic).next().await.expect("held");
    one.go_offline();
    let first = one.mutate("append", "a").expect("queued");
    let second = one.mutate("append", "b").expect("queued");
    assert!(one.cancel(first.counter()));
    one.go_online();
    second.confirmed().await.expect("committed");
    assert_eq!(&**page(&one).watch(View::Confirmed).next().await.expect("held"), "b");
    server.stop().await.expect("it ends");
}

#[tokio::test]
async fn a_text_that_nobody_watches_cannot_be_edited_at_a_position() {
    let (server, one, _other) = two_clients().await;
    let error = page(&one).insert(0, "a").expect_err("who knows what is there");
    assert!(matches!(error, LiveError::Edit(EditError::NotHeld)), "{error}");
    server.stop().await.expect("it ends");
}
