//! A set of public keys, as issuers publish it (JWKS, RFC 7517).
//!
//! Invariant: no secret comes from a set. Who can read a set could sign by it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::key::{Algorithm, Key};

/// Bytes of a set.
pub const KEY_SET_BYTES_MAX: usize = 65_536;

/// Keys of a set.
pub(crate) const KEY_SET_KEYS_MAX: usize = 64;

/// Why a set cannot be used. The keys that there were before go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    #[error("the set of keys has more than {KEY_SET_BYTES_MAX} bytes")]
    TooLong,
    #[error("the set of keys has more than {KEY_SET_KEYS_MAX} keys")]
    TooMany,
    #[error("the set of keys is no JSON object with a list `keys`")]
    Malformed,
    #[error("the set of keys has none that verifies RS256 or EdDSA, with 2048 to 8192 bits if it is of RSA")]
    Empty,
}

/// The keys of a set that verify tokens by RS256 or EdDSA. Others are left out, as RFC 7517 asks.
///
/// # Errors
/// [`KeySetError`].
pub fn read_key_set(json: &[u8]) -> Result<Vec<Key>, KeySetError> {
    if json.len() > KEY_SET_BYTES_MAX {
        return Err(KeySetError::TooLong);
    }
    let document: Value = serde_json::from_slice(json).map_err(|_| KeySetError::Malformed)?;
    let keys = document.get("keys").and_then(Value::as_array).ok_or(KeySetError::Malformed)?;
    if keys.len() > KEY_SET_KEYS_MAX {
        return Err(KeySetError::TooMany);
    }
    let keys: Vec<Key> = keys.iter().filter_map(key).collect();
    if keys.is_empty() { Err(KeySetError::Empty) } else { Ok(keys) }
}

/// None: it is a key of another kind, or for something else.
fn key(json: &Value) -> Option<Key> {
    let text = |name: &str| json.get(name).and_then(Value::as_str);
    let kid = text("kid").map(str::to_owned);
    let number = |name| text(name).and_then(|digits| URL_SAFE_NO_PAD.decode(digits.trim_end_matches('=')).ok());
    let is_for_signatures = text("use").is_none_or(|purpose| purpose == "sig");
    let operations = json.get("key_ops").and_then(Value::as_array);
    let verifies = operations.is_none_or(|all| all.iter().any(|one| one.as_str() == Some("verify")));
    let is_by = |algorithm| text("alg").is_none_or(|name| Algorithm::named(name) == Some(algorithm));
    if !(is_for_signatures && verifies) {
        return None;
    }
    match text("kty")? {
        "RSA" if is_by(Algorithm::Rs256) => Key::rsa(kid, &number("n")?, &number("e")?).ok(),
        "OKP" if text("crv") == Some("Ed25519") && is_by(Algorithm::EdDsa) => Key::ed25519(kid, &number("x")?).ok(),
        _ => None,
    }
}
