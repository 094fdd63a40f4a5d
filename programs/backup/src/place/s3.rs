//! A prefix in a bucket of S3, or of what speaks its protocol.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, RetryConfig};

use super::PlaceError;

/// A server that does not answer for so long is given up.
const RETRIED_FOR: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// As it was asked for.
    text: String,
    store: Arc<AmazonS3>,
    prefix: Path,
}

impl Bucket {
    /// Credentials, region and endpoint are in the environment, under Amazon's names.
    pub fn of(text: &str, address: &str) -> Result<Bucket, PlaceError> {
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        if bucket.is_empty() {
            return Err(PlaceError::NoBucket(text.to_owned()));
        }
        // The provider of TLS that all of this program uses. Somebody may have said so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig { max_retries: 5, retry_timeout: RETRIED_FOR, ..RetryConfig::default() };
        let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build();
        let store = store.map_err(|error| refused(text, &error))?;
        Ok(Bucket { text: text.to_owned(), store: Arc::new(store), prefix: Path::from(prefix) })
    }

    pub async fn is_empty(&self) -> Result<bool, PlaceError> {
        let listed = self.store.list_with_delimiter(Some(&self.prefix)).await;
        let listed = listed.map_err(|error| refused(&self.text, &error))?;
        Ok(listed.objects.is_empty() && listed.common_prefixes.is_empty())
    }

    pub async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), PlaceError> {
        let put = self.store.put(&self.path(name), bytes.into()).await;
        put.map(drop).map_err(|error| refused(&self.named(name), &error))
    }

    pub async fn get(&self, name: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, PlaceError> {
        let failed = |error: Error| refused(&self.named(name), &error);
        let found = match self.store.get(&self.path(name)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let bytes = found.meta.size;
        if bytes > bytes_max as u64 {
            return Err(PlaceError::TooLarge { path: self.named(name), bytes });
        }
        Ok(Some(found.bytes().await.map_err(failed)?.to_vec()))
    }

    fn path(&self, name: &str) -> Path {
        self.prefix.clone().join(name)
    }

    fn named(&self, name: &str) -> String {
        format!("{}/{name}", self.text.trim_end_matches('/'))
    }
}

fn refused(path: &str, error: &Error) -> PlaceError {
    PlaceError::S3 { path: path.to_owned(), problem: error.to_string().replace('\n', " ") }
}
