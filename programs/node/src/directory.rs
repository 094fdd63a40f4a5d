//! The directory of a cluster: which replicas there are, and where. It is the cluster's description, which is read again while a node runs, so that
//! replicas come and go without a restart of the others.
//!
//! Invariants:
//! - a description that cannot be used changes nothing;
//! - a node goes on with what it read last while nothing can be read.

#[cfg(feature = "etcd")]
mod etcd;
mod source;

#[cfg(feature = "etcd")]
pub use etcd::EtcdError;
pub use source::{ClusterSource, Description, Revision};

use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_host::Stop;
use tokio::time::sleep;

use crate::config::{Cluster, ConfigError};

/// What a node that runs learns late of a change: its links to replicas that are new.
pub const DIRECTORY_READ_EVERY: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct Directory {
    cluster: Cluster,
    file: Option<PathBuf>,
}

impl Directory {
    /// By the cluster's file: its description, or where in etcd that is.
    ///
    /// # Errors
    /// [`ConfigError`], about the file or etcd.
    pub fn open(file: &Path) -> Result<Directory, ConfigError> {
        let mut source = ClusterSource::new(file);
        let read = source.read_now()?;
        source.keep_copy(&read);
        Ok(Directory { cluster: read.cluster, file: Some(file.to_owned()) })
    }

    /// One that does not change.
    pub fn fixed(cluster: Cluster) -> Directory {
        Directory { cluster, file: None }
    }

    /// As it was read last.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Tells of each change until the node stops: how it was, and how it is.
    pub(crate) async fn follow(mut self, mut stop: Stop, mut changed: impl FnMut(&Cluster, &Cluster)) {
        let Some(file) = self.file.take() else { return };
        let mut source = ClusterSource::new(&file);
        let mut said = String::new();
        let mut kept = None;
        loop {
            let next = tokio::select! {
                () = stop.wait() => return,
                next = self.read_again(&mut source) => next,
            };
            match next {
                Ok(next) => {
                    said.clear();
                    if next.revision != kept {
                        kept = next.revision;
                        keep_copy(&file, &next).await;
                    }
                    if next.cluster != self.cluster {
                        tracing::info!("the cluster's description has changed");
                        changed(&self.cluster, &next.cluster);
                        self.cluster = next.cluster;
                    }
                }
                Err(problem) if problem != said => {
                    tracing::warn!("{problem}. What was read before is used on");
                    said = problem;
                }
                Err(_) => {}
            }
        }
    }

    async fn read_again(&self, source: &mut ClusterSource) -> Result<Description, String> {
        sleep(DIRECTORY_READ_EVERY).await;
        let next = source.read().await.map_err(|error| error.to_string())?;
        if next.cluster.store == self.cluster.store {
            return Ok(next);
        }
        Err(format!("the cluster's description is of another cluster now: its `store` is {}", next.file.store))
    }
}

/// Away from the thread of whoever follows, which may be a replica's: a copy is synced, and a disk may take long.
async fn keep_copy(file: &Path, description: &Description) {
    let (source, description) = (ClusterSource::new(file), description.clone());
    let keeping = tokio::task::spawn_blocking(move || source.keep_copy(&description));
    keeping.await.expect("it does not panic, and nobody aborts it");
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use iolite_host::Shutdown;
    use iolite_values::{Id, StoreIncarnation};

    use super::*;
    use crate::config::{ClusterFile, ReplicaPlace, even_shards};

    #[tokio::test(start_paused = true)]
    async fn a_change_is_told_and_a_damaged_file_changes_nothing() {
        let folder = std::env::temp_dir().join(format!("iolite-directory-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join("cluster.toml");
        let store = StoreIncarnation(Id::from_u128(7)).0.to_string();
        let shards = even_shards(1, 3, |number| format!("host-{number}:1"));
        let mut file = ClusterFile { store, last_replica: None, shards, splits: Vec::new() };
        file.write(&path).expect("it can be");
        let directory = Directory::open(&path).expect("our own");
        let (sender, told) = mpsc::channel();
        let shutdown = Shutdown::new();
        let following = directory.follow(shutdown.listen(), move |was, is| {
            sender.send((was.addresses.len(), is.addresses.len())).expect("it is listened to");
        });
        let following = tokio::spawn(following);
        std::fs::write(&path, "shards =").expect("it can be");
        sleep(2 * DIRECTORY_READ_EVERY).await;
        let other = ClusterFile { store: StoreIncarnation(Id::from_u128(8)).0.to_string(), ..file.clone() };
        other.write(&path).expect("it can be");
        sleep(2 * DIRECTORY_READ_EVERY).await;
        assert!(told.try_recv().is_err());
        file.shards[0].joining.push(ReplicaPlace { number: 3, address: "host-3:1".into() });
        file.write(&path).expect("it can be");
        sleep(3 * DIRECTORY_READ_EVERY).await;
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [(3, 4)]);
        shutdown.begin();
        following.await.expect("it ends");
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
