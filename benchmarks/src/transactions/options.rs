//! The options of `iolite bench` that only transactions have.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::measure::Course;
use super::system::Setup;
use super::workload::{KEYS_OF_TRANSACTION, TransactionWorkload, Zipf};
use crate::arguments::Arguments;
use crate::peer::Peer;

#[derive(Args, Debug)]
pub struct TransactionOptions {
    /// Shards and replicas of Iolite, like 1x3
    #[arg(long, value_name = "SxN")]
    pub cluster: Option<ClusterShape>,
    /// Replicas of each shard of Iolite that are killed before anything is measured, and stay down
    #[arg(long, value_name = "N", default_value_t = 0, requires = "cluster", conflicts_with = "beside")]
    pub down: u16,
    /// Coordinators of Iolite, as of so many gateways, which clients share evenly
    #[arg(long, value_name = "N", default_value_t = 1, requires = "cluster", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub coordinators: u16,
    /// How far the clock of the last of these is ahead of the first one's, in milliseconds; those between are between
    #[arg(long, value_name = "MS", default_value_t = 0, requires = "cluster", value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub skew_ms: u32,
    /// A system to measure in the same run, with servers of its own; several with commas or again
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub beside: Vec<Peer>,
    /// How many keys there are [default: 100000 for retwis-tapir and retwis-diamond, where they are users, 1000000 for ycsb-t]
    #[arg(long, value_parser = clap::value_parser!(u64).range(KEYS_OF_TRANSACTION..=100_000_000))]
    pub keys: Option<u64>,
    /// How uneven keys are chosen, 0 being even [default: 0.75 for retwis-tapir, 0 for ycsb-t, 0.8 for retwis-diamond]
    #[arg(long, value_name = "EXPONENT", value_parser = exponent)]
    pub zipf: Option<f64>,
    /// Which transactions are run: equal seeds run equal ones, on every system
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long clients run before anything is measured
    #[arg(long, default_value_t = 2, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=3600))]
    pub warm_up: u32,
}

/// Shards by replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterShape {
    pub shards: u16,
    pub replicas: u16,
}

impl Default for ClusterShape {
    /// As large as the others' clusters.
    fn default() -> ClusterShape {
        ClusterShape { shards: 1, replicas: 3 }
    }
}

impl TransactionOptions {
    /// The name of an option that was asked for and that only transactions have, apart from those of `shared`, which others have too.
    pub fn name_of_any_but(&self, shared: &[&str]) -> Option<&'static str> {
        let asked = [
            ("--cluster", self.cluster.is_some()),
            ("--beside", !self.beside.is_empty()),
            ("--keys", self.keys.is_some()),
            ("--zipf", self.zipf.is_some()),
            ("--down", self.down > 0),
            ("--coordinators", self.coordinators > 1),
            ("--skew-ms", self.skew_ms > 0),
        ];
        asked.into_iter().find_map(|(name, is_asked)| (is_asked && !shared.contains(&name)).then_some(name))
    }

    /// # Errors
    /// When there is nothing to measure.
    pub fn course(&self, arguments: &Arguments, workload: TransactionWorkload) -> anyhow::Result<Course> {
        if arguments.embedded || arguments.target.is_some() {
            bail!(
                "{} is measured on clusters: say --cluster 1x3, and name others with --beside; not --embedded or --target",
                workload.name()
            );
        }
        if self.beside.is_empty() && self.cluster.is_none() {
            bail!(
                "nothing to measure: say --cluster 1x3 for Iolite, and name others with --beside, like --beside etcd,occ-store"
            );
        }
        let cluster = self.cluster.unwrap_or_default();
        if self.down > (cluster.replicas - 1) / 2 {
            bail!("--down {}: a shard of {} replicas goes on while most of them are up", self.down, cluster.replicas);
        }
        if self.skew_ms > 0 && self.coordinators == 1 {
            bail!("--skew-ms is between coordinators: say --coordinators 2 or more");
        }
        let keys = self.keys.unwrap_or_else(|| workload.default_keys());
        Ok(Course {
            workload,
            zipf: Arc::new(Zipf::new(keys, self.zipf.unwrap_or_else(|| workload.default_zipf()))),
            seed: self.seed,
            warm_up: Duration::from_secs(u64::from(self.warm_up)),
            seconds: Duration::from_secs(u64::from(arguments.seconds)),
            setup: Setup {
                durability: arguments.durability,
                delay: Duration::from_millis(u64::from(arguments.delay_ms())),
                cluster,
                down: self.down,
                coordinators: self.coordinators,
                skew: Duration::from_millis(u64::from(self.skew_ms)),
                clients: u16::try_from(arguments.clients).context("too many clients")?,
            },
        })
    }
}

impl FromStr for ClusterShape {
    type Err = String;

    fn from_str(text: &str) -> Result<ClusterShape, String> {
        let numbers =
            text.split_once('x').and_then(|(shards, replicas)| Some((shards.parse().ok()?, replicas.parse().ok()?)));
        match numbers {
            Some((shards, replicas)) if shards > 0 && replicas > 0 => Ok(ClusterShape { shards, replicas }),
            Some(_) | None => Err("a cluster is shards by replicas, like 1x3".to_owned()),
        }
    }
}

fn exponent(text: &str) -> Result<f64, String> {
    let exponent: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if (0.0..=5.0).contains(&exponent) { Ok(exponent) } else { Err("it is not between 0 and 5".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_shards_by_replicas() {
        assert_eq!("2x3".parse(), Ok(ClusterShape { shards: 2, replicas: 3 }));
        for wrong in ["", "3", "0x3", "1x0", "1x3x5", "ax3"] {
            assert!(wrong.parse::<ClusterShape>().is_err(), "{wrong}");
        }
    }
}
