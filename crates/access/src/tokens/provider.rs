//! The provider by which `jsonwebtoken` verifies: ring. It signs nothing.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::signature::{ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use ring::{hmac, signature};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Gives the library its provider. A program around Iolite may have given it another one before, and then that one stays.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let fits = match algorithm {
        Algorithm::HS256 => key.family() == AlgorithmFamily::Hmac,
        Algorithm::RS256 => key.family() == AlgorithmFamily::Rsa,
        Algorithm::EdDSA => key.family() == AlgorithmFamily::Ed,
        // The library's enum may get more.
        _ => false,
    };
    if !fits {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(ByRing { algorithm: *algorithm, key: key.clone() }))
}

struct ByRing {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match (self.key.family(), self.key.kind()) {
            (AlgorithmFamily::Hmac, DecodingKeyKind::SecretOrDer(secret)) => {
                hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), message, signature)
            }
            (AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (AlgorithmFamily::Ed, DecodingKeyKind::SecretOrDer(key)) => {
                let algorithm: &dyn signature::VerificationAlgorithm = &ED25519;
                UnparsedPublicKey::new(algorithm, key).verify(message, signature)
            }
            (AlgorithmFamily::Hmac | AlgorithmFamily::Ed, DecodingKeyKind::RsaModulusExponent { .. })
            | (AlgorithmFamily::Rsa, DecodingKeyKind::SecretOrDer(_))
            | (AlgorithmFamily::Ec, DecodingKeyKind::SecretOrDer(_) | DecodingKeyKind::RsaModulusExponent { .. }) => {
                Err(ring::error::Unspecified)
            }
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
