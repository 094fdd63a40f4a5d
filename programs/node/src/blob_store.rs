//! The store of chunks: a folder, or a prefix in a bucket of S3.
//!
//! Invariants: an object that was stored is durable. Whatever goes wrong is said in the log, and the store is unavailable for whoever asked.
//! The names of objects are digits, so none leads out of the folder.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use iolite_blobs::ObjectName;
use iolite_values::StoreIncarnation;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};

use crate::blobs::trace::{Op, Trace};
use crate::blobs::usage::Usage;
use crate::config::BlobsConfig;
use crate::objects::{Objects, ObjectsError};

/// Why there is no store of chunks. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum BlobStoreError {
    #[error("`store` of [blobs]: {0}")]
    Objects(#[from] ObjectsError),
    #[error("the trace of blobs {}: {source}. Make its folder, and make it writable for this user, or correct `trace` of [blobs]", file.display())]
    Trace { file: PathBuf, source: std::io::Error },
}

/// The store could not be reached, or has refused. The log says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store of blobs cannot be reached, or refuses: the log says why")]
pub struct Unavailable;

/// A store of chunks that is open.
#[derive(Clone)]
pub struct BlobStore {
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    trace: Option<Arc<Trace>>,
    usage: Arc<Usage>,
    /// How long garbage stays.
    grace: Duration,
}

impl BlobStore {
    /// Opens a store. That of a bucket is not asked whether it is there.
    ///
    /// # Errors
    /// [`BlobStoreError`].
    pub fn open(config: &BlobsConfig) -> Result<BlobStore, BlobStoreError> {
        let Objects { store, prefix } = Objects::open(&config.address)?;
        let opened =
            |file: &PathBuf| Trace::open(file).map_err(|source| BlobStoreError::Trace { file: file.clone(), source });
        let trace = config.trace.as_ref().map(opened).transpose()?.map(Arc::new);
        Ok(BlobStore { store, prefix, trace, usage: Usage::new(config.bytes_max), grace: config.grace })
    }

    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Makes an object durable. One that is there already has the same content.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn store(&self, object: ObjectName, content: Vec<u8>) -> Result<(), Unavailable> {
        let bytes = content.len() as u64;
        let put = self.store.put(&self.path(object), content.into()).await;
        put.map_err(|error| unavailable(object, &error))?;
        self.usage.stored(bytes);
        self.note(Op::Put, object, bytes);
        Ok(())
    }

    /// Reads an object. `None`: there is none of this name.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn load(&self, object: ObjectName) -> Result<Option<Vec<u8>>, Unavailable> {
        let found = match self.store.get(&self.path(object)).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        let content = match found {
            Ok(content) => Some(content.to_vec()),
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(unavailable(object, &error)),
        };
        self.note(Op::Get, object, content.as_ref().map_or(0, |content| content.len() as u64));
        Ok(content)
    }

    pub(crate) async fn is_there(&self, object: ObjectName) -> Result<bool, Unavailable> {
        let is_there = match self.store.head(&self.path(object)).await {
            Ok(_) => true,
            Err(Error::NotFound { .. }) => false,
            Err(error) => return Err(unavailable(object, &error)),
        };
        self.note(Op::Head, object, 0);
        Ok(is_there)
    }

    /// An object that is not there is deleted already.
    pub(crate) async fn delete(&self, object: ObjectName) -> Result<(), Unavailable> {
        match self.store.delete(&self.path(object)).await {
            Ok(()) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(unavailable(object, &error)),
        }
        self.note(Op::Delete, object, 0);
        Ok(())
    }

    /// Says each object of a store's incarnation, with its bytes. What is no object of ours is passed over.
    pub(crate) async fn list(
        &self,
        store: StoreIncarnation,
        mut each: impl FnMut(ObjectName, u64),
    ) -> Result<(), Unavailable> {
        let folder = self.prefix.clone().join(store.0.to_string());
        let (mut found, mut bytes) = (self.store.list(Some(&folder)), 0);
        let failed = |error| {
            tracing::warn!(%error, "the store of blobs cannot be listed");
            Unavailable
        };
        while let Some(meta) = found.try_next().await.map_err(failed)? {
            let name = meta.location.prefix_match(&self.prefix).map(|parts| parts.map(|part| part.as_ref().to_owned()));
            let name = name.map(|parts| parts.collect::<Vec<String>>().join("/"));
            if let Some(object) = name.as_deref().and_then(ObjectName::parse) {
                bytes += meta.size;
                each(object, meta.size);
            }
        }
        if let Some(trace) = &self.trace {
            trace.note(Op::List, &store.0.to_string(), bytes);
        }
        Ok(())
    }

    fn note(&self, op: Op, object: ObjectName, bytes: u64) {
        if let Some(trace) = &self.trace {
            trace.note(op, &object.to_string(), bytes);
        }
    }

    fn path(&self, object: ObjectName) -> ObjectPath {
        let text = object.to_string();
        text.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobStore({})", self.store)
    }
}

fn unavailable(object: ObjectName, error: &Error) -> Unavailable {
    tracing::warn!(%object, %error, "the store of blobs cannot do what it was asked");
    Unavailable
}

#[cfg(test)]
mod tests {
    use iolite_values::{ChunkId, Id, LeaseName, StoreIncarnation};

    use super::*;
    use crate::objects::ObjectsAddress;

    /// A folder of one test.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            Folder(std::env::temp_dir().join(format!("iolite-blobs-{:032x}", iolite_host::random_id())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn object(content: &[u8]) -> ObjectName {
        let (store, lease) = (StoreIncarnation(Id::from_u128(5)), LeaseName(Id::from_u128(7)));
        ObjectName { store, lease, chunk: ChunkId::of(content) }
    }

    #[tokio::test]
    async fn what_was_stored_is_there_when_the_folder_is_opened_again() {
        let folder = Folder::new();
        let config = BlobsConfig::at(ObjectsAddress::Folder(folder.0.join("blobs")));
        let store = BlobStore::open(&config).expect("it is made");
        assert_eq!(store.load(object(b"a")).await, Ok(None));
        assert_eq!(store.store(object(b"a"), b"a".into()).await, Ok(()));
        let again = BlobStore::open(&config).expect("it is there");
        assert_eq!(again.load(object(b"a")).await, Ok(Some(b"a".into())));
        assert_eq!((again.is_there(object(b"a")).await, again.is_there(object(b"b")).await), (Ok(true), Ok(false)));
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_is_unavailable_and_nothing_panics() {
        let folder = Folder::new();
        let place = folder.0.join("blobs");
        let config = BlobsConfig::at(ObjectsAddress::Folder(place.clone()));
        let store = BlobStore::open(&config).expect("it is made");
        std::fs::remove_dir(&place).expect("it is empty");
        std::fs::write(&place, "a file").expect("written");
        assert_eq!(store.store(object(b"a"), b"a".into()).await, Err(Unavailable));
        assert!(BlobStore::open(&config).is_err());
    }

    #[tokio::test]
    async fn what_is_listed_is_what_was_stored_under_this_incarnation_and_the_trace_has_all() {
        let folder = Folder::new();
        let trace = folder.0.join("trace");
        std::fs::create_dir_all(&folder.0).expect("a temporary folder");
        let config = BlobsConfig {
            trace: Some(trace.clone()),
            ..BlobsConfig::at(ObjectsAddress::Folder(folder.0.join("blobs")))
        };
        let store = BlobStore::open(&config).expect("it is made");
        let other = ObjectName { store: StoreIncarnation(Id::from_u128(6)), ..object(b"other") };
        for (object, content) in [(object(b"a"), "a"), (object(b"bb"), "bb"), (other, "other")] {
            store.store(object, content.into()).await.expect("stored");
        }
        let strange = folder.0.join("blobs").join(Id::from_u128(5).to_string()).join("a note");
        std::fs::write(strange, "not ours").expect("written");
        let listed = async || {
            let mut listed = Vec::new();
            let each = |object, bytes| listed.push((object, bytes));
            store.list(StoreIncarnation(Id::from_u128(5)), each).await.expect("it can be listed");
            listed.sort_unstable();
            listed
        };
        let mut all = vec![(object(b"a"), 1), (object(b"bb"), 2)];
        all.sort_unstable();
        assert_eq!(listed().await, all);
        store.delete(object(b"a")).await.expect("deleted");
        store.delete(object(b"a")).await.expect("deleted before");
        assert_eq!(listed().await, [(object(b"bb"), 2)]);
        let ops = std::fs::read_to_string(trace).expect("it is there");
        let op = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["op"].to_string();
        let ops: Vec<String> = ops.lines().map(op).collect();
        assert_eq!(ops.join(" ").replace('"', ""), "put put put list delete delete list");
    }
}
