//! Creating, copying and moving objects of several sizes, beside one commit of a row of that size: `iolite bench object-moves`.
//!
//! The server is in this process, and two devices dial it on loopback.
//! Source: Sapphire (Zhang 2017, 2.7.3), Table 2.6.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use iolite::objects::deployment::{ExplicitCaching, ExplicitMigration};
use iolite::objects::managers::{
    InstanceManager, Kind, Kit, Later, Manager, Message, MessageResult, NodeId, Settings, Slot,
};
use iolite::objects::{Host, Ref, sapphire};
use iolite::{Client, Mutators, Options, Table, schema};
use serde_json::json;

use super::side::nanos_since;
use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::latency::Latencies;

/// 100 B, 10 KB and 1 MB.
const SIZES: [usize; 3] = [100, 10_000, 1_000_000];
/// How often each is done, if nothing is said.
const TIMES: u32 = 50;
/// A mutation has at most 512 KiB of arguments.
const PART_BYTES: usize = 500_000;
const OBJECT: &str = "one";

/// An object that is created.
#[sapphire(name = "MovesPlain", devices = "hold")]
struct Plain {
    text: String,
}

#[sapphire::methods]
impl Plain {}

/// An object that is copied to a device.
#[sapphire(name = "MovesCopied", managers = [ExplicitCaching], devices = "hold")]
struct Copied {
    text: String,
}

#[sapphire::methods]
impl Copied {
    #[read]
    fn length(&self) -> usize {
        self.text.len()
    }
}

/// An object that moves.
#[sapphire(name = "MovesMoving", managers = [self::Whereabouts, ExplicitMigration], devices = "hold")]
struct Moving {
    text: String,
}

#[sapphire::methods]
impl Moving {
    #[read]
    fn length(&self) -> usize {
        self.text.len()
    }
}

/// Says at which node an object is.
#[derive(Debug)]
struct Whereabouts;

struct Here;

impl Manager for Whereabouts {
    const KIND: Kind = Kind { name: "Whereabouts", slot: Slot::Delivery, facts: &[], settings: &[] };

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Here))
    }
}

impl InstanceManager for Here {
    fn on_message(self: Arc<Self>, kit: Kit, _said: Message) -> Later<MessageResult> {
        Box::pin(async move { Ok(kit.node().to_string().into_bytes()) })
    }
}

#[derive(Table)]
#[table(name = "rows")]
struct Row {
    #[key]
    id: i64,
    text: String,
}

/// The deeds that are measured, in the order of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Commit,
    CreateAtServer,
    CreateAtDevice,
    CopyToDevice,
    ServerToDevice,
    DeviceToDevice,
    DeviceToServer,
}

/// Everybody, and what was measured.
struct Stage {
    server: Host,
    first: Host,
    second: Host,
    client: Client,
    /// Rows that were committed.
    rows: i64,
}

/// The objects of one size that are copied and moved.
struct Objects {
    text: String,
    moving: Ref<Moving>,
    copied: Ref<Copied>,
    home: NodeId,
    away: [NodeId; 2],
}

/// # Errors
/// When a host does not start, or one of the deeds fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let times = arguments.rows.times.unwrap_or(TIMES);
    let mut cells = Cells::new(&AppWorkload::ObjectMoves.name(), json!({"times": times}));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut table = format!("{:>9} {:<18} {:>9} {:>9}\n", "bytes", "", "p50 ms", "p99 ms");
    runtime.block_on(async {
        let mut stage = Stage::new().await?;
        for bytes in SIZES {
            let latencies = stage.measure(bytes, times).await.with_context(|| format!("objects of {bytes} bytes"))?;
            report(&mut cells, &mut table, bytes, &latencies);
        }
        stage.client.close().await;
        anyhow::Ok(())
    })?;
    cells.print_table(&table, arguments.json)
}

fn report(cells: &mut Cells, table: &mut String, bytes: usize, latencies: &[Latencies]) {
    let all = Deed::ALL.into_iter().zip(latencies.iter().map(Latencies::percentiles));
    let commit = latencies[Deed::Commit as usize].percentiles();
    for (deed, latency) in all {
        cells.push(json!({"bytes": bytes, "of": deed.name(), "latency_ms": latency}));
        let _ = writeln!(table, "{bytes:>9} {:<18} {:>9.3} {:>9.3}", deed.name(), latency.p50, latency.p99);
        if matches!(deed, Deed::CreateAtServer | Deed::CreateAtDevice) {
            cells.ratio(&format!("{bytes} bytes: {}, of a commit", deed.name()), latency.p50, commit.p50);
        }
    }
}

impl Deed {
    const ALL: [Deed; 7] = [
        Deed::Commit,
        Deed::CreateAtServer,
        Deed::CreateAtDevice,
        Deed::CopyToDevice,
        Deed::ServerToDevice,
        Deed::DeviceToDevice,
        Deed::DeviceToServer,
    ];

    fn name(self) -> &'static str {
        match self {
            Deed::Commit => "commit",
            Deed::CreateAtServer => "create at server",
            Deed::CreateAtDevice => "create at device",
            Deed::CopyToDevice => "copy to device",
            Deed::ServerToDevice => "server to device",
            Deed::DeviceToDevice => "device to device",
            Deed::DeviceToServer => "device to server",
        }
    }
}

impl Stage {
    async fn new() -> anyhow::Result<Stage> {
        let server = Host::embedded().class::<Plain>().class::<Copied>().class::<Moving>().manager(Whereabouts);
        let server = server.start().await?;
        let device = async || {
            let host = Host::connect(server.url(), server.token()).class::<Plain>().class::<Copied>();
            host.class::<Moving>().manager(Whereabouts).start().await
        };
        let (first, second) = (device().await?, device().await?);
        let add = |tx: &mut iolite::Transaction<'_>, (id, text): (i64, String)| tx.create(&Row { id, text });
        let options = Options::new().user("bench").mutators(Mutators::new().with("add", add));
        let client = Client::connect(server.url(), server.token(), schema().with::<Row>().build()?, options)?;
        client.online().await.map_err(|state| anyhow!("the server does not let the client in: {state:?}"))?;
        Ok(Stage { server, first, second, client, rows: 0 })
    }

    async fn objects(&self, bytes: usize) -> anyhow::Result<Objects> {
        let (text, id) = ("x".repeat(bytes), format!("{OBJECT}-{bytes}"));
        let moving = self.server.create(&*id, Moving { text: text.clone() }).await?;
        self.server.create(&*id, Copied { text: text.clone() }).await?;
        let copied = self.first.find(&id).await?.context("a device does not find the object")?;
        let home = place(&moving).await?;
        let device = |host: &Host| host.node_id().context("a device has no name");
        let away = [device(&self.first)?, device(&self.second)?];
        Ok(Objects { text, moving, copied, home, away })
    }

    async fn measure(&mut self, bytes: usize, times: u32) -> anyhow::Result<Vec<Latencies>> {
        let objects = self.objects(bytes).await?;
        let mut latencies = vec![Latencies::default(); Deed::ALL.len()];
        // The first round warms up.
        for round in 0..=times {
            for deed in Deed::ALL {
                let nanos = self.perform(deed, &objects).await.with_context(|| deed.name())?;
                if round > 0 {
                    latencies[deed as usize].record(nanos);
                }
            }
        }
        ensure!(objects.moving.length().await? == bytes, "an object that has moved is another one");
        ensure!(objects.copied.length().await? == bytes, "a copy is another object");
        Ok(latencies)
    }

    /// Commits a row for each part. Two are on their way at once.
    async fn commit(&mut self, parts: &[&str]) -> anyhow::Result<()> {
        let mut open = Vec::new();
        for part in parts {
            self.rows += 1;
            open.push(self.client.mutate("add", &(self.rows, part))?);
        }
        for mutation in open {
            mutation.confirmed().await?;
        }
        Ok(())
    }

    /// The nanoseconds of a deed.
    async fn perform(&mut self, deed: Deed, objects: &Objects) -> anyhow::Result<u64> {
        let plain = || Plain { text: objects.text.clone() };
        match deed {
            Deed::Commit => {
                let parts: Vec<&str> = objects.parts().collect();
                let begun = Instant::now();
                self.commit(&parts).await?;
                Ok(nanos_since(begun))
            }
            Deed::CreateAtServer => create(&self.server, plain()).await,
            Deed::CreateAtDevice => create(&self.first, plain()).await,
            Deed::CopyToDevice => {
                let begun = Instant::now();
                ExplicitCaching::pull(&objects.copied).await?;
                Ok(nanos_since(begun))
            }
            Deed::ServerToDevice => go(objects, objects.away[0]).await,
            Deed::DeviceToDevice => go(objects, objects.away[1]).await,
            Deed::DeviceToServer => go(objects, objects.home).await,
        }
    }
}

impl Objects {
    /// The text, in parts that a mutation can have: one, or two of 1 MB.
    fn parts(&self) -> impl Iterator<Item = &str> {
        self.text.as_bytes().chunks(PART_BYTES).map(|part| std::str::from_utf8(part).expect("it is ASCII"))
    }
}

async fn create(host: &Host, object: Plain) -> anyhow::Result<u64> {
    let begun = Instant::now();
    host.create(None, object).await?;
    Ok(nanos_since(begun))
}

async fn go(objects: &Objects, to: NodeId) -> anyhow::Result<u64> {
    let begun = Instant::now();
    ExplicitMigration::move_to(&objects.moving, to).await?;
    let nanos = nanos_since(begun);
    let at = place(&objects.moving).await?;
    ensure!(at == to, "it is at {at}, and not at {to}");
    Ok(nanos)
}

async fn place(moving: &Ref<Moving>) -> anyhow::Result<NodeId> {
    let name = String::from_utf8(Ref::tell::<Whereabouts>(moving, Vec::new()).await?)?;
    name.parse().map_err(|_| anyhow!("{name} is no node"))
}
