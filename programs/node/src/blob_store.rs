//! The store of chunks: a folder, or a prefix in a bucket of S3.
//!
//! Invariants: an object that was stored is durable. Whatever goes wrong is said in the log, and the store is unavailable for whoever asked.
//! The names of objects are digits, so none leads out of the folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_blobs::ObjectName;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};

/// Where the store of chunks is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobAddress {
    /// A folder. It is made if it is missing.
    Folder(PathBuf),
    /// Credentials, region and endpoint are in the environment, under Amazon's names.
    Bucket { bucket: String, prefix: String },
}

/// Why there is no store of chunks. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum BlobStoreError {
    #[error("`store` of [blobs] is {0:?}: write dir:FOLDER, or s3://BUCKET/PREFIX")]
    Address(String),
    #[error("the folder of blobs {}: {source}. Make it writable for this user, or correct `store` of [blobs]", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error("the store of blobs: {0}")]
    Store(#[from] Error),
    #[error("`store` of [blobs] is in S3, and this program was built without the feature `s3`")]
    WithoutS3,
}

/// The store could not be reached, or has refused. The log says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unavailable;

/// A store of chunks that is open.
#[derive(Clone)]
pub(crate) struct BlobStore {
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
}

impl BlobAddress {
    /// Reads an address. A folder is relative to `beside`.
    ///
    /// # Errors
    /// [`BlobStoreError::Address`].
    pub fn parse(text: &str, beside: &Path) -> Result<BlobAddress, BlobStoreError> {
        if let Some(folder) = text.strip_prefix("dir:").filter(|folder| !folder.is_empty()) {
            return Ok(BlobAddress::Folder(beside.join(folder)));
        }
        let address = text.strip_prefix("s3://").map(|address| address.split_once('/').unwrap_or((address, "")));
        match address {
            Some((bucket, prefix)) if !bucket.is_empty() => {
                Ok(BlobAddress::Bucket { bucket: bucket.into(), prefix: prefix.into() })
            }
            Some(_) | None => Err(BlobStoreError::Address(text.into())),
        }
    }
}

impl BlobStore {
    /// Opens a store. That of a bucket is not asked whether it is there.
    ///
    /// # Errors
    /// [`BlobStoreError`].
    pub(crate) fn open(address: &BlobAddress) -> Result<BlobStore, BlobStoreError> {
        match address {
            BlobAddress::Folder(folder) => {
                let failed = |source| BlobStoreError::Folder { folder: folder.clone(), source };
                std::fs::create_dir_all(folder).map_err(failed)?;
                let store = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
                Ok(BlobStore { store: Arc::new(store), prefix: ObjectPath::default() })
            }
            BlobAddress::Bucket { bucket, prefix } => BlobStore::of_bucket(bucket, prefix),
        }
    }

    #[cfg(feature = "s3")]
    fn of_bucket(bucket: &str, prefix: &str) -> Result<BlobStore, BlobStoreError> {
        use object_store::RetryConfig;
        use object_store::aws::AmazonS3Builder;
        // The provider of TLS that all of this program uses. Somebody may have said so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry_timeout = std::time::Duration::from_secs(30);
        let retry = RetryConfig { max_retries: 5, retry_timeout, ..RetryConfig::default() };
        let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build()?;
        Ok(BlobStore { store: Arc::new(store), prefix: ObjectPath::from(prefix) })
    }

    #[cfg(not(feature = "s3"))]
    fn of_bucket(_bucket: &str, _prefix: &str) -> Result<BlobStore, BlobStoreError> {
        Err(BlobStoreError::WithoutS3)
    }

    pub(crate) async fn store(&self, object: ObjectName, content: Vec<u8>) -> Result<(), Unavailable> {
        let put = self.store.put(&self.path(object), content.into()).await;
        put.map(drop).map_err(|error| unavailable(object, &error))
    }

    /// `None`: there is no such object.
    pub(crate) async fn load(&self, object: ObjectName) -> Result<Option<Vec<u8>>, Unavailable> {
        let found = match self.store.get(&self.path(object)).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match found {
            Ok(content) => Ok(Some(content.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(unavailable(object, &error)),
        }
    }

    pub(crate) async fn is_there(&self, object: ObjectName) -> Result<bool, Unavailable> {
        match self.store.head(&self.path(object)).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(unavailable(object, &error)),
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

    #[test]
    fn an_address_is_a_folder_or_a_bucket() {
        let parse = |text| BlobAddress::parse(text, Path::new("/etc/iolite"));
        assert_eq!(parse("dir:blobs").ok(), Some(BlobAddress::Folder("/etc/iolite/blobs".into())));
        assert_eq!(parse("dir:/srv/blobs").ok(), Some(BlobAddress::Folder("/srv/blobs".into())));
        let bucket = BlobAddress::Bucket { bucket: "photos".into(), prefix: "a/b".into() };
        assert_eq!(parse("s3://photos/a/b").ok(), Some(bucket));
        for wrong in ["blobs", "dir:", "s3://", "s3:photos", "file:///srv"] {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("dir:FOLDER"), "{error}");
        }
    }

    #[tokio::test]
    async fn what_was_stored_is_there_when_the_folder_is_opened_again() {
        let folder = Folder::new();
        let address = BlobAddress::Folder(folder.0.join("blobs"));
        let store = BlobStore::open(&address).expect("it is made");
        assert_eq!(store.load(object(b"a")).await, Ok(None));
        assert_eq!(store.store(object(b"a"), b"a".into()).await, Ok(()));
        let again = BlobStore::open(&address).expect("it is there");
        assert_eq!(again.load(object(b"a")).await, Ok(Some(b"a".into())));
        assert_eq!((again.is_there(object(b"a")).await, again.is_there(object(b"b")).await), (Ok(true), Ok(false)));
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_is_unavailable_and_nothing_panics() {
        let folder = Folder::new();
        let place = folder.0.join("blobs");
        let store = BlobStore::open(&BlobAddress::Folder(place.clone())).expect("it is made");
        std::fs::remove_dir(&place).expect("it is empty");
        std::fs::write(&place, "a file").expect("written");
        assert_eq!(store.store(object(b"a"), b"a".into()).await, Err(Unavailable));
        assert!(BlobStore::open(&BlobAddress::Folder(place)).is_err());
    }
}
