//! Where a store's shards are, and how it keeps transactions apart.

use std::net::SocketAddr;

use iolite_host::NodeName;

/// How transactions are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// OCC-Store: what was read is validated when the transaction prepares.
    Optimistic,
    /// Lock-Store: reads lock at once, writes when the transaction prepares.
    Locking,
}

/// The place of a shard in [`Cluster::shards`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardNumber(pub u32);

/// The nodes of every shard, as a client reaches them.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub shards: Vec<Vec<SocketAddr>>,
}

impl Cluster {
    /// The shard that has a key, by FNV-1a.
    ///
    /// # Panics
    /// Without any shard.
    pub fn shard_of(&self, key: &[u8]) -> ShardNumber {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let hash = key.iter().fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
        let shards = u64::try_from(self.shards.len()).expect("a cluster has few shards");
        ShardNumber(u32::try_from(hash % shards).expect("a cluster has few shards"))
    }
}

/// What a node is called on its links: `node` counts from 0 within its shard.
pub fn node_name(shard: ShardNumber, node: usize) -> NodeName {
    NodeName::new(&format!("shard{}-node{node}", shard.0)).expect("it has the form of a name")
}
