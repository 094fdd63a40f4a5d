//! Rights in several data centres: a member is removed in one of them, and writes in another that has not heard of it.

use std::time::Duration;

use iolite::table::Register;
use iolite::{
    Client, MutationEnd, MutationHandle, MutationStatus, Mutators, Options, Schema, Table, Transaction, View, schema,
};
use iolite_catalog::Deployment;
use iolite_cluster::LocalCentres;
use iolite_rights::{Rights, TableRules, at, everybody, row, user, value};
use tokio::time::{sleep, timeout};

use super::centres::shape;
use crate::support::local::{Folder, Local, PATIENCE, succeeds};
use crate::support::tokens::Issuer;
use crate::support::users::HOUR;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "members", causal)]
struct Member {
    #[key]
    user: String,
}

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "notes", causal)]
struct Note {
    #[key]
    id: String,
    by: String,
    text: Register<String>,
}

fn app() -> Schema {
    schema().with::<Member>().with::<Note>().build().expect("valid")
}

/// Ann lets members in and removes them. Members write notes of their own.
fn deployment() -> Deployment {
    let is_ann = || user("sub").is(value("ann"));
    let members = TableRules::default().read(everybody()).create(is_ann()).delete(is_ann());
    let is_member = at("members", [user("sub")]).exists();
    let notes = TableRules::default().read(everybody()).create(row("by").is(user("sub")).and(is_member));
    Deployment { schema: app(), rights: Rights::default().table("members", members).table("notes", notes) }
}

fn open(centre: &Local, issuer: &Issuer, name: &'static str) -> Client {
    let mutators = Mutators::new()
        .with("let_in", |tx: &mut Transaction<'_>, user: String| tx.create(&Member { user }))
        .with("remove", |tx: &mut Transaction<'_>, user: String| tx.delete("members", user))
        .with("note", move |tx: &mut Transaction<'_>, id: String| {
            tx.create(&Note { id, by: name.to_owned(), text: Register(String::new()) })
        });
    let options = Options::new().mutators(mutators);
    Client::connect(&centre.sync_url(0), issuer.token(name, HOUR), app(), options).expect("in memory")
}

async fn confirmed(call: MutationHandle) {
    timeout(PATIENCE, call.confirmed()).await.expect("K data centres can be reached").expect("confirmed");
}

fn call(client: &Client, name: &str, argument: &str) -> MutationHandle {
    client.mutate(name, argument).expect("called")
}

fn is_denied(end: &MutationEnd) -> bool {
    matches!(end, MutationEnd::Quarantined { reason } if reason.starts_with("denied"))
}

async fn notes(client: &Client, wanted: &[&str]) {
    let mut watched = client.react(View::Confirmed, |tx| tx.all::<Note>());
    let is_so = |notes: &Vec<Note>| notes.iter().map(|note| &*note.id).eq(wanted.iter().copied());
    timeout(PATIENCE, watched.wait_for(is_so))
        .await
        .expect("everything comes to every data centre")
        .expect("it is read");
}

/// A note that was allowed where it was taken stands, and is confirmed although the removal is older elsewhere. A note after the removal is denied.
#[tokio::test]
async fn who_is_removed_elsewhere_writes_until_the_removal_comes() {
    let folder = Folder::new("centre-rights");
    let issuer = Issuer::new(&folder.0.join("issuer"));
    let group = LocalCentres::create(&folder.0.join("group"), &shape()).expect("the folder is new");
    let file = folder.0.join("deployment.json").display().to_string();
    std::fs::write(&file, deployment().to_json()).expect("there is room");
    let [mut eu, mut us, mut asia] = ["eu", "us", "asia"].map(|name| {
        let centre = group.centre(name).expect("made").clone();
        for gateway in centre.gateways() {
            let text = std::fs::read_to_string(gateway.config()).expect("it is there");
            std::fs::write(gateway.config(), text.replace("tells_token = true\n", "") + &issuer.table())
                .expect("there is room");
        }
        let token = centre.folder().join("token").display().to_string();
        let centre = Local::made(centre);
        let target = centre.node("gateway-0").address.expect("gateways have addresses").to_string();
        succeeds(&["schema", "apply", &file, "--token-file", &token, "--target", &target]);
        centre
    });
    let (ann, ben) = (open(&eu, &issuer, "ann"), open(&us, &issuer, "ben"));
    confirmed(call(&ann, "let_in", "ben")).await;
    let first = call(&ben, "note", "1");
    // Who has not heard of the membership yet is denied, and calls again.
    let mut last = first;
    while let Err(end) = timeout(PATIENCE, last.confirmed()).await.expect("it ends") {
        assert!(is_denied(&end), "{end:?}");
        last = call(&ben, "note", "1");
    }
    // One data centre is cut off from the removal.
    us.kill(&[]);
    confirmed(call(&ann, "remove", "ben")).await;
    eu.kill(&[]);
    asia.kill(&[]);
    us.start_all();
    let late = call(&ben, "note", "2");
    let is_sent = |call: &MutationHandle| matches!(call.status(), MutationStatus::Pending(pending) if pending.sent);
    while !is_sent(&late) {
        sleep(Duration::from_millis(20)).await;
    }
    // It is confirmed once a second data centre has it, and nobody is told before. So it is given the time to be committed here.
    sleep(Duration::from_secs(3)).await;
    eu.start_all();
    asia.start_all();
    confirmed(late).await;
    let mut members = ben.react(View::Confirmed, |tx| tx.all::<Member>());
    let is_gone = members.wait_for(|members| members.is_empty());
    timeout(PATIENCE, is_gone).await.expect("the removal comes").expect("it is read");
    let after = timeout(PATIENCE, call(&ben, "note", "3").confirmed()).await.expect("it ends");
    assert!(is_denied(&after.expect_err("he was removed")));
    for centre in [&eu, &us, &asia] {
        notes(&open(centre, &issuer, "ann"), &["1", "2"]).await;
    }
}
