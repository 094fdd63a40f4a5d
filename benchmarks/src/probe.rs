//! How long the disk itself takes: a small write and a sync, over and over, before anything else runs.

use std::io::Write;
use std::time::Instant;

use crate::arguments::Durability;
use crate::cluster::ClusterDirectory;
use crate::latency::Latencies;

const SYNCS: usize = 200;

/// The median in milliseconds; `None` in class memory, which waits for no disk.
pub fn sync_ms(durability: Durability) -> anyhow::Result<Option<f64>> {
    match durability {
        Durability::Memory => Ok(None),
        Durability::Fsync => {
            let directory = ClusterDirectory::new(durability)?;
            let mut file = std::fs::File::create(directory.path().join("probe"))?;
            let mut latencies = Latencies::default();
            for _ in 0..SYNCS {
                file.write_all(&[1; 512])?;
                let begun = Instant::now();
                file.sync_data()?;
                latencies.record(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
            Ok(Some(latencies.percentiles().p50))
        }
    }
}
