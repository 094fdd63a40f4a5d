//! The canonical JSON of rights, and its digest.
//!
//! Invariants: any text gives rights or an error with its place, never a panic. What rights become, reads back as these rights. Keys are sorted, and
//! there is no white space, so equal rights have one text.
//!
//! ```json
//! {"logs":{},"objects":{},"tables":{"messages":{"create":{"and":[
//!   {"test":{"is":{"equal":{"claim":"sub"}},"of":{"row":"author"}}},
//!   {"exists":{"at":{"key":[{"row":"room"},{"claim":"sub"}],"table":"members"}}}]}}}}
//! ```

mod place;
mod read;
mod write;

use iolite_values::Id;
use sha2::{Digest, Sha256};

use crate::Rights;
use place::Place;

/// Why a text is no rights, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rights{}: {problem}", if .path.is_empty() { String::new() } else { format!(", at {}", .path) })]
pub struct RightsError {
    /// The keys and places that lead there, with dots between them.
    pub path: String,
    pub problem: String,
}

impl RightsError {
    fn new(path: impl Into<String>, problem: impl Into<String>) -> RightsError {
        RightsError { path: path.into(), problem: problem.into() }
    }
}

impl Rights {
    /// Reads rights from JSON, canonical or not.
    ///
    /// # Errors
    /// [`RightsError`] with the place, and a sentence that says what to write there.
    pub fn from_json(text: &str) -> Result<Rights, RightsError> {
        if text.len() > Rights::JSON_BYTES_MAX {
            let problem = format!("they have {} bytes, and at most {} are read", text.len(), Rights::JSON_BYTES_MAX);
            return Err(RightsError::new("", problem));
        }
        let json = serde_json::from_str(text)
            .map_err(|error| RightsError::new("", format!("this is no JSON that can be read: {error}")))?;
        read::rights(&Place::root(&json))
    }

    /// The canonical JSON.
    pub fn to_json(&self) -> String {
        write::rights(self).to_string()
    }

    /// The first 16 bytes of the SHA-256 of the canonical JSON.
    pub fn digest(&self) -> Id {
        let digest: [u8; 32] = Sha256::digest(self.to_json()).into();
        let (first, _) = digest.split_first_chunk().expect("SHA-256 has 32 bytes");
        Id::from_bytes(*first)
    }
}

#[cfg(test)]
mod tests;
