//! Clients that mark, one mark after the other, and hold what was acknowledged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolite::{Client, Mutators, Options, Schema, Value, View};
use tokio::task::JoinHandle;

use super::folder::PATIENCE;

fn schema() -> Schema {
    let json = r#"{"tables": {"marks": {"key": ["name"], "columns": {"name": {"type": "string"}}}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

pub fn open(sync_url: &str, token: &str) -> Client {
    open_one_of(&[sync_url.to_owned()], token)
}

pub fn open_one_of(sync_urls: &[String], token: &str) -> Client {
    let mutators = Mutators::new().with("mark", |tx, name: String| tx.insert("marks", &name, []));
    let options = Options::new().mutators(mutators);
    Client::connect_to_one_of(sync_urls, token, schema(), options).expect("in memory")
}

/// That there is what was acknowledged, and no more. The snapshot of a gateway may be older than what another one acknowledged, so this waits
/// until nothing is missing, which what was lost would be for ever.
pub async fn come_to(client: &Client, acknowledged: &BTreeSet<Value>) {
    let mut held = client.react(View::Confirmed, |tx| {
        let rows = tx.rows("marks", &[])?;
        Ok(rows.iter().flat_map(|row| row.key().to_vec()).collect::<BTreeSet<Value>>())
    });
    let mut found = BTreeSet::new();
    let all_are_there = async {
        while !acknowledged.is_subset(&found) {
            found = (*held.next().await.expect("a gateway answers")).clone();
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, all_are_there).await;
    let lost: BTreeSet<&Value> = acknowledged.difference(&found).collect();
    assert!(in_time.is_ok(), "not there after {PATIENCE:?}: {lost:?}");
    assert_eq!(found, *acknowledged, "there is what nobody marked");
}

/// A client that marks one after the other until it is told that it is enough.
pub struct Marking {
    enough: Arc<AtomicBool>,
    task: JoinHandle<BTreeSet<Value>>,
}

impl Marking {
    pub fn start(client: &Client, number: usize) -> Marking {
        let enough = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(mark_many(client.clone(), number, Arc::clone(&enough)));
        Marking { enough, task }
    }

    /// What was acknowledged.
    pub async fn end(self) -> BTreeSet<Value> {
        self.enough.store(true, Ordering::Relaxed);
        tokio::time::timeout(PATIENCE, self.task).await.expect("clients go on by themselves").expect("it did not panic")
    }
}

async fn mark_many(client: Client, number: usize, enough: Arc<AtomicBool>) -> BTreeSet<Value> {
    let mut held = client.react(View::Confirmed, |tx| Ok(tx.rows("marks", &[])?.len()));
    held.next().await.expect("a gateway answers");
    let mut acknowledged = BTreeSet::new();
    while !enough.load(Ordering::Relaxed) {
        let name = format!("{number}.{}", acknowledged.len());
        client.mutate("mark", &name).expect("called").confirmed().await.expect("it is marked once, by whoever asks");
        acknowledged.insert(Value::from(name));
    }
    acknowledged
}

/// Waits until so many more mutations are done.
pub async fn settles(client: &Client, times: usize) {
    let mut watched = client.settled();
    for _ in 0..times {
        tokio::time::timeout(PATIENCE, watched.recv()).await.expect("the load goes on").expect("the client is open");
    }
}
