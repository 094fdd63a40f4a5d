//! Keys that a gateway does not have yet: those of anonymous users before `_access` is read, and those of the issuer's address.
//!
//! Invariant: a token of a key that may still come is not refused: its client comes back in a moment. One of a key that nobody knows is refused, once
//! the keys were fetched for it or could not be.

use std::time::Duration;

use iolite_access::{Access, AccessError, Identity, Key};
use iolite_machine::{Instant, Now};

use crate::Gateway;
use crate::interface::{AccessNews, Output};
use crate::limits;
use crate::sessions::farewell::Farewell;

/// The host fetches keys once a minute at most, and a fetch takes some seconds.
const FETCHED_WITHIN: Duration = Duration::from_secs(70);

/// How far the keys of the issuer's address are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeysKnown {
    /// No keys have come yet.
    #[default]
    Never,
    /// All that is known now was looked at.
    Fetched,
    /// A token names another one, and they are wished for since then.
    Wished(Instant),
    /// Keys have come since that wish, without that one.
    Answered(Instant),
}

impl Gateway {
    /// The identity that a token speaks for.
    pub(crate) fn check_token(&mut self, now: Now, token: &str) -> Result<Identity, Farewell> {
        if token.len() > limits::TOKEN_BYTES_MAX {
            return Err(Farewell::Limit(format!("a token has at most {} bytes", limits::TOKEN_BYTES_MAX)));
        }
        match self.settings.access.check(token, now.wall) {
            Ok(identity) => Ok(identity),
            Err(AccessError::UnknownKey) => {
                self.output(Output::Access(AccessNews::UnknownKey));
                let problem = "this server does not have the key of the token yet: come back in a moment";
                match self.may_come(now.instant) {
                    true => Err(Farewell::Unavailable(problem.into())),
                    false => Err(Farewell::Unauthorized(AccessError::UnknownKey)),
                }
            }
            Err(error) => Err(Farewell::Unauthorized(error)),
        }
    }

    /// Whether a key that is not here may come soon.
    fn may_come(&mut self, now: Instant) -> bool {
        let Access::Tokens(tokens) = &self.settings.access else { return false };
        if tokens.settings().anonymous && !self.revoked.is_known() {
            return true;
        }
        if !tokens.has_address() {
            return false;
        }
        match self.keys {
            KeysKnown::Never => true,
            KeysKnown::Wished(since) if now < since + FETCHED_WITHIN => true,
            KeysKnown::Answered(since) | KeysKnown::Wished(since) if now < since + 2 * FETCHED_WITHIN => false,
            KeysKnown::Fetched | KeysKnown::Answered(_) | KeysKnown::Wished(_) => {
                self.keys = KeysKnown::Wished(now);
                true
            }
        }
    }

    /// Tokens are verified by these keys from now on, beside those of the settings.
    pub(crate) fn set_keys(&mut self, keys: Vec<Key>) {
        match &mut self.settings.access {
            Access::Tokens(tokens) => tokens.set_keys(keys.clone()),
            Access::Development(_) => {}
        }
        self.keys = match self.keys {
            KeysKnown::Never | KeysKnown::Fetched => KeysKnown::Fetched,
            KeysKnown::Wished(since) | KeysKnown::Answered(since) => KeysKnown::Answered(since),
        };
        self.output(Output::Access(AccessNews::Keys(keys)));
    }
}
