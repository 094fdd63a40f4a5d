//! The file of a gateway in front of PostgreSQL, which has no cluster.
//!
//! Invariant: no password stands in the file.

use std::path::{Path, PathBuf};

use iolite_postgres::{Address, AddressError, SchemaName, SchemaNameError};
use serde::{Deserialize, Serialize};

use super::blobs::BlobsTable;
use super::error::{ConfigError, ConfigProblem, read};
use super::node::{GatewayConfig, GatewayTable, NodeConfig};
use crate::names::NodeRole;

/// What `iolite serve` is to be.
#[derive(Clone, Debug)]
pub enum Served {
    /// A node of a cluster.
    Node(Box<NodeConfig>),
    /// A gateway whose store is a database.
    PostgresGateway(Box<PostgresGatewayConfig>),
}

/// A gateway, and the database that is its store. Paths are relative to the file.
#[derive(Clone, Debug)]
pub struct PostgresGatewayConfig {
    /// Where its process writes its number, and holds a lock.
    pub pid_file: Option<PathBuf>,
    pub gateway: GatewayConfig,
    pub postgres: PostgresConfig,
}

#[derive(Clone, Debug)]
pub struct PostgresConfig {
    pub address: Address,
    pub password: PasswordPlace,
    pub protection: Protection,
    pub schema: SchemaName,
}

/// Where the password is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordPlace {
    /// The database asks for none.
    None,
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

/// How connections to the database are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// By TLS, with servers for whose names these certificates vouch.
    Tls { authority: PathBuf },
    /// Not at all: they stay on this machine, or somebody has said that the network is trusted.
    Plain,
}

/// What is wrong in such a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostgresProblem {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("`schema`: {0}")]
    Schema(#[from] SchemaNameError),
    #[error("it has both `password_file` and `password_variable`: choose one")]
    TwoPasswords,
    #[error(
        "[postgres] has neither `authority = FILE` nor `plain = true`: the connection is protected, unless it is a Unix socket or you trust the network"
    )]
    NoProtection,
    #[error("[postgres] has both `authority` and `plain = true`: choose one")]
    TwoProtections,
}

/// The file, as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresGatewayFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<PathBuf>,
    pub gateway: GatewayTable,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blobs: Option<BlobsTable>,
    pub postgres: PostgresTable,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresTable {
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_variable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<PathBuf>,
    #[serde(default)]
    pub plain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

impl Served {
    /// # Errors
    /// [`ConfigError`], of this file or of the cluster's that it names.
    pub fn read(file: &Path) -> Result<Served, ConfigError> {
        let table: toml::Table = read(file)?;
        if !table.contains_key("postgres") {
            return NodeConfig::read(file).map(|config| Served::Node(Box::new(config)));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut config = PostgresGatewayConfig::of(read(file)?, folder).map_err(|problem| problem.of(file))?;
        let password = match &config.postgres.password {
            PasswordPlace::File(file) => Some(file.clone()),
            PasswordPlace::None | PasswordPlace::Variable(_) => None,
        };
        let own = config.pid_file.clone().into_iter().chain(password);
        config.gateway.keep_secret(file, own);
        Ok(Served::PostgresGateway(Box::new(config)))
    }

    pub fn node(&self) -> NodeRole {
        match self {
            Served::Node(config) => config.node(),
            Served::PostgresGateway(config) => NodeRole::Gateway(config.gateway.id),
        }
    }

    pub fn pid_file(&self) -> Option<&Path> {
        match self {
            Served::Node(config) => config.pid_file.as_deref(),
            Served::PostgresGateway(config) => config.pid_file.as_deref(),
        }
    }
}

impl PostgresGatewayConfig {
    fn of(file: PostgresGatewayFile, folder: &Path) -> Result<PostgresGatewayConfig, ConfigProblem> {
        let PostgresGatewayFile { pid_file, gateway, blobs, postgres } = file;
        Ok(PostgresGatewayConfig {
            pid_file: pid_file.map(|file| folder.join(file)),
            gateway: GatewayConfig::of(gateway, blobs, folder)?,
            postgres: PostgresConfig::of(postgres, folder)?,
        })
    }
}

impl PostgresConfig {
    fn of(table: PostgresTable, folder: &Path) -> Result<PostgresConfig, PostgresProblem> {
        let address = Address::parse(&table.address)?;
        let password = match (table.password_file, table.password_variable) {
            (None, None) => PasswordPlace::None,
            (Some(file), None) => PasswordPlace::File(folder.join(file)),
            (None, Some(variable)) => PasswordPlace::Variable(variable),
            (Some(_), Some(_)) => return Err(PostgresProblem::TwoPasswords),
        };
        let protection = match (table.authority, table.plain) {
            (Some(authority), false) => Protection::Tls { authority: folder.join(authority) },
            (None, true) => Protection::Plain,
            (None, false) if address.is_on_this_machine() => Protection::Plain,
            (None, false) => return Err(PostgresProblem::NoProtection),
            (Some(_), true) => return Err(PostgresProblem::TwoProtections),
        };
        let schema = table.schema.as_deref().map(SchemaName::new).transpose()?.unwrap_or_default();
        Ok(PostgresConfig { address, password, protection, schema })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATEWAY: &str =
        "[gateway]\nnumber = 3\nlisten = \"127.0.0.1:7777\"\ntoken = \"token\"\nschemas = \"grow\"\n[postgres]\n";

    fn config(text: &str) -> Result<PostgresGatewayConfig, String> {
        let file: PostgresGatewayFile =
            toml::from_str(&format!("{GATEWAY}{text}")).map_err(|error| error.to_string())?;
        PostgresGatewayConfig::of(file, Path::new("/etc/iolite")).map_err(|problem| problem.to_string())
    }

    #[test]
    fn paths_are_beside_the_file_and_a_unix_socket_needs_no_protection() {
        let far = "address = \"host=db user=iolite dbname=app\"\nauthority = \"ca.crt\"\npassword_file = \"password\"";
        let PostgresGatewayConfig { pid_file, gateway, postgres } = config(far).expect("as documented");
        assert_eq!((pid_file, gateway.id.number()), (None, 3));
        assert_eq!(postgres.protection, Protection::Tls { authority: "/etc/iolite/ca.crt".into() });
        assert_eq!(postgres.password, PasswordPlace::File("/etc/iolite/password".into()));
        assert_eq!(postgres.schema.as_str(), "iolite");
        let near = config("address = \"host=/run/postgresql user=iolite\"").expect("nobody listens there");
        assert_eq!((near.postgres.protection, near.postgres.password), (Protection::Plain, PasswordPlace::None));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let address = "address = \"host=db user=iolite\"\n";
        for (text, told) in [
            (address.to_owned(), "neither `authority = FILE`"),
            (format!("{address}plain = true\nauthority = \"a\""), "choose one"),
            (format!("{address}plain = true\npassword_file = \"a\"\npassword_variable = \"B\""), "choose one"),
            ("address = \"host=db user=iolite password=secret\"\nplain = true".into(), "has a password in it"),
            (format!("{address}plain = true\nschema = \"My Schema\""), "lower-case letters"),
            (format!("{address}plain = true\npassword = \"secret\""), "unknown field `password`"),
            (format!("{address}plain = true\n[store]\nnumber = 0"), "unknown field `store`"),
        ] {
            let error = config(&text).map(drop).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
