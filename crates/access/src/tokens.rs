//! JSON web tokens: the checks by which they are let in, and the users that they name.
//!
//! Invariant: a token is let in only if a key that this deployment has signed it, by the key's own algorithm. The header's algorithm is compared with
//! the key's and decides nothing. Keys that the header carries or points at (`jwk`, `jku`, `x5u`) are never looked at.
//! Invariant: a user belongs to the issuer of the key that signed. So a key of anonymous users names nobody else, and no other key names them.

mod anonymous;
mod der;
mod header;
mod key;
mod key_set;
mod pem;
mod provider;
mod statement;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::WallTime;
use iolite_rights::{ClaimType, Claims};

pub use anonymous::{ANONYMOUS_ISSUER, AnonymousKey, RENEWED_WITHIN};
pub use key::{Algorithm, Key, KeyError};
#[cfg(test)]
pub(crate) use key_set::KEY_SET_KEYS_MAX;
pub use key_set::{KEY_SET_BYTES_MAX, KeySetError, read_key_set};
pub use statement::LEEWAY;

use crate::{AccessError, Identity, TOKEN_BYTES_MAX, User};
use header::Header;
use statement::Statement;

/// The longest life of a token, if the operator names none.
pub const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The beginning of the names of issuers within Iolite.
const OWN_ISSUERS: &str = "iolite ";

/// The rules by which tokens of a deployment are let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// The `iss` of all tokens, those of anonymous users apart.
    pub issuer: String,
    /// One of the `aud` of all tokens.
    pub audience: String,
    /// The claims that rules see. A token may lack some of them.
    pub claims: BTreeMap<String, ClaimType>,
    /// The longest life of a token.
    pub life_max: Duration,
    /// Whether users without a name are let in.
    pub anonymous: bool,
}

impl TokenSettings {
    /// # Errors
    /// [`SettingsError`], of the first thing that is wrong.
    pub fn check(&self) -> Result<(), SettingsError> {
        let TokenSettings { issuer, audience, claims: _, life_max, anonymous: _ } = self;
        if issuer.is_empty() {
            return Err(SettingsError::NoIssuer);
        }
        // They would name the users of the development token, or anonymous ones.
        if issuer.starts_with(OWN_ISSUERS) {
            return Err(SettingsError::OwnIssuer);
        }
        if audience.is_empty() {
            return Err(SettingsError::NoAudience);
        }
        if life_max.is_zero() {
            return Err(SettingsError::NoLife);
        }
        Ok(())
    }
}

/// Why such settings cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("`issuer` is empty: name the `iss` of your tokens")]
    NoIssuer,
    #[error("`issuer` is a name of Iolite's own, which begins with \"iolite \": name the `iss` of your tokens")]
    OwnIssuer,
    #[error("`audience` is empty: name the `aud` of your tokens")]
    NoAudience,
    #[error("`life_max` is zero: name the longest life of your tokens, or leave it out for 24 hours")]
    NoLife,
}

/// The keys, issuer and audience of the tokens of a deployment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tokens {
    settings: Arc<TokenSettings>,
    /// Keys of the settings, which stay.
    own: Arc<[Key]>,
    /// Keys that come from an address.
    fetched: Arc<[Key]>,
    has_address: bool,
    /// The newest first.
    anonymous: Arc<[AnonymousKey]>,
}

impl Tokens {
    /// Tokens that these keys have signed are let in.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn new(settings: TokenSettings, keys: Vec<Key>) -> Result<Tokens, SettingsError> {
        settings.check()?;
        provider::install();
        let (own, none, nobody) = (keys.into(), Vec::new().into(), Vec::new().into());
        Ok(Tokens { settings: Arc::new(settings), own, fetched: none, has_address: false, anonymous: nobody })
    }

    /// The same of an issuer that publishes keys at an address.
    #[must_use]
    pub fn with_address(self) -> Tokens {
        Tokens { has_address: true, ..self }
    }

    /// Whether its issuer publishes keys at an address.
    pub fn has_address(&self) -> bool {
        self.has_address
    }

    pub fn settings(&self) -> &TokenSettings {
        &self.settings
    }

    /// The claims that rules may look at: those of the settings, and the flag of anonymous users.
    pub fn claims(&self) -> BTreeMap<String, ClaimType> {
        let mut claims = self.settings.claims.clone();
        claims.entry(anonymous::ANONYMOUS.to_owned()).or_insert(ClaimType::Flag);
        claims
    }

    /// Exchanges the keys that were set before. The keys that it was made with stay.
    pub fn set_keys(&mut self, keys: Vec<Key>) {
        self.fetched = keys.into();
    }

    /// Exchanges the keys of anonymous users. The settings may let none of them in.
    pub fn set_anonymous_keys(&mut self, keys: Vec<AnonymousKey>) {
        self.anonymous = keys.into();
    }

    /// The user whom a token names.
    ///
    /// # Errors
    /// [`AccessError`], one variant a reason.
    pub fn check(&self, token: &str, now: WallTime) -> Result<Identity, AccessError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(AccessError::TooLong);
        }
        let header = Header::read(token)?;
        let (issuer, payload) = self.verified(token, &header)?;
        let statement = Statement::read(&payload)?;
        statement.check_from_to(issuer, &self.settings.audience)?;
        let subject = statement.subject(issuer)?;
        let (issued, ends) = statement.times(now, self.settings.life_max)?;
        let is_anonymous = issuer == ANONYMOUS_ISSUER;
        let claims = if is_anonymous { anonymous::claims() } else { statement.claims(&self.settings.claims)? };
        let claims = Claims::new(&subject.name, claims);
        Ok(Identity::User(Arc::new(User { subject, claims, issued, ends: Some(ends) })))
    }

    /// The issuer of the key that signed a token, and what was signed.
    fn verified(&self, token: &str, header: &Header) -> Result<(&str, serde_json::Value), AccessError> {
        let own = self.own.iter().chain(&*self.fetched).map(|key| (self.settings.issuer.as_str(), key));
        let allowed = self.anonymous.iter().filter(|_| self.settings.anonymous);
        let anonymous = allowed.map(|key| (ANONYMOUS_ISSUER, key.key()));
        let algorithm = Algorithm::named(&header.algorithm);
        let (mut has_algorithm, mut has_key) = (false, false);
        for (issuer, key) in own.chain(anonymous) {
            if Some(key.algorithm()) != algorithm {
                continue;
            }
            has_algorithm = true;
            if !key.is_named(header.kid.as_deref()) {
                continue;
            }
            has_key = true;
            if let Some(payload) = key.verify(token) {
                return Ok((issuer, payload));
            }
        }
        Err(match (has_algorithm, has_key) {
            (_, true) => AccessError::Signature,
            (true, false) => AccessError::UnknownKey,
            (false, _) if algorithm.is_some() && header.kid.is_some() => AccessError::UnknownKey,
            (false, _) => AccessError::Algorithm,
        })
    }
}
