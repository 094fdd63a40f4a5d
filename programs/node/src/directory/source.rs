//! Where a cluster's description is: in its file or, where the file says so, under a key of etcd.
//!
//! Invariants:
//! - what is read is a cluster, or an error;
//! - the file is looked at each time, so that a cluster goes from a file to etcd, and back, while its nodes run.

use std::path::{Path, PathBuf};

use crate::config::{Cluster, ClusterFile, ConfigError, ConfigProblem, read};
#[cfg(feature = "etcd")]
use crate::config::{EtcdFile, EtcdPlace};

#[cfg(feature = "etcd")]
use super::etcd::{EtcdClient, EtcdError};

/// A cluster's description, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub file: ClusterFile,
    pub cluster: Cluster,
    /// Of etcd. None: it was read from a file.
    pub revision: Option<Revision>,
}

/// Which of the values of a key of etcd it is. 0: there is none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub i64);

/// Reads and writes a cluster's description.
#[derive(Debug)]
pub struct ClusterSource {
    file: PathBuf,
    #[cfg(feature = "etcd")]
    client: Option<EtcdClient>,
}

/// Where it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File,
    #[cfg(feature = "etcd")]
    Etcd(EtcdPlace),
}

impl ClusterSource {
    /// The cluster's file: its description, or where in etcd that is.
    pub fn new(file: &Path) -> ClusterSource {
        ClusterSource {
            file: file.to_owned(),
            #[cfg(feature = "etcd")]
            client: None,
        }
    }

    /// # Errors
    /// [`ConfigError`], about the file.
    pub(super) fn place(&self) -> Result<Place, ConfigError> {
        let table: toml::Table = read(&self.file)?;
        if !table.contains_key("etcd") {
            return Ok(Place::File);
        }
        #[cfg(feature = "etcd")]
        {
            let EtcdFile { etcd } = read(&self.file)?;
            let place = EtcdPlace::of(etcd, &self.file);
            place.map(Place::Etcd).map_err(|problem| ConfigProblem::from(problem).of(&self.file))
        }
        #[cfg(not(feature = "etcd"))]
        Err(ConfigProblem::WithoutEtcd.of(&self.file))
    }

    /// Whether the file says that it is in etcd.
    ///
    /// # Errors
    /// [`ConfigError`], about the file.
    pub fn is_in_etcd(&self) -> Result<bool, ConfigError> {
        Ok(self.place()? != Place::File)
    }

    /// # Errors
    /// [`ConfigError`], about the file or etcd.
    ///
    /// Giving up the wait changes nothing.
    pub async fn read(&mut self) -> Result<Description, ConfigError> {
        match self.place()? {
            Place::File => read_file(&self.file),
            #[cfg(feature = "etcd")]
            Place::Etcd(place) => self.read_etcd(place).await,
        }
    }

    #[cfg(feature = "etcd")]
    async fn read_etcd(&mut self, place: EtcdPlace) -> Result<Description, ConfigError> {
        let mut client = self.client_of(&place)?;
        let (text, revision) = client.read().await?;
        // After an error another one is made, by the certificates of then.
        self.client = Some(client);
        let wrong = |problem: String| EtcdError::Value { key: place.key.clone(), problem };
        let file: ClusterFile = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let cluster = Cluster::of(&file).map_err(|problem| wrong(problem.to_string()))?;
        Ok(Description { file, cluster, revision: Some(revision) })
    }

    #[cfg(feature = "etcd")]
    fn client_of(&mut self, place: &EtcdPlace) -> Result<EtcdClient, EtcdError> {
        match self.client.take() {
            Some(client) if client.place() == place => Ok(client),
            Some(_) | None => EtcdClient::new(place.clone()),
        }
    }

    /// Keeps what was read from etcd for [`ClusterSource::read_now`], beside what was accepted before. Who cannot goes on without.
    pub(super) fn keep_copy(&self, description: &Description) {
        #[cfg(feature = "etcd")]
        if let Ok(Place::Etcd(place)) = self.place()
            && ClusterFile::read(&place.copy).ok().as_ref() != Some(&description.file)
            && let Err(error) = description.file.write(&place.copy)
        {
            tracing::warn!(
                "no copy of the cluster's description can be kept in {}: {error}. Without it this node does not start while etcd is away",
                place.copy.display()
            );
        }
        #[cfg(not(feature = "etcd"))]
        let _ = description;
    }

    /// The same as [`ClusterSource::read`], outside of a runtime or inside of one, which waits meanwhile. When etcd does not answer, what was kept of it.
    ///
    /// # Errors
    /// [`ConfigError`], about the file or etcd.
    pub(super) fn read_now(&mut self) -> Result<Description, ConfigError> {
        match self.place()? {
            Place::File => read_file(&self.file),
            #[cfg(feature = "etcd")]
            Place::Etcd(place) => match apart(self.read_etcd(place.clone())) {
                Err(ConfigError::Etcd(error @ EtcdError::Unreachable(_))) => {
                    let kept = read_file(&place.copy).map_err(|_| error.to_string());
                    let kept = kept.map_err(|error| EtcdError::NoCopy { error, copy: place.copy.clone() })?;
                    tracing::warn!("{error}. The copy {} is used until then", place.copy.display());
                    Ok(kept)
                }
                read => read,
            },
        }
    }

    /// Writes a description in the place of the one that was read. `false`: somebody else has written since, so this is to be done again with what
    /// is there now, which may be this. A file is taken to be of one operator, and is replaced whatever is in it.
    ///
    /// # Errors
    /// [`ConfigError`], about the file or etcd: where no answer came, it may have been written.
    pub async fn replace(&mut self, file: &ClusterFile, revision: Option<Revision>) -> Result<bool, ConfigError> {
        match (self.place()?, revision) {
            (Place::File, None) => {
                let written = file.write(&self.file);
                written.map_err(|source| ConfigError::Unwritable { file: self.file.clone(), source })?;
                Ok(true)
            }
            #[cfg(feature = "etcd")]
            (Place::Etcd(place), Some(revision)) => {
                let mut client = self.client_of(&place)?;
                let replaced = client.replace(&file.to_toml(), revision).await?;
                self.client = Some(client);
                Ok(replaced)
            }
            // It has gone from a file to etcd, or back.
            (_, _) => Ok(false),
        }
    }
}

/// What a runtime of its own makes of it, on a thread of its own: who waits may be in one already.
#[cfg(feature = "etcd")]
fn apart<T: Send>(work: impl Future<Output = Result<T, ConfigError>> + Send) -> Result<T, ConfigError> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(EtcdError::Runtime)?.block_on(work)
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn read_file(file: &Path) -> Result<Description, ConfigError> {
    let own = ClusterFile::read(file)?;
    let cluster = Cluster::of(&own).map_err(|problem| problem.of(file))?;
    Ok(Description { file: own, cluster, revision: None })
}
