//! What a stretch of a run cost each node, by the transaction.

use std::time::Duration;

use serde::Serialize;

use crate::accounting::{Node, Pid, Segments, TrafficCounts, own_cpu};
use crate::cluster::BETWEEN_SERVERS;
use crate::transactions::system::{Detours, System};
use crate::transactions::tally::Progress;

/// All counters at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub progress: Progress,
    pub nodes: Vec<NodeSnapshot>,
    pub segments: Segments,
    pub client_cpu: Duration,
    pub detours: Option<Detours>,
}

#[derive(Clone, Debug)]
pub struct NodeSnapshot {
    pub name: String,
    pub processes: Vec<Pid>,
    pub cpu: Duration,
    pub traffic: TrafficCounts,
}

/// What a committed transaction cost one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeCost {
    pub name: String,
    pub cpu_us_per_op: f64,
    /// Requests and replies of clients, counted by them.
    pub client_messages_per_op: f64,
    /// Segments with data between this node and others, in both directions, counted by the kernel.
    pub peer_segments_per_op: f64,
}

/// What committed transactions cost, of one stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    pub nodes: Vec<NodeCost>,
    pub client_cpu_us_per_op: f64,
    pub bytes_up_per_op: f64,
    pub bytes_down_per_op: f64,
    /// Of Iolite.
    pub proposed_again_per_op: Option<f64>,
    pub slow_paths_per_op: Option<f64>,
}

impl Snapshot {
    pub fn of<S: System>(system: &S, progress: impl FnOnce() -> Progress) -> anyhow::Result<Snapshot> {
        let segments = Segments::now(BETWEEN_SERVERS, &system.between())?;
        let client_cpu = own_cpu();
        // What clients count goes on meanwhile: all of it first, as of one moment, for looking for processes takes time.
        let (progress, detours) = (progress(), system.detours());
        let counted: Vec<(TrafficCounts, Node)> =
            system.nodes().into_iter().map(|node| (node.traffic.counts(), node)).collect();
        let nodes = counted.into_iter().map(|(traffic, node)| NodeSnapshot::of(node, traffic)).collect();
        Ok(Snapshot { progress, nodes, segments, client_cpu, detours })
    }

    /// The costs since `before`.
    pub fn since(&self, before: &Snapshot) -> Costs {
        let committed = self.progress.committed - before.progress.committed;
        let per_op = |count: f64| if committed == 0 { 0.0 } else { count / committed as f64 };
        let mut bytes = (0, 0);
        let nodes = self.nodes.iter().zip(&before.nodes).map(|(now, then)| {
            let traffic = now.traffic - then.traffic;
            bytes = (bytes.0 + traffic.bytes_up, bytes.1 + traffic.bytes_down);
            NodeCost {
                name: now.name.clone(),
                cpu_us_per_op: per_op(micros(now.cpu.saturating_sub(then.cpu))),
                client_messages_per_op: per_op(traffic.messages as f64),
                peer_segments_per_op: per_op(self.segments.since(&before.segments, &now.processes) as f64),
            }
        });
        let detours = self.detours.zip(before.detours);
        let detour = |of: fn(&Detours) -> u64| detours.map(|(now, then)| per_op((of(&now) - of(&then)) as f64));
        Costs {
            proposed_again_per_op: detour(|detours| detours.proposed_again),
            slow_paths_per_op: detour(|detours| detours.slow_paths),
            nodes: nodes.collect(),
            client_cpu_us_per_op: per_op(micros(self.client_cpu.saturating_sub(before.client_cpu))),
            bytes_up_per_op: per_op(bytes.0 as f64),
            bytes_down_per_op: per_op(bytes.1 as f64),
        }
    }
}

impl NodeSnapshot {
    fn of(node: Node, traffic: TrafficCounts) -> NodeSnapshot {
        NodeSnapshot { processes: node.root.tree(), cpu: node.root.tree_cpu(), traffic, name: node.name }
    }
}

impl Costs {
    /// The node that uses the processor most.
    pub fn busiest(&self) -> Option<&NodeCost> {
        self.nodes.iter().max_by(|left, right| left.cpu_us_per_op.total_cmp(&right.cpu_us_per_op))
    }
}

impl NodeCost {
    pub fn messages_per_op(&self) -> f64 {
        self.client_messages_per_op + self.peer_segments_per_op
    }

    /// Transactions a second when this node has one core, and nothing else limits it.
    pub fn projected_peak_per_s(&self) -> f64 {
        if self.cpu_us_per_op > 0.0 { 1e6 / self.cpu_us_per_op } else { 0.0 }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(committed: u64, cpus_ms: [u64; 2], messages: u64) -> Snapshot {
        let node = |(name, cpu_ms): (&str, u64)| NodeSnapshot {
            name: name.to_owned(),
            processes: Vec::new(),
            cpu: Duration::from_millis(cpu_ms),
            traffic: TrafficCounts { messages, bytes_up: messages * 100, bytes_down: 0 },
        };
        Snapshot {
            progress: Progress { committed, committed_writes: 0 },
            nodes: ["a", "b"].into_iter().zip(cpus_ms).map(node).collect(),
            segments: Segments::default(),
            client_cpu: Duration::from_millis(committed),
            detours: Some(Detours { proposed_again: messages / 10, slow_paths: messages }),
        }
    }

    #[test]
    fn costs_are_of_the_stretch_by_the_transaction_and_the_busiest_node_projects_the_peak() {
        let costs = snapshot(150, [1000, 1500], 700).since(&snapshot(50, [990, 1400], 100));
        assert_eq!(costs.client_cpu_us_per_op, 1000.0);
        assert_eq!(costs.bytes_up_per_op, 2.0 * 600.0);
        let busiest = costs.busiest().expect("there are nodes");
        assert_eq!((busiest.name.as_str(), busiest.cpu_us_per_op), ("b", 1000.0));
        assert_eq!(busiest.messages_per_op(), 6.0);
        assert_eq!(busiest.projected_peak_per_s(), 1000.0);
        assert_eq!((costs.proposed_again_per_op, costs.slow_paths_per_op), (Some(0.6), Some(6.0)));
    }

    #[test]
    fn a_stretch_without_transactions_costs_nothing_by_the_transaction() {
        let costs = snapshot(50, [1000, 1000], 700).since(&snapshot(50, [990, 990], 100));
        assert_eq!((costs.nodes[0].cpu_us_per_op, costs.nodes[0].projected_peak_per_s()), (0.0, 0.0));
    }
}
