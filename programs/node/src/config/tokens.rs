//! The tokens by which a gateway lets users in, as its file describes them.
//!
//! Invariant: no secret stands in the file, but the name of a file that its owner alone can read.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_access::{Algorithm, ClaimType, Key, KeyError, LIFE, SettingsError, TokenSettings, Tokens};
use serde::{Deserialize, Serialize};

use super::error::{ConfigError, ConfigProblem, read};
use super::key_address::KeyAddress;

/// The tokens of users, and what signs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensConfig {
    pub settings: TokenSettings,
    pub keys: Vec<KeyConfig>,
    /// Where the issuer publishes its keys.
    pub key_address: Option<KeyAddress>,
    /// Whether users are let in only when the store has rights. Else they may do everything while it has none.
    pub rights_required: bool,
}

/// A key, and the file that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyConfig {
    pub kid: Option<String>,
    pub algorithm: Algorithm,
    pub file: PathBuf,
}

/// [`TokensConfig`], as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokensTable {
    pub issuer: String,
    pub audience: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<RightsWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life_max: Option<String>,
    #[serde(default)]
    pub anonymous: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyTable>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, ClaimWord>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    pub algorithm: AlgorithmWord,
    pub file: PathBuf,
}

/// The rights of users while the store has none. Rights of the store are in effect in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RightsWord {
    /// Every user reads and writes every row.
    Open,
}

/// [`Algorithm`], as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AlgorithmWord {
    #[serde(rename = "HS256")]
    Hs256,
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// [`ClaimType`], as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimWord {
    Text,
    Texts,
    Number,
    Flag,
}

/// A mistake in such a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensProblem {
    #[error(
        "the tokens have neither `keys` nor `jwks`: name the keys that sign them, or where their issuer publishes those"
    )]
    NoKeys,
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("`life_max` is {0:?}; it is to be a time, as in \"24h\" or \"30m\"")]
    Life(String),
    #[error(
        "`jwks` is {0:?}; it is to be an address that begins with https://, or with http:// on this machine, so that nobody on the way gives you a key"
    )]
    KeyAddress(String),
    #[error(
        "it has `anonymous` and [centre]: each data centre has a key of anonymous users of its own, so the others would not let them in. Leave one of the two out"
    )]
    AnonymousInCentre,
    #[error(
        "it has [gateway.tokens] and `tells_token`: the token is the operator's then, and pages must not learn it. Remove `tells_token`"
    )]
    ToldToken,
}

/// Why a key of such a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the key {} cannot be read: {source}. Correct `file`, or make it readable for this user", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the secret {} can be read by others on this machine: take that right away (chmod 600 {})", file.display(), file.display())]
    Exposed { file: PathBuf },
    #[cfg(not(feature = "jwks"))]
    #[error("the keys of tokens are at an address, and this program was built without the feature `jwks`")]
    WithoutAddress,
    #[error("the key {}: {source}", file.display())]
    Wrong { file: PathBuf, source: KeyError },
}

impl TokensConfig {
    /// Reads a file that has nothing but such a table. Paths are relative to it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(file: &Path) -> Result<TokensConfig, ConfigError> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let config = TokensConfig::of(read(file)?, folder);
        config.map_err(|problem| ConfigProblem::from(problem).of(file))
    }

    pub(crate) fn of(table: TokensTable, folder: &Path) -> Result<TokensConfig, TokensProblem> {
        let TokensTable { issuer, audience, rights, jwks, life_max, anonymous, keys, claims } = table;
        let rights_required = match rights {
            Some(RightsWord::Open) => false,
            None => true,
        };
        if keys.is_empty() && jwks.is_none() && !anonymous {
            return Err(TokensProblem::NoKeys);
        }
        let life_max = life_max.map_or(Ok(LIFE), |text| life(&text).ok_or(TokensProblem::Life(text)))?;
        let address = |text: String| KeyAddress::parse(&text).ok_or(TokensProblem::KeyAddress(text));
        let key_address = jwks.map(address).transpose()?;
        let claims = claims.into_iter().map(|(name, word)| (name, word.into())).collect();
        let settings = TokenSettings { issuer, audience, claims, life_max, anonymous };
        settings.check()?;
        let key =
            |KeyTable { kid, algorithm, file }| KeyConfig { kid, algorithm: algorithm.into(), file: folder.join(file) };
        Ok(TokensConfig { settings, keys: keys.into_iter().map(key).collect(), key_address, rights_required })
    }

    /// The files of secrets, which no page may have.
    pub(super) fn secrets(&self) -> impl Iterator<Item = PathBuf> {
        self.keys.iter().filter(|key| key.algorithm == Algorithm::Hs256).map(|key| key.file.clone())
    }

    /// Reads the keys.
    ///
    /// # Errors
    /// [`KeyFileError`].
    pub fn open(&self) -> Result<Tokens, KeyFileError> {
        #[cfg(not(feature = "jwks"))]
        if self.key_address.is_some() {
            return Err(KeyFileError::WithoutAddress);
        }
        let keys = self.keys.iter().map(KeyConfig::open).collect::<Result<Vec<Key>, _>>()?;
        let tokens = Tokens::new(self.settings.clone(), keys).expect("the settings were checked when they were read");
        Ok(if self.key_address.is_some() { tokens.with_address() } else { tokens })
    }
}

impl KeyConfig {
    fn open(&self) -> Result<Key, KeyFileError> {
        let unreadable = |source| KeyFileError::Unreadable { file: self.file.clone(), source };
        #[cfg(unix)]
        if self.algorithm == Algorithm::Hs256 {
            let metadata = std::fs::metadata(&self.file).map_err(unreadable)?;
            if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0 {
                return Err(KeyFileError::Exposed { file: self.file.clone() });
            }
        }
        let text = std::fs::read_to_string(&self.file).map_err(unreadable)?;
        let wrong = |source| KeyFileError::Wrong { file: self.file.clone(), source };
        Key::of_file(self.kid.clone(), self.algorithm, &text).map_err(wrong)
    }
}

fn life(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}

impl From<AlgorithmWord> for Algorithm {
    fn from(word: AlgorithmWord) -> Algorithm {
        match word {
            AlgorithmWord::Hs256 => Algorithm::Hs256,
            AlgorithmWord::Rs256 => Algorithm::Rs256,
            AlgorithmWord::EdDsa => Algorithm::EdDsa,
        }
    }
}

impl From<ClaimWord> for ClaimType {
    fn from(word: ClaimWord) -> ClaimType {
        match word {
            ClaimWord::Text => ClaimType::Text,
            ClaimWord::Texts => ClaimType::Texts,
            ClaimWord::Number => ClaimType::Number,
            ClaimWord::Flag => ClaimType::Flag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "issuer = \"https://sign-in.example\"\naudience = \"rooms\"\n";
    const KEYS: &str = "keys = [{ kid = \"a\", algorithm = \"HS256\", file = \"secret\" }]\n";
    const OPEN: &str = "rights = \"open\"\n";

    fn config(text: &str) -> Result<TokensConfig, String> {
        let table: TokensTable = toml::from_str(text).map_err(|error| error.to_string())?;
        TokensConfig::of(table, Path::new("/etc/iolite")).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_table_of_tokens_has_files_beside_its_own_and_a_day_of_life() {
        let config = config(&format!("{HEAD}{KEYS}{OPEN}")).expect("as documented");
        let TokensConfig { settings, keys, key_address, rights_required } = config;
        assert_eq!((settings.issuer.as_str(), settings.audience.as_str()), ("https://sign-in.example", "rooms"));
        assert_eq!((settings.life_max, settings.anonymous, key_address), (LIFE, false, None));
        assert!(!rights_required, "`open` lets users in without rights of the store");
        let file = "/etc/iolite/secret".into();
        assert_eq!(keys, [KeyConfig { kid: Some("a".into()), algorithm: Algorithm::Hs256, file }]);
    }

    #[test]
    fn a_table_of_tokens_may_say_much_more() {
        let more = "jwks = \"https://sign-in.example/keys\"\nlife_max = \"2h 30m\"\nanonymous = true\n\
            claims = { org = \"text\", roles = \"texts\", level = \"number\", staff = \"flag\" }\n";
        let config = config(&format!("{HEAD}{more}")).expect("as documented");
        assert!(config.rights_required, "nothing else is said");
        assert_eq!(config.settings.life_max, Duration::from_secs(9000));
        assert!(config.settings.anonymous && config.keys.is_empty() && config.key_address.is_some());
        let claims: Vec<ClaimType> = config.settings.claims.into_values().collect();
        assert_eq!(claims, [ClaimType::Number, ClaimType::Text, ClaimType::Texts, ClaimType::Flag]);
    }

    #[test]
    fn what_is_wrong_with_tokens_is_said() {
        for (text, told) in [
            (format!("{HEAD}{KEYS}rights = \"rows\""), "unknown variant `rows`"),
            (format!("{HEAD}{OPEN}"), "neither `keys` nor `jwks`"),
            (format!("{HEAD}{KEYS}{OPEN}secret = \"abc\""), "unknown field `secret`"),
            (format!("{HEAD}{KEYS}{OPEN}life_max = \"long\""), "as in \"24h\""),
            (format!("{HEAD}{KEYS}{OPEN}life_max = \"0s\""), "`life_max` is zero"),
            (format!("{HEAD}{KEYS}{OPEN}claims = {{ org = \"string\" }}"), "unknown variant `string`"),
            (format!("{HEAD}{OPEN}jwks = \"http://sign-in.example/keys\""), "begins with https://"),
            (format!("{HEAD}{OPEN}jwks = \"keys.json\""), "begins with https://"),
            (format!("{HEAD}{OPEN}{}", KEYS.replace("HS256", "ES256")), "unknown variant `ES256`"),
            (format!("issuer = \"\"\naudience = \"rooms\"\n{KEYS}{OPEN}"), "`issuer` is empty"),
            (format!("issuer = \"iolite dev\"\naudience = \"rooms\"\n{KEYS}{OPEN}"), "Iolite's own"),
        ] {
            let error = config(&text).map(drop).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_that_others_can_read_is_refused_and_no_message_quotes_it() {
        use std::os::unix::fs::PermissionsExt;
        let file = std::env::temp_dir().join(format!("iolite-key-{:032x}", iolite_host::random_id()));
        let key = KeyConfig { kid: None, algorithm: Algorithm::Hs256, file: file.clone() };
        assert!(matches!(key.open(), Err(KeyFileError::Unreadable { .. })));
        let secret = "0123456789abcdef0123456789abcdef\n";
        for (mode, text, told) in [(0o640, secret, "chmod 600"), (0o600, "0123", "fewer than 32 bytes")] {
            std::fs::write(&file, text).expect("a temporary file");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("its own file");
            let error = key.open().expect_err(told).to_string();
            assert!(error.contains(told) && !error.contains("0123"), "{error}");
        }
        std::fs::write(&file, secret).expect("a temporary file");
        assert!(key.open().is_ok());
        std::fs::remove_file(file).expect("it is there");
    }
}
