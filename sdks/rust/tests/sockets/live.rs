//! Columns and rows as shared variables.

use std::collections::BTreeMap;

use iolite::live::LiveError;
use iolite::table::{Counter, List, Map, Register, Set};
use iolite::{Client, Embedded, Id, MutationEnd, OperationError, Options, Schema, Table, View, schema};

#[derive(Table, Clone, Debug, PartialEq)]
struct Note {
    #[key]
    id: i64,
    title: String,
    owner: Option<Id>,
    mood: Register<String>,
    votes: Counter,
    tags: Set<String>,
    lines: List<String>,
    places: Map<i64>,
}

#[derive(Table)]
#[table(live)]
struct Timeline {
    #[key]
    user: String,
    #[column(order = "commit")]
    notes: List<i64>,
}

fn tables() -> Schema {
    schema().with::<Note>().with::<Timeline>().build().expect("valid")
}

fn note(id: i64) -> Note {
    Note {
        id,
        title: format!("note {id}"),
        owner: None,
        mood: Register("calm".into()),
        votes: Counter(0),
        tags: Set::default(),
        lines: List::default(),
        places: Map::default(),
    }
}

async fn two_clients() -> (Embedded, Client, Client) {
    let server = iolite::embedded().await.expect("a server");
    let open = || server.client(tables(), Options::new()).expect("in memory");
    let (one, other) = (open(), open());
    one.online().await.expect("let in");
    other.online().await.expect("let in");
    (server, one, other)
}

#[tokio::test]
async fn columns_of_every_type_are_written_and_watched() {
    let (_server, one, other) = two_clients().await;
    one.transact(|tx| tx.create(&note(1))).await.expect("committed");
    let bound = one.live_row::<Note>(1).expect("it fits");
    bound.column(Note::TITLE).expect("it fits").set("new").expect("called");
    bound.column(Note::OWNER).expect("it fits").set(Some(Id::from_u128(8))).expect("called");
    bound.column(Note::MOOD).expect("it fits").set("merry").expect("called");
    let votes = bound.column(Note::VOTES).expect("it fits");
    votes.add(5).expect("called");
    votes.set(40).expect("called");
    votes.add(2).expect("called");
    let tags = bound.column(Note::TAGS).expect("it fits");
    tags.insert("b").expect("called");
    tags.insert("a").expect("called");
    tags.remove("b").expect("called");
    let lines = bound.column(Note::LINES).expect("it fits");
    lines.push("first").expect("called");
    lines.set(0, "better").expect("called");
    let places = bound.column(Note::PLACES).expect("it fits");
    places.put("x", 1).expect("called");
    places.put("y", 2).expect("called");
    places.remove("y").expect("called").confirmed().await.expect("committed");
    let expected = Note {
        title: "new".into(),
        owner: Some(Id::from_u128(8)),
        mood: Register("merry".into()),
        votes: Counter(42),
        tags: Set(vec!["a".into()]),
        lines: List(vec!["better".into()]),
        places: Map(BTreeMap::from([("x".into(), 1)])),
        ..note(1)
    };
    let mut row = other.live_row::<Note>(1).expect("it fits").watch(View::Confirmed);
    row.wait_for(|row| row.as_ref() == Some(&expected)).await.expect("it is told");
    let mut tags = other.live(Note::TAGS, 1).expect("it fits").watch(View::Confirmed);
    tags.wait_for(|tags| *tags == Set(vec!["a".to_owned()])).await.expect("it is told");
}

#[tokio::test]
async fn several_columns_of_a_row_are_put_in_one_mutation() {
    let (_server, one, other) = two_clients().await;
    one.transact(|tx| tx.create(&note(1))).await.expect("committed");
    let bound = one.live_row::<Note>(1).expect("it fits");
    let (owner, mood) = (Some(Id::from_u128(8)), Register("merry".to_owned()));
    let changes = [Note::TITLE.to("new"), Note::OWNER.to(owner), Note::MOOD.to("merry")];
    bound.update(changes).expect("called").confirmed().await.expect("committed");
    assert_eq!(one.attempts(), 2, "one made the row");
    let expected = Note { title: "new".into(), owner, mood, ..note(1) };
    let mut row = other.live_row::<Note>(1).expect("it fits").watch(View::Confirmed);
    row.wait_for(|row| row.as_ref() == Some(&expected)).await.expect("it is told");
    bound.update([Note::OWNER.to(None)]).expect("called");
    row.wait_for(|row| row.as_ref().is_some_and(|row| row.owner.is_none())).await.expect("it is told");
}

#[tokio::test]
async fn a_new_id_is_put_and_returned() {
    let (_server, one, _other) = two_clients().await;
    one.transact(|tx| tx.create(&note(1))).await.expect("committed");
    let owner = one.live(Note::OWNER, 1).expect("it fits");
    let (first, _) = owner.generate().expect("called");
    let (second, handle) = owner.generate().expect("called");
    assert_ne!(first, second);
    handle.confirmed().await.expect("committed");
    let seen = one.read(View::Confirmed, |tx| tx.at(Note::OWNER, 1).get()).await.expect("it can be read");
    assert_eq!(*seen, Some(second));
}

#[tokio::test]
async fn the_end_of_a_list_is_followed_with_the_rows_that_it_names() {
    let (_server, one, other) = two_clients().await;
    let timeline = one.live(Timeline::NOTES, "ada").expect("it fits");
    for id in 1..=5 {
        one.transact(move |tx| tx.create(&note(id))).await.expect("committed");
        timeline.push(id).expect("called").confirmed().await.expect("committed");
    }
    let theirs = other.live(Timeline::NOTES, "ada").expect("it fits");
    let mut first = theirs.range(1..3).watch(View::Confirmed);
    let mut last = theirs.last(2).watch(View::Confirmed);
    let mut rows = theirs.last(2).rows::<Note>().expect("they are keys").watch(View::Confirmed);
    first.wait_for(|some| some[..] == [2, 3]).await.expect("it is told");
    last.wait_for(|some| some[..] == [4, 5]).await.expect("it is told");
    rows.wait_for(|rows| rows[..] == [Some(note(4)), Some(note(5))]).await.expect("it is told");
    timeline.push(9).expect("called");
    last.wait_for(|some| some[..] == [5, 9]).await.expect("it is told");
    rows.wait_for(|rows| rows[..] == [Some(note(5)), None]).await.expect("it is told");
}

/// Another app's idea of the same table.
mod otherwise {
    use iolite::table::{Counter, List};
    use iolite::{Id, Table};

    #[derive(Table)]
    #[table(name = "note")]
    pub struct Note {
        #[key]
        pub id: i64,
        pub title: Counter,
        pub gone: i64,
    }

    /// No title is required.
    #[derive(Table)]
    #[table(name = "note")]
    pub struct Untitled {
        #[key]
        pub id: i64,
        pub title: Option<String>,
    }

    /// An owner is.
    #[derive(Table)]
    #[table(name = "note")]
    pub struct Owned {
        #[key]
        pub id: i64,
        pub owner: Id,
    }

    #[derive(Table)]
    #[table(name = "timeline", live)]
    pub struct Timeline {
        #[key]
        pub user: String,
        pub notes: List<String>,
    }
}

#[tokio::test]
async fn what_does_not_fit_is_an_error_at_once() {
    let (_server, client, _) = two_clients().await;
    let message = |error: LiveError| error.to_string();
    let title = client.live(otherwise::Note::TITLE, 1).map(drop).map_err(message);
    assert_eq!(
        title,
        Err(r#"table "note", column "title": the client's schema has string here, and it is bound as a counter"#.into())
    );
    let untitled = client.live(otherwise::Untitled::TITLE, 1).map(drop).map_err(message);
    assert!(untitled.is_err_and(|error| error.ends_with("has string here, and it is bound as string or null")));
    let owned = client.live(otherwise::Owned::OWNER, 1).map(drop).map_err(message);
    assert!(owned.is_err_and(|error| error.ends_with("has id or null here, and it is bound as id")));
    assert!(matches!(client.live_row::<otherwise::Untitled>(1), Err(LiveError::Type { .. })));
    assert!(matches!(client.live_row::<otherwise::Owned>(1), Err(LiveError::Type { .. })));
    assert!(matches!(client.live(otherwise::Note::GONE, 1), Err(LiveError::Type { .. })));
    assert!(matches!(client.live_row::<otherwise::Note>(1), Err(LiveError::Type { .. })));
    assert!(matches!(client.live(otherwise::Timeline::NOTES, "ada"), Err(LiveError::Type { .. })));
    assert!(matches!(client.live(Note::TITLE, "one"), Err(LiveError::Unfit(OperationError::Key { .. }))));
    let names = client.live(Note::LINES, 1).expect("it fits").last(2).rows::<Note>().map(drop);
    assert!(matches!(names, Err(LiveError::Type { .. })), "lines are no keys of notes");
    assert_eq!(client.pending().len(), 0);
}

#[tokio::test]
async fn a_row_that_is_not_there_is_not_written() {
    let (_server, client, _) = two_clients().await;
    let votes = client.live(Note::VOTES, 404).expect("it fits");
    let end = votes.add(1).expect("called").confirmed().await;
    assert!(matches!(&end, Err(MutationEnd::Rejected { reason }) if reason.contains("no row")), "{end:?}");
}
