//! The cost of a table's consistency for who writes a row and who reads it: Figure 3.8 of the paper.
//!
//! Another client, next to the server, writes the row first, unseen by the writer. Writer and reader are far. Under strong they are online. Under the others both
//! are cut off meanwhile: that stands for the paper's period of a second. The writer keeps its own row in a conflict.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use iolite::{Blob, Client, Mutators, Options, Reaction, Table, View, schema};
use serde_json::json;
use tokio::time::timeout;

use super::RowsOptions;
use super::counted::Counted;
use super::noise::Noise;
use super::wire::Wire;
use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::child::Address;
use crate::cluster::ClusterDirectory;
use crate::latency::{Latencies, Percentiles};
use crate::server::Server;

#[derive(Table)]
#[table(name = "strong", offline = "refuse")]
struct Strong {
    #[key]
    id: String,
    text: String,
    object: Option<Blob>,
}

#[derive(Table)]
#[table(name = "causal", causal, on_conflict = "manual")]
struct Causal {
    #[key]
    id: String,
    text: String,
    object: Option<Blob>,
}

#[derive(Table)]
#[table(name = "eventual", eventual)]
struct Eventual {
    #[key]
    id: String,
    text: String,
    object: Option<Blob>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Strong,
    Causal,
    Eventual,
}

const TIMES: u32 = 7;
const OBJECT_BYTES: u64 = 100 << 10;
const WITHIN: Duration = Duration::from_secs(60);
/// Until nothing is on its way.
const SETTLES_WITHIN: Duration = Duration::from_millis(700);
/// Texts have 20 bytes.
const AT_FIRST: &str = "as it was made first";
const OTHERS: &str = "what the other wrote";
const OWN: &str = "what the writer says";

/// The outcome of one write.
struct Round {
    write: Duration,
    sync: Duration,
    read: Duration,
    /// Conflicts that the writer's app decided.
    conflicts: u64,
    writer: Counted,
    reader: Counted,
}

/// Medians, for ratios.
struct Middle {
    write: f64,
    sync: f64,
    bytes: f64,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let settings = json!({"rounds": arguments.rows.times.unwrap_or(TIMES), "away_ms": arguments.rows.away_ms, "durability": arguments.durability.name()});
    let mut cells = Cells::new(&super::name(AppWorkload::Schemes), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for delay_ms in &arguments.delay_ms {
        let server = Server::of(arguments)?;
        let mut middles = Vec::new();
        for scheme in [Scheme::Strong, Scheme::Causal, Scheme::Eventual] {
            let folder = ClusterDirectory::new(arguments.durability)?;
            let rounds = runtime.block_on(measure(&server, scheme, *delay_ms, &arguments.rows, &folder));
            let rounds = rounds.with_context(|| format!("{} at {delay_ms} ms", scheme.name()))?;
            middles.push(report(&mut cells, scheme, *delay_ms, &rounds));
        }
        let [strong, causal, eventual] = &middles[..] else { unreachable!("there are three") };
        let name = |of: &str| format!("{delay_ms} ms: {of}");
        cells.ratio(&name("write of strong, of causal"), strong.write, causal.write);
        cells.ratio(&name("write of strong, of eventual"), strong.write, eventual.write);
        cells.ratio(&name("sync of causal, of strong"), causal.sync, strong.sync);
        cells.ratio(&name("sync of eventual, of strong"), eventual.sync, strong.sync);
        cells.ratio(&name("sync of causal, of eventual"), causal.sync, eventual.sync);
        cells.ratio(&name("bytes of strong, of eventual"), strong.bytes, eventual.bytes);
        cells.ratio(&name("bytes of causal, of eventual"), causal.bytes, eventual.bytes);
    }
    cells.print(arguments.json)
}

fn report(cells: &mut Cells, scheme: Scheme, delay_ms: u32, rounds: &[Round]) -> Middle {
    let percentiles = |of: fn(&Round) -> Duration| -> Percentiles {
        let mut latencies = Latencies::default();
        rounds.iter().for_each(|round| latencies.record(of(round).as_nanos() as u64));
        latencies.percentiles()
    };
    let write = percentiles(|round| round.write);
    let (sync, read) = (percentiles(|round| round.sync), percentiles(|round| round.read));
    let middle = |of: fn(&Round) -> u64| {
        let mut all: Vec<u64> = rounds.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let (writer, reader) = (middle(|round| round.writer.frame_bytes), middle(|round| round.reader.frame_bytes));
    let conflicts = rounds.iter().filter(|round| round.conflicts > 0).count();
    let wanted = if scheme == Scheme::Causal { rounds.len() } else { 0 };
    if conflicts != wanted {
        cells.fault(format!("{}, {delay_ms} ms: {conflicts} rounds of {} had a conflict", scheme.name(), rounds.len()));
    }
    cells.push(json!({
        "delay_ms": delay_ms, "scheme": scheme.name(), "write_ms": write, "sync_ms": sync, "read_ms": read, "writer_bytes": writer,
        "reader_bytes": reader, "rounds_with_conflict": conflicts,
    }));
    Middle { write: write.p50, sync: sync.p50, bytes: (writer + reader) as f64 }
}

/// The three clients.
struct Three {
    scheme: Scheme,
    /// Writes first.
    other: Client,
    writer: Client,
    reader: Client,
    links: [Wire; 2],
}

async fn measure(
    server: &Server,
    scheme: Scheme,
    delay_ms: u32,
    options: &RowsOptions,
    folder: &ClusterDirectory,
) -> anyhow::Result<Vec<Round>> {
    let (near, away) = (server.near_address(), Duration::from_millis(options.away_ms.into()));
    let one_way = Duration::from_millis(delay_ms.into()) / 2;
    let links = [Wire::start(server.near_socket(), one_way).await?, Wire::start(server.near_socket(), one_way).await?];
    let client = async |address: &Address, name: &str| {
        let client = connect(scheme, address, folder.folder(name, None)?)?;
        client.online().await.map_err(|state| anyhow!("the server does not let the {name} in: {state:?}"))?;
        anyhow::Ok(client)
    };
    let other = client(&near, "other").await?;
    let (writer, reader) =
        (client(&links[0].to(&near.token), "writer").await?, client(&links[1].to(&near.token), "reader").await?);
    let three = Three { scheme, other, writer, reader, links };
    let mut rounds = Vec::new();
    for number in 0..u64::from(options.times.unwrap_or(TIMES)) {
        rounds.push(
            timeout(WITHIN, three.round(number, away))
                .await
                .with_context(|| format!("round {number}: not in time"))??,
        );
    }
    for client in [three.other, three.writer, three.reader] {
        client.close().await;
    }
    Ok(rounds)
}

fn connect(scheme: Scheme, address: &Address, folder: std::path::PathBuf) -> anyhow::Result<Client> {
    let table = scheme.name();
    let add = move |tx: &mut iolite::Transaction<'_>, id: String| tx.insert(table, &id, [("text", AT_FIRST.into())]);
    let write = move |tx: &mut iolite::Transaction<'_>, (id, text, object): (String, String, Blob)| {
        tx.set(table, &id, "text", text)?;
        tx.set(table, &id, "object", object)
    };
    let tables = schema().with::<Strong>().with::<Causal>().with::<Eventual>().build()?;
    let options = Options::new().directory(folder).mutators(Mutators::new().with("add", add).with("write", write));
    Ok(Client::connect(&address.url, &address.token, tables, options)?)
}

/// The text and the object of a row.
type Content = (String, Option<Blob>);

impl Three {
    async fn round(&self, number: u64, away: Duration) -> anyhow::Result<Round> {
        let id = format!("row-{number}");
        self.other.mutate("add", &id)?.confirmed().await?;
        let mut held = self.row(&self.writer, &id);
        let mut shown = self.row(&self.reader, &id);
        for row in [&mut held, &mut shown] {
            while row.next().await?.is_none() {}
        }
        tokio::time::sleep(SETTLES_WITHIN).await;
        let before = self.carried();
        let begun = Instant::now();
        let is_cut = self.scheme != Scheme::Strong;
        if is_cut {
            self.writer.go_offline();
            self.reader.go_offline();
        }
        let blob = self.other.blobs().put(Noise::new(2 * number, OBJECT_BYTES)).await?;
        self.other.mutate("write", &(&id, OTHERS, &blob))?.confirmed().await?;
        let follows = self.follow(&mut shown, &id);
        let writes = async {
            let called = Instant::now();
            let write = self.write(&id, number, called).await?;
            if is_cut {
                tokio::time::sleep(away.saturating_sub(begun.elapsed())).await;
                self.writer.go_online();
                self.reader.go_online();
            }
            anyhow::Ok((called, write))
        };
        let conflicts = AtomicU64::new(0);
        let resolves = self.resolve(&conflicts);
        let ((called, write), seen) = tokio::select! {
            both = async { tokio::try_join!(writes, follows) } => both?,
            failed = resolves => return Err(failed),
        };
        let sync = seen - called;
        let read = self.read(&id).await?;
        tokio::time::sleep(SETTLES_WITHIN).await;
        let now = self.carried();
        let conflicts = conflicts.load(Ordering::Relaxed);
        Ok(Round { write, sync, read, conflicts, writer: now[0] - before[0], reader: now[1] - before[1] })
    }

    fn carried(&self) -> [Counted; 2] {
        self.links.each_ref().map(|link| link.carried().up + link.carried().down)
    }

    fn row(&self, client: &Client, id: &str) -> Reaction<Option<Content>> {
        let (table, id) = (self.scheme.name(), id.to_owned());
        client.react(View::Confirmed, move |tx| {
            let Some(row) = tx.row(table, &id)? else { return Ok(None) };
            Ok(Some((row.get::<String>("text")?, row.get::<Option<Blob>>("object")?)))
        })
    }

    /// From taking the object until the app may go on: confirmed under strong, shown under the others.
    async fn write(&self, id: &str, number: u64, called: Instant) -> anyhow::Result<Duration> {
        let blob = self.writer.blobs().put(Noise::new(2 * number + 1, OBJECT_BYTES)).await?;
        let call = self.writer.mutate("write", &(id, OWN, &blob))?;
        match self.scheme {
            Scheme::Strong => drop(call.confirmed().await?),
            Scheme::Causal | Scheme::Eventual => {
                let text = self.writer.peek(View::Optimistic, |tx| tx.cell(self.scheme.name(), id, "text"))?;
                let is_shown = match &text {
                    Some(iolite::CellState::Scalar(text) | iolite::CellState::Register(text)) => *text == OWN.into(),
                    other => bail!("a text is a value, not {other:?}"),
                };
                anyhow::ensure!(is_shown, "it is not shown: {text:?}");
            }
        }
        Ok(called.elapsed())
    }

    /// Has the writer's row and its whole object on the reader's device when it returns.
    async fn follow(&self, shown: &mut Reaction<Option<Content>>, id: &str) -> anyhow::Result<Instant> {
        loop {
            let row = shown.next().await?;
            let Some((text, Some(blob))) = &*row else { continue };
            loop {
                let read = self.reader.blobs().read(self.scheme.name(), id, "object", blob).await;
                match (read, text == OWN) {
                    (Ok(_), true) => return Ok(Instant::now()),
                    // Replaced, or cut off meanwhile.
                    (Ok(_) | Err(_), false) => break,
                    (Err(_), true) => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        }
    }

    /// The app of the writer: it keeps its own row in each conflict. Never ends but by a failure.
    async fn resolve(&self, decided: &AtomicU64) -> anyhow::Error {
        if self.scheme != Scheme::Causal {
            return std::future::pending().await;
        }
        let mut conflicts = self.writer.conflicts::<Causal>();
        loop {
            match conflicts.list() {
                Ok(all) if all.is_empty() => {}
                Ok(all) => {
                    // One that has moved is told again.
                    let ended = conflicts.resolve(all.iter().map(iolite::RowConflict::keep_local));
                    decided.fetch_add(u64::from(ended.is_ok()), Ordering::Relaxed);
                }
                Err(error) => return error.into(),
            }
            if !conflicts.changed().await {
                return anyhow!("the writer is closed");
            }
        }
    }

    /// The reader's app reads what it has.
    async fn read(&self, id: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let (table, key) = (self.scheme.name(), id.to_owned());
        let object = self.reader.read(View::Confirmed, move |tx| {
            let row = tx.row(table, &key)?.ok_or_else(|| iolite::abort("the row is there"))?;
            row.get::<Option<Blob>>("object")
        });
        let blob = (*object.await?).clone().context("it has an object")?;
        let bytes = self.reader.blobs().read(table, id, "object", &blob).await?;
        anyhow::ensure!(bytes.len() as u64 == OBJECT_BYTES, "it is whole");
        Ok(begun.elapsed())
    }
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Scheme::Strong => "strong",
            Scheme::Causal => "causal",
            Scheme::Eventual => "eventual",
        }
    }
}
