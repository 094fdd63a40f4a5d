//! How commands reach a cluster's replicas: as a gateway does, by a number and a certificate of their own.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use iolite_cluster::{LocalCluster, observer_id, operator_id};
use iolite_host::{LinkSecurity, TlsFiles};
use iolite_values::CoordinatorId;

#[derive(Args)]
pub struct Connection {
    /// The cluster's file
    #[arg(long, value_name = "FILE", required_unless_present = "data")]
    cluster: Option<PathBuf>,
    /// The certificate of gateway-N, N being this command's number: 4095 of `iolite shard`, 4094 of backups
    #[arg(long, value_name = "DIR", conflicts_with = "plain")]
    certificates: Option<PathBuf>,
    /// No certificates: only where all nodes are on this machine
    #[arg(long)]
    plain: bool,
    /// Instead of all these: the folder of a cluster of `iolite cluster up`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cluster", "certificates", "plain"])]
    data: Option<PathBuf>,
}

impl Connection {
    /// Who only looks has a number of its own, or that of the certificate that operators have.
    pub fn observer(&self) -> CoordinatorId {
        if self.data.is_some() { observer_id() } else { operator_id() }
    }

    /// The cluster's file, and by what others believe that this command is the gateway of that number.
    pub fn of(&self, id: CoordinatorId) -> anyhow::Result<(PathBuf, LinkSecurity)> {
        if let Some(folder) = &self.data {
            let cluster = LocalCluster::open(folder)?;
            return Ok((cluster.file(), cluster.command_security(id)?));
        }
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
