//! Where a backup is: a folder, or a prefix in a bucket of S3.
//!
//! Invariant: a file is there under its name only when it is whole, and, in a folder, durable.

mod folder;
mod s3;

use std::path::PathBuf;

use folder::Folder;
use s3::Bucket;

/// A place for one backup.
#[derive(Clone, Debug)]
pub struct Place(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Folder(Folder),
    Bucket(Bucket),
}

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("{path} cannot be used: {source}{}", advice(source))]
    Io { path: String, source: std::io::Error },
    #[error("{path} has {bytes} bytes, more than any file of a backup: it is damaged")]
    TooLarge { path: String, bytes: u64 },
    #[error("{0} names no bucket: write s3://BUCKET/PREFIX")]
    NoBucket(String),
    #[error(
        "{path} cannot be used: {problem}. Correct the address or the credentials: they come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for other servers than Amazon's, AWS_ENDPOINT"
    )]
    S3 { path: String, problem: String },
}

fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            ". Make room, remove what is there, and start again"
        }
        std::io::ErrorKind::PermissionDenied => ". Give this user the right to it, or choose another place",
        _ => "",
    }
}

impl Place {
    /// A folder, or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// [`PlaceError`], when the address or the settings of S3 make no sense; whether it can be reached shows when it is used.
    pub fn of(text: &str) -> Result<Place, PlaceError> {
        Ok(Place(match text.strip_prefix("s3://") {
            Some(address) => Kind::Bucket(Bucket::of(text, address)?),
            None => Kind::Folder(Folder(PathBuf::from(text))),
        }))
    }

    /// Whether there is any file.
    pub(crate) async fn is_empty(&self) -> Result<bool, PlaceError> {
        match &self.0 {
            Kind::Folder(folder) => folder.is_empty(),
            Kind::Bucket(bucket) => bucket.is_empty().await,
        }
    }

    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), PlaceError> {
        match &self.0 {
            Kind::Folder(folder) => {
                let (folder, name) = (folder.clone(), name.to_owned());
                tokio::task::spawn_blocking(move || folder.put(&name, &bytes)).await.expect("it does not panic")
            }
            Kind::Bucket(bucket) => bucket.put(name, bytes).await,
        }
    }

    /// The file of that name, if there is one.
    pub(crate) async fn get(&self, name: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, PlaceError> {
        match &self.0 {
            Kind::Folder(folder) => {
                let (folder, name) = (folder.clone(), name.to_owned());
                tokio::task::spawn_blocking(move || folder.get(&name, bytes_max)).await.expect("it does not panic")
            }
            Kind::Bucket(bucket) => bucket.get(name, bytes_max).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_full_disk_and_a_missing_right_are_told_with_what_to_do() {
        for (kind, told) in [
            (ErrorKind::StorageFull, "Make room, remove what is there, and start again"),
            (ErrorKind::QuotaExceeded, "Make room"),
            (ErrorKind::PermissionDenied, "Give this user the right to it"),
        ] {
            let error = PlaceError::Io { path: "backups/part-00000000".into(), source: Error::from(kind) };
            let error = error.to_string();
            assert!(error.contains(told) && error.contains("backups/part-00000000 cannot be used"), "{error}");
        }
    }
}
