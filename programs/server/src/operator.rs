//! How `iolite backup` and `iolite restore` reach a cluster's store: as a gateway does, by a number and a certificate of their own.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use iolite_cluster::LocalCluster;
use iolite_host::{Authority, Clock, LinkSecurity, Metrics, TlsFiles};
use iolite_node::{Directory, NodeRole, StoreClient, StoreClientSettings};
use iolite_replication::ShardMap;
use iolite_values::CoordinatorId;

#[derive(Args)]
pub struct Arguments {
    /// The cluster's file
    #[arg(long, value_name = "FILE", required_unless_present = "data")]
    cluster: Option<PathBuf>,
    /// The certificate of gateway-N, N being --number
    #[arg(long, value_name = "DIR", conflicts_with = "plain")]
    certificates: Option<PathBuf>,
    /// No certificates: only where all nodes are on this machine
    #[arg(long)]
    plain: bool,
    /// Instead of all these: the folder of a cluster of `iolite cluster up`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cluster", "certificates", "plain"])]
    data: Option<PathBuf>,
    /// The number that this command has among gateways: no other process may have it at the same time
    #[arg(long, default_value_t = NUMBER)]
    number: u16,
}

/// Not that of who changes groups, which may go on beside a backup.
const NUMBER: u16 = CoordinatorId::MAX - 1;

/// The certificate that is issued for one command. A link warns of what ends within a month.
const VALID: Duration = Duration::from_secs(40 * 24 * 3600);

impl Arguments {
    /// The store, and the shards that it has now.
    pub fn open(&self) -> anyhow::Result<(StoreClient, ShardMap)> {
        let id = CoordinatorId::new(self.number).with_context(|| {
            format!("--number {}: a gateway has a number up to {}", self.number, CoordinatorId::MAX)
        })?;
        let (file, security) = match &self.data {
            Some(folder) => local(folder.clone(), id)?,
            None => self.of_file(id)?,
        };
        let directory = Directory::in_file(&file)?;
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

    fn of_file(&self, id: CoordinatorId) -> anyhow::Result<(PathBuf, LinkSecurity)> {
        let Some(file) = &self.cluster else { bail!("give the cluster's file with --cluster") };
        let security = match (&self.certificates, self.plain) {
            (Some(folder), _) => LinkSecurity::Tls(TlsFiles::in_folder(folder)),
            (None, true) => LinkSecurity::PlainOnLoopback,
            (None, false) => bail!(
                "give the certificate of gateway-{0} with --certificates (`iolite certificate issue gateway-{0}` makes one), or --plain where all \
                 nodes are on this machine",
                id.number()
            ),
        };
        Ok((file.clone(), security))
    }
}

fn local(folder: PathBuf, id: CoordinatorId) -> anyhow::Result<(PathBuf, LinkSecurity)> {
    let cluster = LocalCluster::open(&folder)?;
    if cluster.shape()?.plain {
        return Ok((cluster.file(), LinkSecurity::PlainOnLoopback));
    }
    let role = NodeRole::Gateway(id);
    let into = folder.join("operator").join(role.to_string());
    let issued = Authority::open(&folder.join("authority"))?.issue(&role.name(), VALID, &into)?;
    Ok((cluster.file(), LinkSecurity::Tls(issued)))
}
