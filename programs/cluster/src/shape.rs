//! What a cluster is made with.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use iolite_node::config::{Begins, DELAY_MS_MAX, DurabilityWord, KeyPart};
use serde::{Deserialize, Serialize};

use crate::PlaceProblem;
use crate::split_places::untyped;

/// What is chosen once, when a cluster is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterShape {
    /// How many, where `splits` do not say it.
    pub shards: u32,
    /// Of each shard: 1, 3, 5 or 7.
    pub replicas: u64,
    pub gateways: u16,
    pub ports: Ports,
    pub durability: DurabilityWord,
    /// Added to the round trip of each link between nodes, in milliseconds: for measurements.
    pub delay_ms: f64,
    /// Whether links between nodes go without certificates.
    pub plain: bool,
    /// Where shards but the first begin. Empty: the tables are cut into equal parts, by the hashes of their names.
    pub splits: Vec<Split>,
    /// The folder of the app's page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<PathBuf>,
}

/// Where nodes listen, on 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ports {
    /// Gateways from this one on, replicas from 100 above it, their probes from 200 above it.
    From(u16),
    /// Any that are free when the cluster is made.
    Free,
}

/// Where a shard begins: `TABLE`, or `TABLE:KEY` with a value for each of the key's first columns, between commas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Split {
    pub table: String,
    pub key: Vec<KeyPart>,
}

impl Default for ClusterShape {
    /// One shard of three replicas behind one gateway, with fsync.
    fn default() -> ClusterShape {
        ClusterShape {
            shards: 1,
            replicas: 3,
            gateways: 1,
            ports: Ports::From(7777),
            durability: DurabilityWord::Fsync,
            delay_ms: 0.0,
            plain: false,
            splits: Vec::new(),
            app: None,
        }
    }
}

impl ClusterShape {
    /// Nodes of one machine.
    const NODES_MAX: u64 = 64;

    /// Of which the ports of one kind begin so far from those of the next.
    pub(crate) const PORTS_OF_A_KIND: u16 = 100;

    pub(crate) fn shards(&self) -> u32 {
        if self.splits.is_empty() { self.shards } else { self.splits.len() as u32 + 1 }
    }

    /// Why no cluster can be made like this, beyond what its files tell.
    pub(crate) fn problem(&self) -> Option<String> {
        let nodes = u64::from(self.shards()).saturating_mul(self.replicas).saturating_add(self.gateways.into());
        if self.shards == 0 || self.gateways == 0 {
            return Some("a cluster has at least one shard and one gateway".into());
        }
        if !self.splits.is_empty() && self.shards != 1 && self.shards != self.shards() {
            return Some(format!(
                "{} splits make {} shards, and --shards says {}",
                self.splits.len(),
                self.shards(),
                self.shards
            ));
        }
        if !matches!(self.replicas, 1 | 3 | 5 | 7) {
            return Some(format!(
                "a shard has 1, 3, 5 or 7 replicas, and not {}: an even one more makes nothing safer",
                self.replicas
            ));
        }
        if nodes > ClusterShape::NODES_MAX {
            return Some(format!("{nodes} nodes are too many for one machine: at most {}", ClusterShape::NODES_MAX));
        }
        if !(0.0..=DELAY_MS_MAX).contains(&self.delay_ms) {
            let told = "a delay is a time of zero or more milliseconds";
            return Some(format!("{told}, at most {DELAY_MS_MAX}, and not {}", self.delay_ms));
        }
        if let Ports::From(port) = self.ports
            && (port == 0 || port > u16::MAX - 3 * ClusterShape::PORTS_OF_A_KIND)
        {
            return Some(format!("the ports from {port} on are not enough: choose one of 1 to {}", u16::MAX - 300));
        }
        None
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Split, String> {
        let (table, key) = text.split_once(':').map_or((text, None), |(table, key)| (table, Some(key)));
        if table.is_empty() {
            return Err(format!("{text:?} names no table: write TABLE, or TABLE:KEY"));
        }
        let key = key.map(|key| key.split(',').map(part).collect()).unwrap_or_default();
        Ok(Split { table: table.to_owned(), key })
    }
}

/// A number that is written as it is shown is a number, and everything else text. Which of them is meant is for the schema to say.
fn part(text: &str) -> KeyPart {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => KeyPart::Int(number),
        Ok(_) | Err(_) => KeyPart::Text(text.to_owned()),
    }
}

impl TryFrom<String> for Split {
    type Error = String;

    fn try_from(text: String) -> Result<Split, String> {
        text.parse()
    }
}

impl From<Split> for String {
    fn from(split: Split) -> String {
        split.to_string()
    }
}

impl Split {
    /// The place as it is taken where no schema is known: what looks like a number is one.
    ///
    /// # Errors
    /// [`PlaceProblem::Number`].
    pub fn unchecked(&self) -> Result<Split, PlaceProblem> {
        match untyped(&self.clone().into())? {
            Begins::Table { table, key } => Ok(Split { table, key }),
            Begins::TableHash { .. } => Ok(self.clone()),
        }
    }
}

impl From<Split> for Begins {
    fn from(split: Split) -> Begins {
        Begins::Table { table: split.table, key: split.key }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table)?;
        for (index, part) in self.key.iter().enumerate() {
            let between = if index == 0 { ':' } else { ',' };
            match part {
                KeyPart::Bool(value) => write!(f, "{between}{value}")?,
                KeyPart::Int(value) => write!(f, "{between}{value}")?,
                KeyPart::Text(text) => write!(f, "{between}{text}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_a_table_and_perhaps_a_key() {
        let split: Split = "accounts:500,a".parse().expect("as documented");
        assert_eq!(split.key, [KeyPart::Int(500), KeyPart::Text("a".into())]);
        assert_eq!(
            (split.to_string().as_str(), "notes".parse::<Split>().expect("a table").key.len()),
            ("accounts:500,a", 0)
        );
        assert!(":5".parse::<Split>().is_err());
    }

    #[test]
    fn what_cannot_be_made_is_said() {
        let shape = ClusterShape::default;
        for (wrong, told) in [
            (ClusterShape { gateways: 0, ..shape() }, "at least one shard"),
            (ClusterShape { replicas: 2, ..shape() }, "1, 3, 5 or 7"),
            (ClusterShape { shards: 30, ..shape() }, "too many for one machine"),
            (ClusterShape { ports: Ports::From(65_300), ..shape() }, "not enough"),
            (ClusterShape { shards: 3, splits: vec!["a".parse().expect("a table")], ..shape() }, "make 2 shards"),
        ] {
            assert!(wrong.problem().is_some_and(|problem| problem.contains(told)), "{told}");
        }
        assert_eq!(shape().problem(), None);
    }
}
