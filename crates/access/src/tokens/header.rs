//! The header of a token: whom it claims to be signed by. Nothing in it is trusted.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::AccessError;

/// The two names by which a key is looked for. `jwk`, `jku`, `x5u` and the like are ignored.
pub(super) struct Header {
    pub algorithm: String,
    pub kid: Option<String>,
}

impl Header {
    /// # Errors
    /// [`AccessError::Malformed`] and [`AccessError::Extensions`].
    pub fn read(token: &str) -> Result<Header, AccessError> {
        let mut parts = token.split('.');
        let (Some(header), Some(_), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(AccessError::Malformed);
        };
        let json = URL_SAFE_NO_PAD.decode(header).map_err(|_| AccessError::Malformed)?;
        let fields: Map<String, Value> = serde_json::from_slice(&json).map_err(|_| AccessError::Malformed)?;
        // RFC 7515, 4.1.11: who does not know an extension refuses the token.
        if fields.contains_key("crit") {
            return Err(AccessError::Extensions);
        }
        let algorithm = fields.get("alg").and_then(Value::as_str).ok_or(AccessError::Malformed)?;
        let kid = match fields.get("kid") {
            None => None,
            Some(kid) => Some(kid.as_str().ok_or(AccessError::Malformed)?.to_owned()),
        };
        Ok(Header { algorithm: algorithm.to_owned(), kid })
    }
}
