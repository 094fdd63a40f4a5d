//! Clients that know several gateways of a cluster, whose processes are killed, or stand still without a word.

use crate::support::local::{Folder, Local, PATIENCE};
use crate::support::marks::{self, Marking, settles};
use iolite::{Client, Value};

fn open(cluster: &Local) -> Client {
    marks::open_one_of(&[cluster.sync_url(0), cluster.sync_url(1)], &cluster.token())
}

#[tokio::test]
async fn clients_of_several_gateways_go_on_while_any_of_them_is_there_and_lose_nothing() {
    let folder = Folder::new("moving");
    let mut cluster = Local::start(&folder.0, 1, 1, 2);
    let clients = [open(&cluster), open(&cluster), open(&cluster)];
    let marking: Vec<Marking> = clients.iter().enumerate().map(|(n, client)| Marking::start(client, n)).collect();
    for victim in ["gateway-0", "gateway-1"] {
        for client in &clients {
            settles(client, 20).await;
        }
        // All of them are at the other one now.
        cluster.kill(&[victim]);
        for client in &clients {
            settles(client, 20).await;
        }
        cluster.start_all();
    }
    let mut acknowledged = std::collections::BTreeSet::new();
    for marking in marking {
        acknowledged.extend(marking.end().await);
    }
    marks::come_to(&open(&cluster), &acknowledged).await;
}

#[tokio::test]
async fn a_gateway_that_stands_still_is_left_without_a_word_from_it() {
    let folder = Folder::new("still");
    let mut cluster = Local::start(&folder.0, 1, 1, 2);
    let client = open(&cluster);
    for still in ["gateway-0", "gateway-1"] {
        client.mutate("mark", &format!("before {still}")).expect("called").confirmed().await.expect("confirmed");
        cluster.signal(still, "STOP");
        let handle = client.mutate("mark", still).expect("called");
        tokio::time::timeout(PATIENCE, handle.confirmed()).await.expect("the other one serves it").expect("confirmed");
        cluster.signal(still, "CONT");
    }
    let all = ["before gateway-0", "gateway-0", "before gateway-1", "gateway-1"];
    marks::come_to(&client, &all.map(Value::from).into()).await;
}
