//! Who a session speaks for: it shows a token at its hello, and what it may write and read follows from that.
//!
//! Source: Iolite's own; the papers leave authentication out. Access lists per table and row rules join here.

mod blob_bytes;
mod claim;
mod development;
mod devices;
mod error;
mod identity;
mod rows;
mod tokens;

use iolite_machine::WallTime;

/// The type that settings give a claim.
pub use iolite_rights::ClaimType;

pub use blob_bytes::{blob_bytes_interest, blob_bytes_of, more_blob_bytes};
pub use development::{DEVELOPMENT_ISSUER, DevelopmentToken};
pub use devices::{Admitted, DEVICE_AWAY_DAYS, DEVICES_MAX, UserDevice};
pub use error::AccessError;
pub use identity::{Identity, Subject, User};
pub use rows::{ACCESS_TABLE, AccessRows};
pub use tokens::{
    ANONYMOUS_ISSUER, Algorithm, AnonymousKey, KEY_SET_BYTES_MAX, Key, KeyError, KeySetError, LEEWAY, LIFE,
    RENEWED_WITHIN, SettingsError, TokenSettings, Tokens, read_key_set,
};

/// Bytes of a token.
pub const TOKEN_BYTES_MAX: usize = 8192;

/// How tokens are judged.
#[derive(Clone, Debug)]
pub enum Access {
    /// One shared token, made when the data directory was made, and printed at start. It may speak for any user.
    Development(DevelopmentToken),
    /// JSON web tokens, signed by who signs users in.
    Tokens(Tokens),
}

impl Access {
    /// The claims that rules may look at. None: a developer may say any claim, of any type.
    pub fn claims(&self) -> Option<std::collections::BTreeMap<String, ClaimType>> {
        match self {
            Access::Development(_) => None,
            Access::Tokens(tokens) => Some(tokens.claims()),
        }
    }

    /// # Errors
    /// [`AccessError`], whose message says what to do and nothing about the right token.
    pub fn check(&self, token: &str, now: WallTime) -> Result<Identity, AccessError> {
        if token.is_empty() {
            return Err(AccessError::Missing);
        }
        match self {
            Access::Development(own) => own.check(token),
            Access::Tokens(tokens) => tokens.check(token, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_rights::{Claim, Claims};

    use super::*;

    const NOW: WallTime = WallTime::from_micros(1_700_000_000_000_000);

    fn access() -> Access {
        Access::Development(DevelopmentToken::new("6f2a"))
    }

    #[test]
    fn the_right_token_lets_in() {
        assert_eq!(access().check("6f2a", NOW), Ok(Identity::Developer));
    }

    #[test]
    fn every_other_token_is_refused_with_what_to_do() {
        assert_eq!(access().check("", NOW), Err(AccessError::Missing));
        for wrong in ["6f2", "6f2a ", "6f2b", "6F2A", "\u{0}", "6f2 as {\"sub\":\"ann\"}", " as {}"] {
            assert_eq!(access().check(wrong, NOW), Err(AccessError::Wrong), "{wrong:?}");
        }
        assert!(AccessError::Wrong.to_string().contains("the server printed"));
    }

    #[test]
    fn the_development_token_speaks_for_a_user() {
        let text =
            r#"6f2a as {"sub":"ann","roles":["teller","editor","teller"],"level":3,"staff":true,"team":"as one"}"#;
        let identity = access().check(text, NOW).expect("as documented");
        let user = identity.user().expect("a user");
        assert_eq!(user.subject, Subject { issuer: "iolite dev".into(), name: "ann".into() });
        assert_eq!((user.issued, user.ends), (None, None));
        let roles = ["editor", "teller"].map(String::from).into();
        let claims = [
            ("level", Claim::Number(3)),
            ("roles", Claim::Texts(roles)),
            ("staff", Claim::Flag(true)),
            ("team", Claim::Text("as one".into())),
        ];
        assert_eq!(user.claims, Claims::new("ann", claims.map(|(name, claim)| (name.to_owned(), claim))));
    }

    #[test]
    fn a_bad_object_after_the_development_token_has_its_own_error() {
        let long = format!(r#"{{"sub":"{}"}}"#, "a".repeat(257));
        for bad in [
            "",
            "ann",
            "{}",
            r#"{"sub":""}"#,
            r#"{"sub":7}"#,
            &long,
            r#"{"sub":"ann"} "#.repeat(2).as_str(),
            r#"{"sub":"ann","level":1.5}"#,
            r#"{"sub":"ann","team":null}"#,
            r#"{"sub":"ann","team":{}}"#,
            r#"{"sub":"ann","roles":["a",1]}"#,
            r#"["sub","ann"]"#,
        ] {
            assert_eq!(access().check(&format!("6f2a as {bad}"), NOW), Err(AccessError::BadAs), "{bad}");
        }
        let most = format!(r#"{{"sub":"{}"}}"#, "a".repeat(256));
        assert!(access().check(&format!("6f2a as {most}"), NOW).is_ok());
        let too_long = format!(r#"6f2a as {{"sub":"ann","team":"{}"}}"#, "a".repeat(TOKEN_BYTES_MAX));
        assert_eq!(access().check(&too_long, NOW), Err(AccessError::TooLong));
    }

    #[test]
    fn the_page_on_limits_has_these() {
        let page = include_str!("../../../docs/limits.md");
        for row in [
            format!("| `access::TOKEN_BYTES_MAX` | {TOKEN_BYTES_MAX} |"),
            format!("| `access::DEVICES_MAX` | {DEVICES_MAX} |"),
            format!("| `access::DEVICE_AWAY_DAYS` | {DEVICE_AWAY_DAYS} |"),
            format!("| `access::SUBJECT_BYTES_MAX` | {} |", identity::SUBJECT_BYTES_MAX),
            format!("| `access::KEY_SET_BYTES_MAX` | {} |", KEY_SET_BYTES_MAX),
            format!("| `access::KEY_SET_KEYS_MAX` | {} |", tokens::KEY_SET_KEYS_MAX),
            format!("| `access::LIFE` | {}h |", LIFE.as_secs() / 3600),
            format!("| `access::LEEWAY` | {}s |", LEEWAY.as_secs()),
        ] {
            assert!(page.contains(&row), "the page lacks {row}");
        }
    }
}
