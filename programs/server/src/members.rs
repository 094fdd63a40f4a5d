//! `iolite cluster replace|resize|move|split`: other replicas for the shards of a cluster on this machine, while it runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use iolite_cluster::{Change, LocalCluster, PlaceCheck, Split};
use iolite_host::NodeName;
use iolite_node::NodeRole;

use crate::logs::{KeptWarnings, unless_interrupted};
use crate::seconds::seconds;

#[derive(Args)]
pub struct Place {
    /// The folder of the cluster
    #[arg(long, default_value = ".iolite-cluster", value_name = "DIR")]
    data: PathBuf,
    /// How many seconds each step may take
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
    within: Duration,
}

#[derive(Args)]
pub struct Replace {
    #[command(flatten)]
    place: Place,
    /// Replicas like store-2, whether they run or not. One that lost its disk is replaced like this
    #[arg(required = true, value_name = "NAME")]
    nodes: Vec<String>,
}

#[derive(Args)]
pub struct Resize {
    #[command(flatten)]
    place: Place,
    /// The number of the shard, as `iolite cluster status` shows it
    #[arg(long)]
    shard: u32,
    /// 1, 3, 5 or 7. Those that do not run leave first, then the highest numbers
    #[arg(long)]
    replicas: usize,
}

#[derive(Args)]
pub struct Move {
    #[command(flatten)]
    place: Place,
    /// The number of the shard, as `iolite cluster status` shows it
    #[arg(long)]
    shard: u32,
    /// Its replicas now, all of them, like store-0,store-1,store-2. When they have left already, nothing is done
    #[arg(long, required = true, value_delimiter = ',', value_name = "NAMES")]
    from: Vec<String>,
}

#[derive(Args)]
pub struct SplitShard {
    #[command(flatten)]
    place: Place,
    /// Where the upper part begins: a table, or a key in it
    #[arg(long, value_name = "TABLE[:KEY]")]
    at: Split,
    #[command(flatten)]
    unchecked: Unchecked,
}

#[derive(Args)]
pub struct Unchecked {
    /// Take a table that the store's schema lacks, or of which nobody knows as there is no schema yet. A split cannot be taken back
    #[arg(long)]
    unchecked: bool,
}

impl Unchecked {
    pub fn check(&self) -> PlaceCheck {
        if self.unchecked { PlaceCheck::IfKnown } else { PlaceCheck::Schema }
    }
}

pub fn split(arguments: &SplitShard) -> anyhow::Result<()> {
    change(&arguments.place, &Change::Split { at: arguments.at.clone().into(), check: arguments.unchecked.check() })
}

pub fn replace(arguments: &Replace) -> anyhow::Result<()> {
    change(&arguments.place, &Change::Replace(replicas(&arguments.nodes)?))
}

/// The numbers of these.
fn replicas(names: &[String]) -> anyhow::Result<BTreeSet<u64>> {
    let mut numbers = BTreeSet::new();
    for node in names {
        match NodeRole::of(&NodeName::new(node)?) {
            Some(NodeRole::Store(replica)) => numbers.insert(replica.0),
            Some(NodeRole::Gateway(_)) => {
                bail!("{node} keeps no data, and needs no replacement: start another gateway")
            }
            None => bail!("{node} names no replica: write store-N, with its number"),
        };
    }
    Ok(numbers)
}

pub fn resize(arguments: &Resize) -> anyhow::Result<()> {
    let Resize { place, shard, replicas } = arguments;
    ensure!(
        matches!(replicas, 1 | 3 | 5 | 7),
        "a shard has 1, 3, 5 or 7 replicas, and not {replicas}: an even one more makes nothing safer"
    );
    change(place, &Change::Resize { shard: *shard, replicas: *replicas })
}

pub fn move_shard(arguments: &Move) -> anyhow::Result<()> {
    let Move { place, shard, from } = arguments;
    change(place, &Change::Move { shard: *shard, from: replicas(from)? })
}

fn change(place: &Place, change: &Change) -> anyhow::Result<()> {
    let cluster = LocalCluster::open(&place.data)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let warnings = KeptWarnings::begin();
    let changed = runtime.block_on(unless_interrupted(cluster.change(change, &program, place.within)));
    let changed = changed.inspect_err(|_| warnings.tell())?;
    let mut text = String::new();
    for role in &changed.joined {
        text += &format!("{role} is a member now\n");
    }
    for role in &changed.retired {
        text += &format!("{role} is stopped; its folder is in {}\n", place.data.join("retired").display());
    }
    if text.is_empty() {
        if let Change::Split { .. } = change {
            text += "the shard was split there already: ";
        }
        text += "nothing was to be done\n";
    }
    iolite_host::print(&text)?;
    Ok(())
}
