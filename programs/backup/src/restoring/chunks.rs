//! Chunks of blobs in a restored store.
//!
//! Invariant: they are durable when this has ended, under the name of the new store and the lease by which rows name them. Repeating it changes nothing.

use iolite_blobs::ObjectName;
use iolite_node::BlobStore;
use iolite_values::StoreIncarnation;
use tokio::task::JoinSet;

use crate::manifest::ChunksSummary;
use crate::restoring::RestoreError;
use crate::stored_chunk::StoredChunk;

/// Chunks of a part that are restored at a time.
pub const CHUNKS_AT_ONCE: usize = 16;

/// Makes chunks durable under the name of a store.
pub(super) async fn put_chunks(
    chunks: &BlobStore,
    store: StoreIncarnation,
    stored: Vec<StoredChunk>,
) -> Result<ChunksSummary, RestoreError> {
    let (mut put, mut running) = (ChunksSummary::default(), JoinSet::new());
    for StoredChunk { lease, chunk, content } in stored {
        if running.len() >= CHUNKS_AT_ONCE
            && let Some(done) = running.join_next().await
        {
            done??;
        }
        put = put.with(content.len());
        let (chunks, object) = (chunks.clone(), ObjectName { store, lease, chunk });
        running.spawn(async move { chunks.store(object, content).await });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(put)
}

#[cfg(test)]
mod tests {
    use iolite_node::ObjectsAddress;
    use iolite_node::config::BlobsConfig;
    use iolite_values::{ChunkId, Id, LeaseName};

    use super::*;

    /// Else a sweep of the copy would take the original's chunks, or the other way round.
    #[tokio::test]
    async fn chunks_are_restored_under_the_name_of_the_new_store() {
        let folder = std::env::temp_dir().join(format!("iolite-restoring-{:032x}", iolite_host::random_id()));
        let chunks = BlobStore::open(&BlobsConfig::at(ObjectsAddress::Folder(folder.clone()))).expect("it is made");
        let stored = |number: u8| {
            let content = vec![number; 100];
            StoredChunk { lease: LeaseName(Id::from_u128(7)), chunk: ChunkId::of(&content), content }
        };
        let new = StoreIncarnation(Id::from_u128(6));
        let put = put_chunks(&chunks, new, (0..40).map(stored).collect()).await.expect("stored");
        assert_eq!(put, ChunksSummary { chunks: 40, bytes: 4_000, lacking: 0 });
        for StoredChunk { lease, chunk, content } in (0..40).map(stored) {
            let object = |store| ObjectName { store, lease, chunk };
            assert_eq!(chunks.load(object(new)).await, Ok(Some(content)));
            assert_eq!(chunks.load(object(StoreIncarnation(Id::from_u128(5)))).await, Ok(None));
        }
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
