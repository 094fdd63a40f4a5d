//! The app of these tests: notes with likes, and accounts.

use std::time::Duration;

use iolite::{Client, Embedded, Mutators, Options, Schema, Transaction, View, abort};

/// Far more than anything here takes: a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn schema() -> Schema {
    let json = r#"{"tables": {
        "notes": {"key": ["id"], "columns": {"id": {"type": "string"}, "title": {"type": "string"}, "likes": {"type": "counter"},
            "body": {"type": "register", "of": "string", "default": ""}}},
        "hits": {"key": ["page"], "live": true, "columns": {"page": {"type": "string"}, "total": {"type": "counter"}}}
    }}"#;
    Schema::from_json(json).expect("a valid schema")
}

pub fn mutators() -> Mutators {
    Mutators::new()
        .with("add", |tx, (id, title): (String, String)| tx.insert("notes", &id, [("title", title.into())]))
        .with("like", |tx, id: String| tx.add("notes", &id, "likes", 1))
        .with("hit", |tx, page: String| tx.add("hits", &page, "total", 1))
        .with("write", |tx, (id, body): (String, String)| tx.set("notes", &id, "body", body))
        .with("fail", |_, reason: String| Err(abort(reason)))
        .with("panic", |_, ()| panic!("on purpose"))
}

pub fn options() -> Options {
    Options::new().mutators(mutators())
}

pub fn open(server: &Embedded) -> Client {
    server.client(schema(), options()).expect("storage in memory")
}

pub fn hits(tx: &mut Transaction<'_>) -> iolite::Result<i64> {
    tx.counter("hits", "home", "total")
}

/// Waits until this client's confirmed view shows so many hits.
pub async fn wait_for_hits(client: &Client, wanted: i64) {
    let mut reaction = client.react(View::Confirmed, hits);
    let seen = tokio::time::timeout(PATIENCE, reaction.wait_for(|total| *total == wanted)).await;
    let latest = reaction.latest();
    seen.unwrap_or_else(|_| panic!("waited for {wanted} hits, saw {latest:?}")).expect("the client is open");
}
