//! The store of chunks, as the file of a gateway describes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_gateway::Limits;
use iolite_gateway::limits::{BLOB_BYTES_ANONYMOUS_MAX, BLOB_BYTES_USER_MAX};
use serde::{Deserialize, Serialize};

use super::error::ConfigProblem;
use crate::blob_store::BlobStoreError;
use crate::objects::ObjectsAddress;

/// For how long chunks stay that no row names any more, unless it is said.
pub const GRACE: Duration = Duration::from_secs(60 * 60);

/// The store of chunks of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobsConfig {
    pub address: ObjectsAddress,
    /// Bytes of chunks after which nothing more is stored.
    pub bytes_max: Option<u64>,
    /// Bytes that a user with a token may store, and an anonymous one.
    pub bytes_max_user: u64,
    pub bytes_max_anonymous: u64,
    /// From when a sweep has found garbage until it deletes it.
    pub grace: Duration,
    /// The file to which lines of JSON are appended, one for each thing that is done.
    pub trace: Option<PathBuf>,
}

/// [`BlobsConfig`], as it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobsTable {
    pub store: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max_user: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max_anonymous: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
}

impl BlobsConfig {
    /// Without a bound and a trace.
    pub fn at(address: ObjectsAddress) -> BlobsConfig {
        let (bytes_max_user, bytes_max_anonymous) = (BLOB_BYTES_USER_MAX, BLOB_BYTES_ANONYMOUS_MAX);
        BlobsConfig { address, bytes_max: None, bytes_max_user, bytes_max_anonymous, grace: GRACE, trace: None }
    }

    /// The limits of a gateway with this store, or without one.
    pub fn limits(blobs: Option<&BlobsConfig>) -> Limits {
        let limits = Limits::default();
        let Some(own) = blobs else { return limits };
        let (blob_bytes_user_max, blob_bytes_anonymous_max) = (own.bytes_max_user, own.bytes_max_anonymous);
        Limits { blob_bytes_user_max, blob_bytes_anonymous_max, ..limits }
    }

    pub(super) fn of(table: BlobsTable, folder: &Path) -> Result<BlobsConfig, ConfigProblem> {
        let BlobsTable { store, bytes_max, bytes_max_user, bytes_max_anonymous, grace_s, trace } = table;
        if bytes_max == Some(0) {
            return Err(ConfigProblem::BlobBytes);
        }
        let address = ObjectsAddress::parse(&store, folder).map_err(BlobStoreError::from)?;
        let (grace, trace) = (grace_s.map_or(GRACE, Duration::from_secs), trace.map(|trace| folder.join(trace)));
        let bytes_max_user = bytes_max_user.unwrap_or(BLOB_BYTES_USER_MAX);
        let bytes_max_anonymous = bytes_max_anonymous.unwrap_or(BLOB_BYTES_ANONYMOUS_MAX);
        Ok(BlobsConfig { address, bytes_max, bytes_max_user, bytes_max_anonymous, grace, trace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BlobsConfig, String> {
        let table: BlobsTable = toml::from_str(text).map_err(|error| error.to_string())?;
        BlobsConfig::of(table, Path::new("/etc/iolite")).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_store_has_no_bound_and_an_hour_of_grace_unless_it_is_said() {
        let config = BlobsConfig::at(ObjectsAddress::Folder("/etc/iolite/blobs".into()));
        assert_eq!(read("store = \"dir:blobs\""), Ok(config.clone()));
        let said = read("store = \"dir:blobs\"\nbytes_max = 1_000\ngrace_s = 0\ntrace = \"trace.json\"");
        let trace = Some("/etc/iolite/trace.json".into());
        assert_eq!(said, Ok(BlobsConfig { bytes_max: Some(1_000), grace: Duration::ZERO, trace, ..config }));
        let of_users = read("store = \"dir:blobs\"\nbytes_max_user = 7\nbytes_max_anonymous = 0").expect("good");
        let limits = BlobsConfig::limits(Some(&of_users));
        assert_eq!((limits.blob_bytes_user_max, limits.blob_bytes_anonymous_max), (7, 0));
        assert!(read("store = \"dir:blobs\"\nbytes_max = 0").is_err_and(|error| error.contains("leave it out")));
        assert!(read("store = \"dir:blobs\"\nmax = 1").is_err_and(|error| error.contains("unknown field `max`")));
    }
}
