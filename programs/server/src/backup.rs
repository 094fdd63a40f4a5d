//! `iolite backup` and `iolite restore`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::Args;
use iolite_backup::{ChunksSummary, Manifest, Place, Taken, check_backup, restore_backup, take_backup};
use iolite_host::{Clock, Metrics, allow_all_open_files};
use iolite_node::config::BlobsConfig;
use iolite_node::{
    BlobStore, BlobStoreError, Directory, FIRST_NUMBER_OF_COMMANDS, ObjectsAddress, StoreClient, StoreClientSettings,
};
use iolite_replication::ShardMap;
use iolite_values::{CoordinatorId, Timestamp};

use crate::blobs::bytes;
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

/// The exit code of a backup that is there and lacks chunks.
const LACKS_CHUNKS: u8 = 3;

/// How often the progress is said.
const SAID_EVERY: Duration = Duration::from_secs(10);

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
    /// Where the chunks of blobs are: what `store` says under [blobs] in the file of a gateway. A folder is relative to where this command runs
    #[arg(long, value_name = "dir:PATH|s3://BUCKET/PREFIX")]
    blobs: Option<String>,
}

#[derive(Args)]
pub struct Restore {
    #[command(flatten)]
    store: Store,
    /// Where the backup is
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    from: String,
    /// Where the chunks of blobs are to be: what `store` says under [blobs] in the files of the new gateways, which may be that of the old ones
    #[arg(long, value_name = "dir:PATH|s3://BUCKET/PREFIX")]
    blobs: Option<String>,
}

#[derive(Args)]
pub struct CheckBackup {
    /// Where the backup is
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    from: String,
}

pub fn take(arguments: &Backup) -> anyhow::Result<ExitCode> {
    let place = Place::of(&arguments.to)?;
    let address = arguments.blobs.as_deref().map(address_of_chunks).transpose()?;
    if let Some(ObjectsAddress::Folder(folder)) = &address
        && !folder.is_dir()
    {
        bail!("--blobs: there is no folder {}. Name the one where the gateways keep chunks", folder.display());
    }
    let chunks = address.map(open_chunks).transpose()?;
    run(async {
        let (store, shards) = arguments.store.open()?;
        let progress = progress("taken");
        let Taken { manifest, lacking } =
            take_backup(&store, &shards, &place, &arguments.to, chunks.as_ref(), progress).await?;
        tell(&format!("{} is in {}", described(&manifest), arguments.to))?;
        for lack in &lacking {
            iolite_host::warn(&format!(
                "{}: chunk {} is {} (object {})",
                lack.cell, lack.object.chunk, lack.flaw, lack.object
            ));
        }
        if manifest.chunks.lacking == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        iolite_host::warn(&format!(
            "{} chunks that rows name are not in it. Put these objects back from a copy of the store of blobs, or have the rows written with new blobs, and take another backup",
            manifest.chunks.lacking
        ));
        Ok(ExitCode::from(LACKS_CHUNKS))
    })
}

pub fn restore(arguments: &Restore) -> anyhow::Result<()> {
    let place = Place::of(&arguments.from)?;
    let chunks = arguments.blobs.as_deref().map(|text| open_chunks(address_of_chunks(text)?)).transpose()?;
    run(async {
        let (store, shards) = arguments.store.open()?;
        let progress = progress("restored");
        let manifest = restore_backup(&store, &shards, &place, &arguments.from, chunks.as_ref(), progress).await?;
        tell(&format!("{} is restored, read back and compared", described(&manifest)))
    })
}

/// `--blobs` of a command.
fn address_of_chunks(text: &str) -> anyhow::Result<ObjectsAddress> {
    ObjectsAddress::parse(text, Path::new("")).context("--blobs")
}

fn open_chunks(address: ObjectsAddress) -> anyhow::Result<BlobStore> {
    BlobStore::open(&BlobsConfig::at(address)).map_err(|error| match error {
        BlobStoreError::Objects(problem) => anyhow::Error::new(problem).context("--blobs"),
        other @ BlobStoreError::Trace { .. } => other.into(),
    })
}

/// Says every few seconds how many chunks there are by now.
fn progress(done: &str) -> impl FnMut(ChunksSummary) {
    let mut said = Instant::now();
    move |now| {
        if now.chunks > 0 && said.elapsed() >= SAID_EVERY {
            said = Instant::now();
            iolite_host::warn(&format!("{} chunks of blobs are {done}, {}", now.chunks, bytes(now.bytes)));
        }
    }
}

pub fn check(arguments: &CheckBackup) -> anyhow::Result<()> {
    let place = Place::of(&arguments.from)?;
    run(async {
        let manifest = check_backup(&place, &arguments.from).await?;
        tell(&format!("{} is whole", described(&manifest)))
    })
}

fn run<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    allow_all_open_files();
    logs::warnings_to_stderr();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

fn described(manifest: &Manifest) -> String {
    let (backup, rows, tables) = (manifest.backup, manifest.rows(), manifest.tables.len());
    let (records, size) = (manifest.clients.records, manifest.bytes());
    let at =
        humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_micros(Timestamp::from_u64(manifest.at).micros()));
    let chunks = match manifest.chunks {
        ChunksSummary { chunks: 0, lacking: 0, .. } => String::new(),
        ChunksSummary { chunks, lacking: 0, .. } => format!(", {chunks} chunks of blobs"),
        ChunksSummary { chunks, lacking, .. } => format!(", {chunks} chunks of blobs ({lacking} more are lacking)"),
    };
    format!(
        "backup {backup} as of {at}: {rows} rows of {tables} tables, {records} records of clients{chunks}, {size} bytes,"
    )
}

fn tell(text: &str) -> anyhow::Result<()> {
    Ok(iolite_host::print(&format!("{text}\n"))?)
}
