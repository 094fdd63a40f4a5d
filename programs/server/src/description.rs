//! `iolite shard describe|write`: a cluster's description that is in etcd, as a file and back.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use iolite_node::config::{Cluster, ClusterFile};
use iolite_node::{ClusterSource, Revision};

#[derive(Args)]
pub struct Describe {
    /// The cluster's file, which may say where in etcd its description is
    #[arg(long, value_name = "FILE")]
    cluster: PathBuf,
}

#[derive(Args)]
pub struct Write {
    /// The cluster's file, which says where in etcd its description is
    #[arg(long, value_name = "FILE")]
    cluster: PathBuf,
    /// The new description: what `iolite shard describe` printed, changed, or the first one
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
}

/// What the first line begins with of a description that was read from etcd.
const REVISION: &str = "# revision ";

pub async fn describe(arguments: &Describe) -> anyhow::Result<()> {
    let read = ClusterSource::new(&arguments.cluster).read().await?;
    let head = read.revision.map(|revision| format!("{REVISION}{}\n", revision.0)).unwrap_or_default();
    Ok(iolite_host::print(&format!("{head}{}", read.file.to_toml()))?)
}

pub async fn write(arguments: &Write) -> anyhow::Result<()> {
    let mut source = ClusterSource::new(&arguments.cluster);
    ensure!(
        source.is_in_etcd()?,
        "{} is the description itself, and not in etcd: edit it, and bring it to every node",
        arguments.cluster.display()
    );
    let revision = revision_of(&arguments.from)?;
    let file = ClusterFile::read(&arguments.from)?;
    let cluster = Cluster::read(&arguments.from)?;
    if revision != NONE_YET {
        let now = source.read().await?;
        ensure!(
            now.cluster.store == cluster.store,
            "{} is of another cluster: its `store` is not {}",
            arguments.from.display(),
            now.file.store
        );
    }
    let replaced = source.replace(&file, Some(revision)).await;
    if replaced.context("whether it was written is not known: give the same command again, which tells")? {
        return Ok(iolite_host::print("written; nodes read it within a second\n")?);
    }
    if revision == NONE_YET {
        bail!(
            "nothing was written: etcd has a description already. Read it with `iolite shard describe`, and change what that prints, whose first line \
             tells which one it was"
        );
    }
    bail!(
        "nothing was written: somebody has changed the description since revision {}. Read it again with `iolite shard describe`, and make the change there",
        revision.0
    )
}

/// Of a key that is not there.
const NONE_YET: Revision = Revision(0);

fn revision_of(file: &Path) -> anyhow::Result<Revision> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let Some(number) = text.lines().next().and_then(|line| line.strip_prefix(REVISION)) else { return Ok(NONE_YET) };
    let number = number.trim().parse();
    Ok(Revision(number.with_context(|| format!("the first line of {} names no revision", file.display()))?))
}
