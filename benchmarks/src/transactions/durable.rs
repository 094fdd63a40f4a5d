//! Whether servers make durable what they acknowledge: their syncs, counted while clients go on.
//!
//! One sync can serve every transaction that waits for it, so in a closed loop no more than there are clients: of nodes that must have a
//! transaction on disk before its acknowledgement, each syncs at least once for so many.

use std::path::Path;
use std::time::Duration;

use crate::accounting::{Node, SyncCount};
use crate::transactions::system::System;
use crate::transactions::tally::Progress;

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syncs {
    pub of_nodes: Vec<(String, u64)>,
    /// Transactions that wrote and were acknowledged meanwhile.
    pub writes: u64,
}

/// Whether the class is what it is called.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Counted {
        syncs: Syncs,
        enough: Enough,
    },
    /// The class promises no disk.
    NotPromised,
    NotCounted {
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enough {
    Yes,
    No,
}

/// How long is counted, at most.
const STRETCH: Duration = Duration::from_secs(2);

/// Counts for a while what all nodes sync.
pub async fn count_syncs<S: System>(
    system: &S,
    folder: &Path,
    stretch: Duration,
    progress: impl Fn() -> Progress,
) -> anyhow::Result<Syncs> {
    let nodes = system.nodes();
    let begin = |node: &Node| SyncCount::begin(&node.root.tree(), folder.join(format!("syncs-{}", node.name)));
    let counts = nodes.iter().map(begin).collect::<anyhow::Result<Vec<_>>>()?;
    counts.iter().try_for_each(SyncCount::attached)?;
    let before = progress();
    tokio::time::sleep(stretch.min(STRETCH)).await;
    counts.iter().for_each(SyncCount::interrupt);
    let writes = progress().committed_writes - before.committed_writes;
    let totals = counts.into_iter().map(SyncCount::total).collect::<anyhow::Result<Vec<u64>>>()?;
    Ok(Syncs { of_nodes: nodes.into_iter().map(|node| node.name).zip(totals).collect(), writes })
}

impl Syncs {
    /// `copies` are the nodes that have a transaction on disk when it is acknowledged.
    pub fn verdict(self, clients: u16, copies: u64) -> Verdict {
        let syncs: u64 = self.of_nodes.iter().map(|(_, count)| count).sum();
        let enough = if syncs * u64::from(clients) >= copies * self.writes { Enough::Yes } else { Enough::No };
        match self.writes {
            0 => Verdict::NotCounted { why: "no transaction wrote meanwhile".to_owned() },
            _ => Verdict::Counted { syncs: self, enough },
        }
    }

    /// By the transaction that wrote, of each node.
    pub fn per_write(&self) -> Vec<(String, f64)> {
        let of = |(name, count): &(String, u64)| (name.clone(), *count as f64 / self.writes as f64);
        self.of_nodes.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enough(of_nodes: [u64; 3], writes: u64, clients: u16) -> Enough {
        let of_nodes = ["a", "b", "c"].map(String::from).into_iter().zip(of_nodes).collect();
        match (Syncs { of_nodes, writes }).verdict(clients, 2) {
            Verdict::Counted { enough, .. } => enough,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_nodes_have_to_sync_once_for_as_many_transactions_as_there_are_clients() {
        assert_eq!(enough([100, 100, 0], 100, 1), Enough::Yes);
        assert_eq!(enough([100, 99, 0], 100, 1), Enough::No);
        assert_eq!(enough([13, 12, 0], 100, 8), Enough::Yes);
        assert_eq!(enough([3, 0, 0], 100, 8), Enough::No);
    }

    #[test]
    fn nothing_written_is_nothing_verified() {
        let idle = Syncs { of_nodes: vec![("a".into(), 5)], writes: 0 };
        assert!(matches!(idle.verdict(1, 2), Verdict::NotCounted { .. }));
    }
}
