//! A client that uses the server while it is attacked.

use iolite::{Client, Connection, Mutators, Options, Schema, View};

use crate::support::dev::{Dev, PATIENCE};

/// The witness has its marks. The heap is for those who attack.
pub fn schema() -> Schema {
    let json = r#"{"tables": {"marks": {"key": ["name"], "columns": {"name": {"type": "string"},
        "seen": {"type": "int", "default": 0}}},
        "heap": {"key": ["name"], "columns": {"name": {"type": "string"}}}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

pub struct Witness {
    client: Client,
    marked: usize,
}

impl Witness {
    pub async fn arrive(server: &Dev) -> Witness {
        let mutators = Mutators::new().with("mark", |tx, name: String| tx.insert("marks", &name, []));
        let client = Client::connect(&server.sync_url(), server.token(), schema(), Options::new().mutators(mutators));
        let mut witness = Witness { client: client.expect("in memory"), marked: 0 };
        witness.works().await;
        witness
    }

    /// The witness calls a mutation, which is confirmed.
    pub async fn works(&mut self) {
        let name = format!("mark {}", self.marked);
        self.marked += 1;
        let handle = self.client.mutate("mark", &name).expect("called");
        tokio::time::timeout(PATIENCE, handle.confirmed()).await.expect("it is served").expect("confirmed");
    }

    /// It was never disconnected, and all that it did is there and nothing else.
    pub async fn noticed_nothing(&mut self) {
        self.works().await;
        assert_eq!(*self.client.connection().borrow(), Connection::Online);
        let rows = self.client.read(View::Confirmed, |tx| {
            let rows = tx.rows("marks", &[])?;
            rows.iter().map(|row| row.get::<i64>("seen")).collect::<iolite::Result<Vec<i64>>>()
        });
        let seen = tokio::time::timeout(PATIENCE, rows).await.expect("it is served").expect("it can be read");
        assert_eq!(*seen, vec![0; self.marked]);
    }
}
