//! `iolite backup` and `iolite restore`.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use clap::Args;
use iolite_backup::{Manifest, Place, check_backup, restore_backup, take_backup};
use iolite_host::{Clock, Metrics, allow_all_open_files};
use iolite_node::{Directory, FIRST_NUMBER_OF_COMMANDS, StoreClient, StoreClientSettings};
use iolite_replication::ShardMap;
use iolite_values::{CoordinatorId, Timestamp};

use crate::logs;
use crate::operator::Connection;

#[derive(Args)]
pub struct Store {
    #[command(flatten)]
    connection: Connection,
    /// The number that this command has among gateways, of 4032 to 4094: another command that has it at the same time is ended
    #[arg(long, default_value_t = NUMBER)]
    number: u16,
}

/// Not that of who changes groups, which may go on beside a backup.
const NUMBER: u16 = CoordinatorId::MAX - 1;

impl Store {
    /// The store, and the shards that it has now.
    fn open(&self) -> anyhow::Result<(StoreClient, ShardMap)> {
        let own = Some(self.number).filter(|number| (FIRST_NUMBER_OF_COMMANDS..=NUMBER).contains(number));
        let id = own.and_then(CoordinatorId::new).with_context(|| {
            format!(
                "--number {}: this command has one of {FIRST_NUMBER_OF_COMMANDS} to {NUMBER}. Those below are of gateways, and one that has the number would be \
                 ended; {} is of who changes groups",
                self.number,
                CoordinatorId::MAX
            )
        })?;
        let (file, security) = self.connection.of(id)?;
        let directory = Directory::open(&file)?;
        let shards = directory.cluster().shards.clone();
        let settings = StoreClientSettings {
            directory,
            id,
            security,
            delay: Duration::ZERO,
            clock: Clock::start(),
            metrics: Metrics::default(),
        };
        Ok((StoreClient::open(settings)?, shards))
    }
}

#[derive(Args)]
pub struct Backup {
    #[command(flatten)]
    store: Store,
    /// A new folder, or a prefix in a bucket with nothing under it
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    to: String,
}

#[derive(Args)]
pub struct Restore {
    #[command(flatten)]
    store: Store,
    /// Where the backup is
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    from: String,
}

#[derive(Args)]
pub struct CheckBackup {
    /// Where the backup is
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    from: String,
}

pub fn take(arguments: &Backup) -> anyhow::Result<()> {
    let place = Place::of(&arguments.to)?;
    run(async {
        let (store, shards) = arguments.store.open()?;
        let manifest = take_backup(&store, &shards, &place, &arguments.to).await?;
        tell(&format!("{} is in {}", described(&manifest), arguments.to))
    })
}

pub fn restore(arguments: &Restore) -> anyhow::Result<()> {
    let place = Place::of(&arguments.from)?;
    run(async {
        let (store, shards) = arguments.store.open()?;
        let manifest = restore_backup(&store, &shards, &place, &arguments.from).await?;
        tell(&format!("{} is restored, read back and compared", described(&manifest)))
    })
}

pub fn check(arguments: &CheckBackup) -> anyhow::Result<()> {
    let place = Place::of(&arguments.from)?;
    run(async {
        let manifest = check_backup(&place, &arguments.from).await?;
        tell(&format!("{} is whole", described(&manifest)))
    })
}

fn run(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    allow_all_open_files();
    logs::warnings_to_stderr();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

fn described(manifest: &Manifest) -> String {
    let (backup, rows, tables) = (manifest.backup, manifest.rows(), manifest.tables.len());
    let (records, bytes) = (manifest.clients.records, manifest.bytes());
    let at =
        humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_micros(Timestamp::from_u64(manifest.at).micros()));
    format!("backup {backup} as of {at}: {rows} rows of {tables} tables, {records} records of clients, {bytes} bytes,")
}

fn tell(text: &str) -> anyhow::Result<()> {
    Ok(iolite_host::print(&format!("{text}\n"))?)
}
