//! The cluster's file of those whose cluster is described in etcd: where that is, and how one is let in.
//!
//! Invariant: no password stands in the file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A key of etcd, whose value is what else would be the cluster's file. Paths are relative to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdPlace {
    /// Like `https://HOST:PORT`; any of them will do.
    pub endpoints: Vec<String>,
    pub key: String,
    /// Where nodes keep what they read last, to start with when nobody answers.
    pub copy: PathBuf,
    /// Who vouches for the servers. None: whom the system trusts.
    pub authority: Option<PathBuf>,
    pub identity: Option<EtcdIdentity>,
    pub login: Option<EtcdLogin>,
}

/// A client's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdIdentity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A user, where etcd asks for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdLogin {
    pub user: String,
    pub password_file: PathBuf,
}

/// What is wrong in such a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdProblem {
    #[error("[etcd] has no `endpoints`: write them like [\"https://etcd-1:2379\", \"https://etcd-2:2379\"]")]
    NoEndpoint,
    #[error("the endpoint {0:?} is not like https://HOST:PORT, or http://HOST:PORT where the network is trusted")]
    Endpoint(String),
    #[error("`key` is empty: write the key of etcd that has the cluster's description")]
    NoKey,
    #[error("[etcd] has one of `certificate` and `certificate_key` without the other: both, or none")]
    HalfIdentity,
    #[error("[etcd] has one of `user` and `password_file` without the other: both, or none")]
    HalfLogin,
}

/// The file, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdFile {
    pub etcd: EtcdTable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdTable {
    pub endpoints: Vec<String>,
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_key: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
}

impl EtcdPlace {
    /// # Errors
    /// [`EtcdProblem`].
    pub fn of(table: EtcdTable, file: &Path) -> Result<EtcdPlace, EtcdProblem> {
        let folder = file.parent().unwrap_or(Path::new(""));
        if table.endpoints.is_empty() {
            return Err(EtcdProblem::NoEndpoint);
        }
        if table.key.is_empty() {
            return Err(EtcdProblem::NoKey);
        }
        let endpoints = table.endpoints.into_iter().map(endpoint).collect::<Result<_, _>>()?;
        let identity = match (table.certificate, table.certificate_key) {
            (Some(certificate), Some(key)) => {
                Some(EtcdIdentity { certificate: folder.join(certificate), key: folder.join(key) })
            }
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(EtcdProblem::HalfIdentity),
        };
        let login = match (table.user, table.password_file) {
            (Some(user), Some(file)) => Some(EtcdLogin { user, password_file: folder.join(file) }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(EtcdProblem::HalfLogin),
        };
        let copy = table.copy.map_or_else(|| file.with_extension("copy.toml"), |copy| folder.join(copy));
        let authority = table.authority.map(|authority| folder.join(authority));
        Ok(EtcdPlace { endpoints, key: table.key, copy, authority, identity, login })
    }
}

/// Without a slash at its end.
fn endpoint(text: String) -> Result<String, EtcdProblem> {
    let own = text.trim_end_matches('/');
    let rest = own.strip_prefix("https://").or(own.strip_prefix("http://"));
    let is_named = |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@', ',', ' ']);
    let place = rest.and_then(|rest| rest.rsplit_once(':'));
    match place {
        Some((host, port)) if is_named(host) && port.parse::<u16>().is_ok() => Ok(own.to_owned()),
        Some(_) | None => Err(EtcdProblem::Endpoint(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Result<EtcdPlace, String> {
        let file: EtcdFile = toml::from_str(&format!("[etcd]\n{text}")).map_err(|error| error.to_string())?;
        EtcdPlace::of(file.etcd, Path::new("/etc/iolite/cluster.toml")).map_err(|problem| problem.to_string())
    }

    #[test]
    fn paths_are_beside_the_file_and_so_is_the_copy() {
        let text = "endpoints = [\"https://a:2379/\", \"http://[::1]:2379\"]\nkey = \"/iolite\"\nauthority = \"ca.crt\"\n\
            certificate = \"own.crt\"\ncertificate_key = \"own.key\"\nuser = \"iolite\"\npassword_file = \"password\"";
        let place = place(text).expect("as documented");
        assert_eq!(place.endpoints, ["https://a:2379", "http://[::1]:2379"]);
        assert_eq!(place.copy, PathBuf::from("/etc/iolite/cluster.copy.toml"));
        assert_eq!(place.authority, Some("/etc/iolite/ca.crt".into()));
        let identity = EtcdIdentity { certificate: "/etc/iolite/own.crt".into(), key: "/etc/iolite/own.key".into() };
        assert_eq!(place.identity, Some(identity));
        let login = EtcdLogin { user: "iolite".into(), password_file: "/etc/iolite/password".into() };
        assert_eq!(place.login, Some(login));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let etcd = |endpoint: &str, rest: &str| format!("endpoints = [\"{endpoint}\"]\nkey = \"/iolite\"\n{rest}");
        for (text, told) in [
            ("endpoints = []\nkey = \"k\"".to_owned(), "has no `endpoints`"),
            ("endpoints = [\"http://a:1\"]\nkey = \"\"".to_owned(), "`key` is empty"),
            (etcd("ftp://a:2379", ""), "\"ftp://a:2379\" is not like https://HOST:PORT"),
            (etcd("a:2379", ""), "is not like"),
            (etcd("http://a", ""), "is not like"),
            (etcd("http://a:2379,http://b:2379", ""), "is not like"),
            (etcd("http://a:2379/v3", ""), "is not like"),
            (etcd("http://a:70000", ""), "is not like"),
            (etcd("http://a:2379", "certificate = \"a\""), "both, or none"),
            (etcd("http://a:2379", "user = \"a\""), "both, or none"),
            (etcd("http://a:2379", "password = \"secret\""), "unknown field `password`"),
        ] {
            let error = place(&text).map(drop).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
