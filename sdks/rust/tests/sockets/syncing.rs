//! Tables that sync: causal ones with conflicts, eventual ones, and strong ones that take no changes offline. Two clients and a server.

use iolite::table::{Consistency, Offline, Table as _};
use iolite::{Abort, Blob, Client, Embedded, MutationEnd, Mutators, Options, Schema, Table, View, schema};
use tokio::time::timeout;

use crate::notes::PATIENCE;
use crate::offline::Folder;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "notes", causal, on_conflict = "manual")]
pub struct Note {
    #[key]
    pub id: String,
    pub text: String,
    #[column(default = false)]
    pub pinned: bool,
    pub recording: Option<Blob>,
}

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "stars", eventual)]
pub struct Star {
    #[key]
    pub coupon: String,
    pub on: bool,
    #[column(default = 0)]
    pub rank: i64,
}

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "tasks", offline = "refuse")]
struct Task {
    #[key]
    id: String,
    text: String,
}

pub fn app() -> Schema {
    schema().with::<Note>().with::<Star>().with::<Task>().build().expect("valid")
}

pub fn options() -> Options {
    let write = |tx: &mut iolite::Transaction<'_>, (id, text): (String, String)| match tx.get::<Note>(&id)? {
        Some(_) => tx.at(Note::TEXT, &id).set(text),
        None => tx.create(&Note { id, text, pinned: false, recording: None }),
    };
    let remove = |tx: &mut iolite::Transaction<'_>, id: String| tx.delete("notes", &id);
    let record =
        |tx: &mut iolite::Transaction<'_>, (id, blob): (String, Blob)| tx.at(Note::RECORDING, &id).set(Some(blob));
    let star = |tx: &mut iolite::Transaction<'_>, (coupon, on): (String, bool)| match tx.get::<Star>(&coupon)? {
        Some(_) => tx.at(Star::ON, &coupon).set(on),
        None => tx.create(&Star { coupon, on, rank: 0 }),
    };
    let rank = |tx: &mut iolite::Transaction<'_>, (coupon, rank): (String, i64)| tx.at(Star::RANK, &coupon).set(rank);
    let unstar = |tx: &mut iolite::Transaction<'_>, coupon: String| tx.delete("stars", &coupon);
    let task = |tx: &mut iolite::Transaction<'_>, id: String| tx.create(&Task { id, text: "do it".into() });
    let both = |tx: &mut iolite::Transaction<'_>, id: String| {
        tx.create(&Star { coupon: id.clone(), on: true, rank: 0 })?;
        tx.create(&Task { id, text: String::new() })
    };
    let mutators =
        Mutators::new().with("write", write).with("remove", remove).with("record", record).with("star", star);
    let mutators = mutators.with("rank", rank).with("unstar", unstar).with("task", task).with("both", both);
    Options::new().mutators(mutators)
}

pub async fn two(server: &Embedded) -> [Client; 2] {
    let clients = [(); 2].map(|()| server.client(app(), options()).expect("in memory"));
    for client in &clients {
        client.online().await.expect("let in");
    }
    clients
}

pub async fn confirmed(client: &Client, name: &str, arguments: &impl serde::Serialize) {
    let call = client.mutate(name, arguments).expect("called");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
}

/// The text of a note, as a view shows it.
pub async fn text(client: &Client, view: View, id: &'static str) -> Option<String> {
    let read = client.read(view, move |tx| Ok::<_, Abort>(tx.get::<Note>(id)?.map(|note| note.text)));
    (*timeout(PATIENCE, read).await.expect("in time").expect("it can be read")).clone()
}

/// Waits until a client sees this.
pub async fn sees(client: &Client, id: &'static str, wanted: Option<&str>) {
    let seen = async {
        while text(client, View::Optimistic, id).await.as_deref() != wanted {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, seen).await.expect("it is seen in time");
}

#[test]
fn the_derive_says_how_a_table_syncs() {
    let json = app().to_json();
    assert!(json.contains(r#""consistency":"causal""#) && json.contains(r#""onConflict":"manual""#), "{json}");
    assert_eq!((Star::CONSISTENCY, Task::OFFLINE), (Consistency::Eventual, Offline::Refuse));
}

#[tokio::test]
async fn what_is_written_offline_is_shown_at_once_and_reaches_the_other_client() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "write", &("a", "first")).await;
    sees(&other, "a", Some("first")).await;
    // Whether there is a note "b" is known offline, too.
    let mut pinned = one.pin(|tx| tx.all::<Note>().map(drop));
    pinned.next().await.expect("it is here");
    one.go_offline();
    let calls = ["second", "third"].map(|said| one.mutate("write", &("a", said)).expect("called"));
    let added = one.mutate("write", &("b", "new")).expect("called");
    for call in &calls {
        timeout(PATIENCE, call.durable()).await.expect("in time").expect("kept");
    }
    assert_eq!(text(&one, View::Optimistic, "a").await.as_deref(), Some("third"));
    assert_eq!(text(&one, View::Confirmed, "a").await.as_deref(), Some("first"));
    one.go_online();
    for call in calls.iter().chain([&added]) {
        timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
    }
    sees(&other, "a", Some("third")).await;
    sees(&other, "b", Some("new")).await;
}

#[tokio::test]
async fn two_who_write_a_row_unseen_by_each_other_are_in_conflict_until_a_person_decides() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "write", &("a", "first")).await;
    sees(&other, "a", Some("first")).await;
    let mut conflicts = one.conflicts::<Note>();
    one.go_offline();
    let mine = one.mutate("write", &("a", "mine")).expect("called");
    mine.durable().await.expect("kept");
    confirmed(&other, "write", &("a", "theirs")).await;
    one.go_online();
    assert!(timeout(PATIENCE, conflicts.changed()).await.expect("in time"));
    let found = conflicts.list().expect("it is causal");
    let texts = |note: &Option<Note>| note.as_ref().map(|note| note.text.clone());
    assert_eq!(found.len(), 1);
    let [base, local, server_row] = [&found[0].base, &found[0].local, &found[0].server].map(texts);
    assert_eq!([base, local, server_row], ["first", "mine", "theirs"].map(|said| Some(said.to_owned())));
    assert_eq!(text(&one, View::Optimistic, "a").await.as_deref(), Some("mine"));

    // The row moves before the person has decided: nothing is decided unseen.
    let early = found[0].keep_local();
    confirmed(&other, "write", &("a", "theirs again")).await;
    timeout(PATIENCE, conflicts.changed()).await.expect("in time");
    let refused = conflicts.resolve([early]).expect_err("it moved").to_string();
    assert!(refused.contains("written again meanwhile"), "{refused}");
    let found = conflicts.list().expect("it is causal");
    let both = Note { text: "mine and theirs".into(), ..found[0].server.clone().expect("it is there") };
    let decided = conflicts.resolve([found[0].keep(&both).expect("a row")]).expect("nothing moved");
    timeout(PATIENCE, decided.confirmed()).await.expect("in time").expect("confirmed");
    assert_eq!(mine.confirmed().await, Err(MutationEnd::Overruled));
    sees(&other, "a", Some("mine and theirs")).await;
    assert!(conflicts.list().expect("it is causal").is_empty());
}

#[tokio::test]
async fn a_row_that_was_deleted_meanwhile_is_shown_as_gone_on_the_server() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "write", &("a", "first")).await;
    sees(&other, "a", Some("first")).await;
    one.go_offline();
    one.mutate("write", &("a", "mine")).expect("called").durable().await.expect("kept");
    confirmed(&other, "remove", &"a").await;
    let mut conflicts = one.conflicts::<Note>();
    one.go_online();
    assert!(timeout(PATIENCE, conflicts.changed()).await.expect("in time"));
    let found = conflicts.list().expect("it is causal");
    assert!(found[0].server.is_none() && found[0].local.is_some());
    let kept = conflicts.resolve([found[0].keep_local()]).expect("nothing moved");
    timeout(PATIENCE, kept.confirmed()).await.expect("in time").ok();
    sees(&other, "a", Some("mine")).await;
}

#[tokio::test]
async fn a_kept_call_and_its_conflict_survive_a_restart() {
    let (server, folder) = (iolite::embedded().await.expect("a server"), Folder::new("kept"));
    let other = server.client(app(), options()).expect("in memory");
    let stored = || options().directory(&folder.0);
    let one = server.client(app(), stored()).expect("its own");
    one.online().await.expect("let in");
    let pinned = one.pin(|tx| tx.all::<Note>().map(drop));
    confirmed(&one, "write", &("a", "first")).await;
    one.go_offline();
    one.mutate("write", &("a", "mine")).expect("called").durable().await.expect("kept");
    drop(pinned);
    one.close().await;
    confirmed(&other, "write", &("a", "theirs")).await;
    let again = server.client(app(), stored()).expect("its own");
    let names: Vec<_> = again.pending().into_iter().map(|pending| pending.name.map(|name| name.to_string())).collect();
    assert_eq!(names, [Some("write".to_owned())]);
    let mut conflicts = again.conflicts::<Note>();
    let found = async { while conflicts.list().expect("it is causal").is_empty() && conflicts.changed().await {} };
    timeout(PATIENCE, found).await.expect("in time");
    assert_eq!(text(&again, View::Optimistic, "a").await.as_deref(), Some("mine"));
}

#[tokio::test]
async fn of_two_who_write_an_eventual_row_the_later_column_stands_and_none_comes_back() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "star", &("a", true)).await;
    confirmed(&one, "star", &("b", true)).await;
    let star = |client: &Client, coupon: &'static str| {
        let client = client.clone();
        async move { (*client.read(View::Confirmed, move |tx| tx.get::<Star>(coupon)).await.expect("read")).clone() }
    };
    one.go_offline();
    let [off, ranked] =
        [one.mutate("star", &("a", false)).expect("called"), one.mutate("rank", &("b", 5)).expect("called")];
    confirmed(&other, "rank", &("a", 7)).await;
    confirmed(&other, "unstar", &"b").await;
    one.go_online();
    timeout(PATIENCE, off.confirmed()).await.expect("in time").expect("confirmed");
    let end = timeout(PATIENCE, ranked.confirmed()).await.expect("in time").expect_err("the row is gone");
    assert!(matches!(&end, MutationEnd::Rejected { reason } if reason.contains("deleted meanwhile")), "{end}");
    assert_eq!(star(&one, "a").await, Some(Star { coupon: "a".into(), on: false, rank: 7 }));
    assert_eq!(star(&one, "b").await, None);
}

#[tokio::test]
async fn a_closure_without_a_name_is_kept_and_returns_what_it_did() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    let made = one.transact(|tx| {
        tx.create(&Note { id: "a".into(), text: "first".into(), pinned: false, recording: None })?;
        Ok::<_, Abort>(tx.get::<Note>("a")?.map(|note| note.text))
    });
    assert_eq!(timeout(PATIENCE, made).await.expect("in time").expect("kept").as_deref(), Some("first"));
    sees(&other, "a", Some("first")).await;
}

#[tokio::test]
async fn a_strong_table_that_refuses_says_so_and_two_domains_are_named() {
    let server = iolite::embedded().await.expect("a server");
    let [one, _] = two(&server).await;
    one.go_offline();
    let refused = one.mutate("task", &"t").expect("called").confirmed().await.expect_err("offline").to_string();
    assert!(refused.contains("\"tasks\", which it writes, takes no changes without a connection"), "{refused}");
    let both = one.mutate("both", &"x").expect("called").confirmed().await.expect_err("two domains").to_string();
    assert!(both.contains("\"stars\" (eventual) and \"tasks\" (strong)"), "{both}");
}

#[tokio::test]
async fn a_recording_made_offline_arrives_whole_with_its_note() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "write", &("a", "first")).await;
    one.go_offline();
    let content: Vec<u8> = (0..200_000_usize).map(|place| (place / 65_536 * 7 + place / 256 + place) as u8).collect();
    let blob = one.blobs().put_bytes(&content).await.expect("on this device");
    let call = one.mutate("record", &("a", blob)).expect("called");
    call.durable().await.expect("kept");
    one.go_online();
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
    let note = (*other.read(View::Confirmed, |tx| tx.get::<Note>("a")).await.expect("read")).clone().expect("there");
    let blob = note.recording.expect("it is there");
    let read = other.blobs().read("notes", "a", "recording", &blob).await.expect("fetched");
    assert!(read == content);
}
