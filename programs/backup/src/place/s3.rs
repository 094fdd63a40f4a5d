//! A prefix in a bucket of S3, or of what speaks its protocol.

use std::fmt::Display;
use std::sync::Arc;

use iolite_node::{Objects, ObjectsAddress};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};

use super::PlaceError;

#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// As it was asked for.
    text: String,
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Bucket {
    /// Credentials, region and endpoint are in the environment, under Amazon's names.
    pub fn of(text: &str, address: &str) -> Result<Bucket, PlaceError> {
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        if bucket.is_empty() {
            return Err(PlaceError::NoBucket(text.to_owned()));
        }
        let address = ObjectsAddress::Bucket { bucket: bucket.into(), prefix: prefix.into() };
        let Objects { store, prefix } = Objects::open(&address).map_err(|error| refused(text, &error))?;
        Ok(Bucket { text: text.to_owned(), store, prefix })
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

fn refused(path: &str, error: &impl Display) -> PlaceError {
    PlaceError::S3 { path: path.to_owned(), problem: error.to_string().replace('\n', " ") }
}
