//! Three data centres as processes: what is written in one is in all, also after some of them were killed; and what a clumsy operator is told.

use std::time::Duration;

use iolite::table::{Counter, Set};
use iolite::{Centre, CentreName, Client, MutationHandle, Mutators, Options, Schema, Table, Transaction, View, schema};
use iolite_cluster::{CentresShape, ClusterShape, LocalCentres, Ports};
use tokio::time::timeout;

use crate::support::local::{Folder, Local, PATIENCE, PROGRAM};

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "pages", causal)]
struct Page {
    #[key]
    id: String,
    hits: Counter,
    names: Set<String>,
}

/// A table that does not merge, which no other data centre would get.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "orders")]
struct Order {
    #[key]
    id: String,
}

fn app() -> Schema {
    schema().with::<Page>().build().expect("valid")
}

fn served_by(name: &str) -> Option<Centre> {
    Some(Centre::At(CentreName::new(name).expect("a name")))
}

const PAGE: &str = "home";

fn open(centre: &Local) -> Client {
    open_with(centre, &[])
}

/// A client that prefers the first data centre, and goes on at the others.
fn open_with(centre: &Local, others: &[&Local]) -> Client {
    let mutators = Mutators::new()
        .with("make", |tx: &mut Transaction<'_>, id: String| {
            tx.create(&Page { id, hits: Counter(0), names: Set(Vec::new()) })
        })
        .with("hit", |tx: &mut Transaction<'_>, name: String| {
            tx.at(Page::HITS, PAGE.to_owned()).add(1)?;
            tx.at(Page::NAMES, PAGE.to_owned()).insert(name)
        });
    let options = Options::new().mutators(mutators).centres(others.iter().map(|other| [other.sync_url(0)]));
    Client::connect(&centre.sync_url(0), centre.token(), app(), options).expect("in memory")
}

fn hit(client: &Client, name: &str) -> MutationHandle {
    client.mutate("hit", name).expect("called")
}

async fn confirmed(call: MutationHandle) {
    timeout(PATIENCE, call.confirmed()).await.expect("K data centres can be reached").expect("confirmed");
}

/// Waits until a client is shown so many hits, and finds as many names.
async fn come_to(client: &Client, hits: i64) {
    let mut watched = client.react(View::Confirmed, |tx| tx.all::<Page>());
    let found = async {
        loop {
            let pages = watched.next().await.expect("a gateway answers");
            let Some(page) = pages.first() else { continue };
            assert_eq!(page.names.0.len() as i64, page.hits.0, "each counts once");
            assert!(page.hits.0 <= hits, "{} of {hits}", page.hits.0);
            if page.hits.0 == hits {
                return;
            }
        }
    };
    timeout(PATIENCE, found).await.expect("everything comes to every data centre");
}

pub fn shape() -> CentresShape {
    let cluster = ClusterShape { replicas: 1, ports: Ports::Free, ..ClusterShape::default() };
    let names = ["eu", "us", "asia"].map(str::to_owned).to_vec();
    CentresShape { names, rtt_ms: vec![4.0, 8.0, 6.0], cluster, ..CentresShape::new(3) }
}

#[tokio::test]
async fn three_data_centres_come_to_the_same_after_some_were_killed() {
    let folder = Folder::new("centres");
    let centres = LocalCentres::create(&folder.0, &shape()).expect("the folder is new");
    let [mut eu, mut us, asia] =
        ["eu", "us", "asia"].map(|name| Local::made(centres.centre(name).expect("made").clone()));
    let orders = schema().with::<Order>().build().expect("valid");
    let strong = Client::connect(&eu.sync_url(0), eu.token(), orders, Options::new()).expect("in memory");
    let refused = timeout(PATIENCE, strong.online()).await.expect("in time").expect_err("it does not merge");
    assert!(format!("{refused:?}").contains("table \\\"orders\\\" does not merge"), "{refused:?}");
    let clients = [&eu, &us, &asia].map(open);
    confirmed(clients[0].mutate("make", PAGE).expect("called")).await;
    for client in &clients {
        come_to(client, 0).await;
    }
    for (number, client) in clients.iter().enumerate() {
        for round in 0..5 {
            confirmed(hit(client, &format!("{number} {round}"))).await;
        }
    }
    for client in &clients {
        come_to(client, 15).await;
    }
    let mover = open_with(&us, &[&eu]);
    come_to(&mover, 15).await;
    assert_eq!(*mover.centre().borrow(), served_by("us"));
    // One is away, for more than a page of the outbox and more than memory keeps over a start.
    us.kill(&[]);
    confirmed(hit(&mover, "moved")).await;
    come_to(&mover, 16).await;
    assert_eq!(*mover.centre().borrow(), served_by("eu"));
    for call in (0..200).map(|round| hit(&clients[0], &format!("away {round}"))).collect::<Vec<_>>() {
        confirmed(call).await;
    }
    eu.kill(&["gateway-0"]);
    eu.start_all();
    us.start_all();
    come_to(&open(&us), 216).await;
    // Two are away: nothing is confirmed, and nothing of it is lost.
    eu.kill(&[]);
    us.kill(&[]);
    let alone = hit(&clients[2], "alone");
    assert!(timeout(Duration::from_secs(2), alone.confirmed()).await.is_err(), "one data centre is not enough");
    us.start_all();
    confirmed(alone).await;
    eu.start_all();
    for centre in [&eu, &us, &asia] {
        come_to(&open(centre), 217).await;
    }
    for told in centres.reports() {
        let peers = told.expect("its gateway answers");
        assert!(peers.len() == 2 && peers.iter().all(|peer| peer.taken > 0 && peer.lag.is_some()), "{peers:?}");
    }
}

#[test]
fn what_a_clumsy_operator_of_data_centres_does_is_told() {
    let folder = Folder::new("clumsy-centres");
    let data = folder.0.join("group").display().to_string();
    let told = |arguments: &[&str]| {
        let mut command = std::process::Command::new(PROGRAM);
        let output = command.arg("centres").args(arguments).args(["--data", &data]).output().expect("it runs");
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    for (arguments, problem) in [
        (&["status"][..], "there are no data centres in"),
        (&["up", "--centres", "9"], "a group has 1 to 7 data centres, and not 9"),
        (&["up", "--k", "4"], "k is 4: with 3 data centres"),
        (&["up", "--names", "eu,EU"], "\"EU\" is no name for a data centre"),
        (&["up", "--rtt-ms", "1,2"], "3 data centres have 3 pairs"),
        (&["up", "--rtt-ms=-1"], "zero or more milliseconds"),
        (&["up", "--names", "eu,authority"], "choose another name"),
        (&["up", "--port", "65000"], "are not enough for 3 data centres"),
    ] {
        let (well, text) = told(arguments);
        assert!(!well && text.contains(problem), "{arguments:?}: {text}");
    }
    LocalCentres::create(&folder.0.join("group"), &shape()).expect("what was wrong has left nothing");
    let (well, text) = told(&["up", "--k", "3"]);
    assert!(!well && text.contains("k 2,") && text.contains("k 3,"), "{text}");
    let (well, text) = told(&["down", "--centre", "mars"]);
    assert!(!well && text.contains("there is no data centre mars; there are eu, us, asia"), "{text}");
    let (well, text) = told(&["status"]);
    assert!(!well && text.contains("its gateway does not answer"), "{text}");
}
