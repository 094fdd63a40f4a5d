//! A key that signs tokens, as far as a gateway has it: a secret, or the public half.
//!
//! Invariant: a key has one algorithm, for good. A public key is never taken for a secret.

use std::fmt;

use jsonwebtoken::{DecodingKey, DecodingKeyKind, Validation};
use serde_json::Value;

use super::der;
use super::pem::{self, Label};

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// HMAC by SHA-256, with a secret that issuer and gateway share.
    Hs256,
    /// RSA by SHA-256 (PKCS #1, version 1.5).
    Rs256,
    /// Ed25519.
    EdDsa,
}

/// Why a key cannot be used. Each message says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the secret has fewer than 32 bytes: make one by `openssl rand -hex 32`")]
    ShortSecret,
    #[error("it is a key in PEM, and HS256 takes a secret: name the algorithm of the key, RS256 or EdDSA")]
    PemAsSecret,
    #[error("it is no key in PEM: give a file that begins with `-----BEGIN PUBLIC KEY-----`")]
    NoPem,
    #[error("it is a private key, which belongs to the issuer alone: give its public half, by `openssl pkey -pubout`")]
    Private,
    #[error("it is a certificate: give its public key, by `openssl x509 -noout -pubkey`")]
    Certificate,
    #[error("it is no public key of RSA: RS256 takes one")]
    NotRsa,
    #[error("the RSA key has fewer than 2048 bits, or more than 8192: make another one")]
    RsaSize,
    #[error("it is no public key of Ed25519: EdDSA takes one")]
    NotEd25519,
}

/// A key that signs tokens, with its algorithm and perhaps its name. It is never printed.
#[derive(Clone)]
pub struct Key {
    kid: Option<String>,
    algorithm: Algorithm,
    decoding: DecodingKey,
}

/// Bytes of a secret, at least.
const SECRET_BYTES_LEAST: usize = 32;

/// Bytes of the modulus of an RSA key that ring takes.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// Bytes of a public key of Ed25519.
const ED25519_BYTES: usize = 32;

impl Key {
    /// A secret that issuer and gateway share, for HS256.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn secret(kid: Option<String>, secret: &[u8]) -> Result<Key, KeyError> {
        if secret.len() < SECRET_BYTES_LEAST {
            return Err(KeyError::ShortSecret);
        }
        // Somebody has mistaken a key that is public for a secret.
        if secret.windows(pem::BEGIN.len()).any(|part| part == pem::BEGIN.as_bytes()) {
            return Err(KeyError::PemAsSecret);
        }
        Ok(Key { kid, algorithm: Algorithm::Hs256, decoding: DecodingKey::from_secret(secret) })
    }

    /// The text of a file: a secret, or a public key in PEM.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn of_file(kid: Option<String>, algorithm: Algorithm, text: &str) -> Result<Key, KeyError> {
        let of_label = |label| match label {
            Label::Private => Err(KeyError::Private),
            Label::Certificate => Err(KeyError::Certificate),
            Label::Public | Label::RsaPublic => Ok(()),
        };
        match algorithm {
            Algorithm::Hs256 => Key::secret(kid, text.trim().as_bytes()),
            Algorithm::Rs256 => {
                let (label, bytes) = pem::read(text).ok_or(KeyError::NoPem)?;
                of_label(label)?;
                let is_bare = label == Label::RsaPublic;
                let (modulus, exponent) = der::rsa_key(&bytes, is_bare).ok_or(KeyError::NotRsa)?;
                Key::rsa(kid, modulus, exponent)
            }
            Algorithm::EdDsa => {
                let (label, bytes) = pem::read(text).ok_or(KeyError::NoPem)?;
                of_label(label)?;
                Key::ed25519(kid, der::ed25519_key(&bytes).ok_or(KeyError::NotEd25519)?)
            }
        }
    }

    /// A public key of RSA, by its numbers, big-endian.
    ///
    /// # Errors
    /// [`KeyError::RsaSize`] and [`KeyError::NotRsa`].
    pub fn rsa(kid: Option<String>, modulus: &[u8], exponent: &[u8]) -> Result<Key, KeyError> {
        let (modulus, exponent) = (without_zeros(modulus), without_zeros(exponent));
        if !RSA_BYTES.contains(&modulus.len()) {
            return Err(KeyError::RsaSize);
        }
        if exponent.is_empty() {
            return Err(KeyError::NotRsa);
        }
        let decoding = DecodingKey::from_rsa_raw_components(modulus, exponent);
        Ok(Key { kid, algorithm: Algorithm::Rs256, decoding })
    }

    /// A public key of Ed25519.
    ///
    /// # Errors
    /// [`KeyError::NotEd25519`].
    pub fn ed25519(kid: Option<String>, key: &[u8]) -> Result<Key, KeyError> {
        if key.len() != ED25519_BYTES {
            return Err(KeyError::NotEd25519);
        }
        Ok(Key { kid, algorithm: Algorithm::EdDsa, decoding: DecodingKey::from_ed_der(key) })
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether a token that names a key may mean this one. A key without a name and a token without one fit each other and all others.
    pub(super) fn is_named(&self, kid: Option<&str>) -> bool {
        match (&self.kid, kid) {
            (Some(own), Some(kid)) => own == kid,
            (None, _) | (_, None) => true,
        }
    }

    /// The payload of a token, if this key has signed it.
    pub(super) fn verify(&self, token: &str) -> Option<Value> {
        let mut signature_only = Validation::new(self.algorithm.of_library());
        // The library reads the clock of the system for the times, and is lax where an issuer or an audience is missing. All of that is in `statement.rs`.
        signature_only.validate_exp = false;
        signature_only.validate_nbf = false;
        signature_only.validate_aud = false;
        signature_only.required_spec_claims.clear();
        jsonwebtoken::decode(token, &self.decoding, &signature_only).ok().map(|token| token.claims)
    }
}

impl Algorithm {
    /// The algorithm of this name, as headers and settings have it.
    pub fn named(name: &str) -> Option<Algorithm> {
        match name {
            "HS256" => Some(Algorithm::Hs256),
            "RS256" => Some(Algorithm::Rs256),
            "EdDSA" => Some(Algorithm::EdDsa),
            _ => None,
        }
    }

    pub(super) fn of_library(self) -> jsonwebtoken::Algorithm {
        match self {
            Algorithm::Hs256 => jsonwebtoken::Algorithm::HS256,
            Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

/// For lists of inputs and outputs. How long it takes is no secret: nobody's token is compared.
impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        use DecodingKeyKind::{RsaModulusExponent, SecretOrDer};
        let is_same = match (self.decoding.kind(), other.decoding.kind()) {
            (SecretOrDer(own), SecretOrDer(other)) => own == other,
            (RsaModulusExponent { n, e }, RsaModulusExponent { n: other, e: and }) => (n, e) == (other, and),
            (SecretOrDer(_), RsaModulusExponent { .. }) | (RsaModulusExponent { .. }, SecretOrDer(_)) => false,
        };
        is_same && (&self.kid, self.algorithm) == (&other.kid, other.algorithm)
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("kid", &self.kid).field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
