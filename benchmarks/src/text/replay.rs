//! A trace through real clients: one an author, each patch a mutation.
//!
//! A client goes on when it holds what its author had seen. It has so many mutations under way and no more, as someone who types fast.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use iolite::table::Text;
use iolite::{Client, Embedded, Options, Reaction, Schema, Table, Timestamp, Traffic, View, schema};
use iolite_client::live_arguments;
use iolite_values::{Cell, ColumnId, Edit, Operation, RowKey, TableId, Value, Write};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::edits::Made;

#[derive(Table)]
#[table(name = "pages", live)]
struct Page {
    #[key]
    name: String,
    body: Text,
}

/// What a replay came to.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    pub text: String,
    pub mutations: u64,
    pub seconds: f64,
    pub bytes_up: u64,
    pub bytes_down: u64,
}

/// All that there is when a recording has been replayed.
pub struct Alive {
    server: Embedded,
    /// Each with what it watches, and a fresh one that has read the text.
    _clients: Vec<(Client, Option<Reaction<Text>>)>,
    _made: Arc<Vec<Made>>,
}

impl Alive {
    pub async fn end(self) -> anyhow::Result<()> {
        drop(self._clients);
        Ok(self.server.stop().await?)
    }
}

/// Mutations of a client that are called and not confirmed.
const UNDER_WAY: usize = 32;
/// How long a client waits for its view before it looks again at how far it is.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// When each transaction was committed, once it is.
#[derive(Default)]
struct Committed {
    at: Mutex<Vec<Option<Timestamp>>>,
    news: Notify,
}

impl Committed {
    fn note(&self, place: usize, at: Timestamp) {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(at);
        self.news.notify_waiters();
    }

    async fn of(&self, place: usize) -> Timestamp {
        loop {
            let news = self.news.notified();
            let at = self.at.lock().unwrap_or_else(PoisonError::into_inner)[place];
            if let Some(at) = at {
                return at;
            }
            news.await;
        }
    }
}

/// # Errors
/// When a mutation ends without effect, or the server does not do what it should.
pub async fn replay(made: Vec<Made>, agents: usize) -> anyhow::Result<(Replayed, Alive)> {
    let server = iolite::embedded().await?;
    let made = Arc::new(made);
    let committed = Arc::new(Committed { at: Mutex::new(vec![None; made.len()]), news: Notify::new() });
    let mut clients = Vec::new();
    for _ in 0..agents {
        clients.push(open(&server).await?);
    }
    let begun = Instant::now();
    let mut writers = JoinSet::new();
    for (agent, client) in clients.iter().enumerate() {
        writers.spawn(write(client.clone(), agent, made.clone(), committed.clone()));
    }
    let mut alive = Vec::new();
    while let Some(ended) = writers.join_next().await {
        let (client, watched) = ended??;
        alive.push((client, Some(watched)));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let traffic: Vec<Traffic> = clients.iter().map(Client::traffic).collect();
    let fresh = open(&server).await?;
    let text = fresh.read(View::Confirmed, |tx| tx.at(Page::BODY, KEY).get()).await?.to_string();
    alive.push((fresh, None));
    let replayed = Replayed {
        text,
        mutations: made.iter().map(|made| made.edits.len() as u64).sum(),
        seconds,
        bytes_up: traffic.iter().map(|own| own.bytes_up).sum(),
        bytes_down: traffic.iter().map(|own| own.bytes_down).sum(),
    };
    Ok((replayed, Alive { server, _clients: alive, _made: made }))
}

const KEY: &str = "trace";

fn tables() -> anyhow::Result<Schema> {
    Ok(schema().with::<Page>().build()?)
}

async fn open(server: &Embedded) -> anyhow::Result<Client> {
    let client = server.client(tables()?, Options::new())?;
    client.online().await.map_err(|state| anyhow!("the server does not let the client in: {state:?}"))?;
    Ok(client)
}

/// Returns who wrote, and what that watches, when all is confirmed.
async fn write(
    client: Client,
    agent: usize,
    made: Arc<Vec<Made>>,
    committed: Arc<Committed>,
) -> anyhow::Result<(Client, Reaction<Text>)> {
    let mut watched = client.live(Page::BODY, KEY)?.watch(View::Confirmed);
    watched.next().await?;
    let schema = client.schema();
    let mut under_way = std::collections::VecDeque::new();
    for (place, own) in made.iter().enumerate().filter(|(_, own)| own.agent == agent) {
        for other in &own.seen {
            let at = committed.of(*other).await;
            while client.confirmed_at() < at {
                let _ = tokio::time::timeout(LOOK_AGAIN, watched.next()).await;
            }
        }
        let mut last = None;
        for edit in &own.edits {
            let arguments: serde_json::Value = serde_json::from_str(&arguments(&schema, edit)?)?;
            last = Some(client.mutate(iolite_client::LIVE, &arguments)?);
        }
        let Some(handle) = last else {
            committed.note(place, client.confirmed_at());
            continue;
        };
        let committed = committed.clone();
        under_way.push_back(tokio::spawn(async move {
            let at = handle.confirmed().await.with_context(|| format!("transaction {place}"))?;
            committed.note(place, at);
            anyhow::Ok(())
        }));
        if under_way.len() >= UNDER_WAY
            && let Some(first) = under_way.pop_front()
        {
            first.await??;
        }
    }
    for rest in under_way {
        rest.await??;
    }
    ensure!(client.refused().is_empty(), "mutations were refused: {:?}", client.refused());
    Ok((client, watched))
}

fn arguments(schema: &Schema, edit: &Arc<Edit>) -> anyhow::Result<String> {
    Ok(live_arguments(schema, &[Write { cell: cell()?, operation: Operation::Edit(edit.clone()) }])?)
}

/// The text.
pub fn cell() -> anyhow::Result<Cell> {
    let row = RowKey::new(&[Value::from(KEY)])?;
    Ok(Cell { table: TableId::of("pages"), row, column: ColumnId::of("body") })
}
