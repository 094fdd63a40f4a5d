//! The chunks of blobs on this device: in memory, or in a folder beside the client's storage.
//!
//! Invariants: a chunk that was put is durable before the next one. What a file holds is looked at when it is read: content that is another chunk's counts
//! as none.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolite_host::{Readers, make_folder_durably, write_durably};
use iolite_values::ChunkId;

/// The folder of chunks, in the folder of the client's storage.
const FOLDER: &str = "chunks";

/// Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) enum Chunks {
    Memory(Arc<Mutex<BTreeMap<ChunkId, Vec<u8>>>>),
    Folder(Arc<PathBuf>),
}

/// How long a chunk has to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The chunk is nowhere else yet.
    Durably,
    /// The chunk can be fetched again.
    AsItGoes,
}

impl Chunks {
    pub(crate) fn in_memory() -> Chunks {
        Chunks::Memory(Arc::default())
    }

    pub(crate) fn beside(storage: &Path) -> io::Result<Chunks> {
        let folder = storage.join(FOLDER);
        make_folder_durably(&folder)?;
        Ok(Chunks::Folder(Arc::new(folder)))
    }

    pub(crate) async fn keep(&self, id: ChunkId, content: Vec<u8>, keep: Keep) -> io::Result<()> {
        match self {
            Chunks::Memory(chunks) => {
                chunks.lock().unwrap_or_else(PoisonError::into_inner).insert(id, content);
                Ok(())
            }
            Chunks::Folder(folder) => {
                let file = folder.join(id.to_string());
                aside(move || match keep {
                    Keep::Durably => write_durably(&file, &content, Readers::Owner),
                    Keep::AsItGoes => {
                        let unfinished = file.with_extension("new");
                        std::fs::write(&unfinished, &content)?;
                        std::fs::rename(unfinished, file)
                    }
                })
                .await
            }
        }
    }

    /// `None`: the device does not have it.
    pub(crate) async fn load(&self, id: ChunkId) -> Option<Vec<u8>> {
        match self {
            Chunks::Memory(chunks) => chunks.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned(),
            Chunks::Folder(folder) => {
                let file = folder.join(id.to_string());
                let content = aside(move || std::fs::read(file)).await.ok()?;
                (ChunkId::of(&content) == id).then_some(content)
            }
        }
    }
}

/// Does something on a thread that may wait for the disk.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_was_changed_is_no_chunk() {
        let folder = std::env::temp_dir().join(format!("iolite-chunks-{:032x}", iolite_host::random_id()));
        let chunks = Chunks::beside(&folder).expect("it is made");
        let id = ChunkId::of(b"content");
        assert_eq!(chunks.load(id).await, None);
        chunks.keep(id, b"content".into(), Keep::Durably).await.expect("it is stored");
        let again = Chunks::beside(&folder).expect("it is there");
        assert_eq!(again.load(id).await.as_deref(), Some(&b"content"[..]));
        std::fs::write(folder.join(FOLDER).join(id.to_string()), b"contents").expect("written");
        assert_eq!(again.load(id).await, None);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
