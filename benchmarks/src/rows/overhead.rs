//! The bytes of syncing one change set of a causal table, beside the bytes of its content.
//!
//! A row has a key, a column of one byte and a blob. Keys are no content, as in Table 3.7 of the paper. Its network bytes hold no headers of TCP: a segment's alone
//! are 3.6 % of it, and the paper has 0.5 %. So the aims are about frames; `network_bytes` has those headers too.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use iolite::{Blob, Client, Id, Mutators, Options, Table, View, schema};
use iolite_host::random_id;
use serde_json::json;
use tokio::time::timeout;

use super::counted::Counted;
use super::noise::Noise;
use super::wire::{Carried, Wire};
use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::server::Server;

#[derive(Table)]
#[table(name = "by_id", causal, on_conflict = "manual")]
struct ById {
    #[key]
    id: Id,
    data: Vec<u8>,
    object: Option<Blob>,
}

#[derive(Table)]
#[table(name = "by_number", causal, on_conflict = "manual")]
struct ByNumber {
    #[key]
    number: i64,
    data: Vec<u8>,
    object: Option<Blob>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Ids,
    /// Numbers from 1 on.
    Numbers,
}

/// A row's object: none, or one of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object(Option<u64>);

/// # Errors
/// When it is neither "none" nor a length.
pub fn object(text: &str) -> Result<Object, String> {
    if text == "none" { Ok(Object(None)) } else { super::length(text).map(|bytes| Object(Some(bytes))) }
}

/// Each is measured so often; its median counts.
const TIMES: u32 = 5;
const WITHIN: Duration = Duration::from_secs(120);
/// Until acknowledgements have come and gone.
const SETTLES_WITHIN: Duration = Duration::from_millis(700);

/// One change set, with all that was sent because of it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The message with the rows.
    set: u64,
    up: Counted,
    down: Counted,
}

pub fn run(arguments: &Arguments, rows: &[u32], objects: &[Object]) -> anyhow::Result<ExitCode> {
    let times = arguments.rows.times.unwrap_or(TIMES);
    let settings = json!({"rounds": times, "durability": arguments.durability.name()});
    let mut cells = Cells::new(&super::name(AppWorkload::SyncOverhead), settings);
    let server = Server::of(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for keys in [Keys::Ids, Keys::Numbers] {
        for count in rows {
            for object in objects {
                let measured = runtime.block_on(measure(&server, keys, *count, *object, times));
                let sent = measured.with_context(|| format!("{count} rows with {}, {}", object.name(), keys.name()))?;
                report(&mut cells, keys, *count, *object, &sent);
            }
        }
    }
    cells.print(arguments.json)
}

fn report(cells: &mut Cells, keys: Keys, rows: u32, object: Object, sent: &Sent) {
    let count = u64::from(rows);
    let payload = count * (1 + object.0.unwrap_or(0));
    let both = sent.up + sent.down;
    cells.push(json!({
        "keys": keys.name(), "rows": rows, "object": object.name(), "payload": payload, "set": sent.set, "up": sent.up, "down": sent.down,
    }));
    let name = format!("{rows} rows, {}, object {}", keys.name(), object.name());
    let over = |bytes: u64| bytes as f64 - payload as f64;
    if object.0.is_none_or(|bytes| bytes <= 4096) {
        cells.ratio(&format!("{name}: bytes of the set over its content, a row"), over(sent.set), count as f64);
        cells.ratio(
            &format!("{name}: bytes of all messages up over its content, a row"),
            over(sent.up.message_bytes),
            count as f64,
        );
        cells.ratio(
            &format!("{name}: bytes of all messages over its content, a row"),
            over(both.message_bytes),
            count as f64,
        );
    }
    cells.ratio(
        &format!("{name}: bytes of all frames over its content, of it"),
        over(both.frame_bytes),
        payload as f64,
    );
}

async fn measure(server: &Server, keys: Keys, rows: u32, object: Object, times: u32) -> anyhow::Result<Sent> {
    let wire = Wire::start(server.clients_socket(), Duration::ZERO).await?;
    let address = wire.to(&server.near_address().token);
    let options = Options::new().mutators(keys.mutators());
    let tables = schema().with::<ById>().with::<ByNumber>().build()?;
    let client = Client::connect(&address.url, &address.token, tables, options)?;
    client.online().await.map_err(|state| anyhow!("the server does not let the client in: {state:?}"))?;
    // Which keys are free is known, as on a device that holds the table.
    let mut pin = keys.pin(&client);
    pin.next().await?;
    let begins = *client.read(View::Confirmed, move |tx| keys.count(tx)).await?;
    let mut all = Vec::new();
    for round in 0..u64::from(times) {
        let blobs = put(&client, rows, object).await?;
        tokio::time::sleep(SETTLES_WITHIN).await;
        wire.forget_longest();
        let before = wire.carried();
        let first = begins + round * u64::from(rows) + 1;
        let call = client.mutate("add", &(first, rows, random_id() as u64, blobs))?;
        timeout(WITHIN, call.confirmed()).await.context("not in time")??;
        tokio::time::sleep(SETTLES_WITHIN).await;
        all.push(Sent::between(before, wire.carried()));
    }
    client.close().await;
    // The one in the middle: a ping may come between.
    all.sort_by_key(|sent| sent.up.frame_bytes + sent.down.frame_bytes);
    Ok(all[all.len() / 2])
}

/// An object for each row, on the device.
async fn put(client: &Client, rows: u32, object: Object) -> anyhow::Result<Vec<Blob>> {
    let Some(bytes) = object.0 else { return Ok(Vec::new()) };
    let mut blobs = Vec::new();
    for _ in 0..rows {
        blobs.push(client.blobs().put(Noise::new(random_id() as u64, bytes)).await?);
    }
    Ok(blobs)
}

impl Sent {
    fn between(before: Carried, now: Carried) -> Sent {
        Sent { set: now.longest_up, up: now.up - before.up, down: now.down - before.down }
    }
}

impl Object {
    pub fn of(bytes: Option<u64>) -> Object {
        Object(bytes)
    }

    fn name(self) -> String {
        self.0.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string())
    }
}

type Added = (u64, u32, u64, Vec<Blob>);

impl Keys {
    fn name(self) -> &'static str {
        match self {
            Keys::Ids => "16-byte keys",
            Keys::Numbers => "integer keys",
        }
    }

    fn mutators(self) -> Mutators {
        Mutators::new().with("add", move |tx: &mut iolite::Transaction<'_>, (first, rows, seed, blobs): Added| {
            let data = Noise::new(seed, u64::from(rows)).bytes();
            let mut objects = blobs.into_iter();
            for (number, byte) in (first..).zip(data) {
                let (data, object) = (vec![byte], objects.next());
                match self {
                    Keys::Ids => {
                        let id = tx.new_id();
                        tx.create(&ById { id, data, object })?;
                    }
                    Keys::Numbers => tx.create(&ByNumber { number: number.cast_signed(), data, object })?,
                }
            }
            Ok(())
        })
    }

    fn pin(self, client: &Client) -> iolite::Reaction<()> {
        client.pin(move |tx| self.count(tx).map(drop))
    }

    fn count(self, tx: &mut iolite::Transaction<'_>) -> iolite::Result<u64> {
        Ok(match self {
            Keys::Ids => tx.all::<ById>()?.len(),
            Keys::Numbers => tx.all::<ByNumber>()?.len(),
        } as u64)
    }
}
