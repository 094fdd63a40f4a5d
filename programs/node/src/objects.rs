//! Stores of objects: a folder, or a prefix in a bucket of S3. Gateways keep chunks of blobs in one, and backups may lie in one.
//!
//! Invariant: this is the one place where a store is opened, so a bucket is asked in one way by all of the program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;

/// The address of a store of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectsAddress {
    /// A folder. It is made if it is missing.
    Folder(PathBuf),
    /// Credentials, region and endpoint are in the environment, under Amazon's names.
    Bucket { bucket: String, prefix: String },
}

/// Why there is no store of objects. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    #[error("{0:?} is no store: write dir:FOLDER, or s3://BUCKET/PREFIX")]
    Address(String),
    #[error("the folder {}: {source}. Make it writable for this user, or name another one", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Store(#[from] object_store::Error),
    #[error("it is in S3, and this program was built without the feature `s3`")]
    WithoutS3,
}

/// A store of objects that is open.
#[derive(Clone, Debug)]
pub struct Objects {
    pub store: Arc<dyn ObjectStore>,
    /// All that belongs to it is below.
    pub prefix: ObjectPath,
}

impl ObjectsAddress {
    /// Reads an address: `dir:FOLDER` or `s3://BUCKET/PREFIX`. A folder is relative to `beside`.
    ///
    /// # Errors
    /// [`ObjectsError::Address`].
    pub fn parse(text: &str, beside: &Path) -> Result<ObjectsAddress, ObjectsError> {
        if let Some(folder) = text.strip_prefix("dir:").filter(|folder| !folder.is_empty()) {
            return Ok(ObjectsAddress::Folder(beside.join(folder)));
        }
        let address = text.strip_prefix("s3://").map(|address| address.split_once('/').unwrap_or((address, "")));
        match address {
            Some((bucket, prefix)) if !bucket.is_empty() => {
                Ok(ObjectsAddress::Bucket { bucket: bucket.into(), prefix: prefix.into() })
            }
            Some(_) | None => Err(ObjectsError::Address(text.into())),
        }
    }
}

impl Objects {
    /// Opens a store. That of a bucket is not asked whether it is there.
    ///
    /// # Errors
    /// [`ObjectsError`].
    pub fn open(address: &ObjectsAddress) -> Result<Objects, ObjectsError> {
        match address {
            ObjectsAddress::Folder(folder) => {
                let failed = |source| ObjectsError::Folder { folder: folder.clone(), source };
                std::fs::create_dir_all(folder).map_err(failed)?;
                // Folders of leases go with their last chunk.
                let store = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true).with_automatic_cleanup(true);
                Ok(Objects { store: Arc::new(store), prefix: ObjectPath::default() })
            }
            ObjectsAddress::Bucket { bucket, prefix } => {
                Ok(Objects { store: of_bucket(bucket)?, prefix: ObjectPath::from(prefix.as_str()) })
            }
        }
    }
}

#[cfg(feature = "s3")]
fn of_bucket(bucket: &str) -> Result<Arc<dyn ObjectStore>, ObjectsError> {
    use std::time::Duration;

    use object_store::RetryConfig;
    use object_store::aws::AmazonS3Builder;
    // The provider of TLS that all of this program uses. Somebody may have said so before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A server that does not answer for so long is given up.
    let retry = RetryConfig { max_retries: 5, retry_timeout: Duration::from_secs(30), ..RetryConfig::default() };
    Ok(Arc::new(AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build()?))
}

#[cfg(not(feature = "s3"))]
fn of_bucket(_bucket: &str) -> Result<Arc<dyn ObjectStore>, ObjectsError> {
    Err(ObjectsError::WithoutS3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_folder_or_a_bucket() {
        let parse = |text| ObjectsAddress::parse(text, Path::new("/etc/iolite"));
        assert_eq!(parse("dir:blobs").ok(), Some(ObjectsAddress::Folder("/etc/iolite/blobs".into())));
        assert_eq!(parse("dir:/srv/blobs").ok(), Some(ObjectsAddress::Folder("/srv/blobs".into())));
        let bucket = ObjectsAddress::Bucket { bucket: "photos".into(), prefix: "a/b".into() };
        assert_eq!(parse("s3://photos/a/b").ok(), Some(bucket));
        for wrong in ["blobs", "dir:", "s3://", "s3:photos", "file:///srv"] {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("dir:FOLDER"), "{error}");
        }
    }
}
