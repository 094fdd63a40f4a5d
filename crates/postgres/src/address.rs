//! Where a database is, and as whom it is used, as people write it.
//!
//! Invariant: it holds no password, since it stands in files and logs that others read.

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// `host=... user=... dbname=...`, or `postgresql://...`: everything that PostgreSQL's own clients know, but no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Config);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "`address` is none: {0}. It is like \"host=db.example user=iolite dbname=app\" or \"postgresql://iolite@db.example/app\""
    )]
    Unreadable(String),
    #[error("`address` has no host: name one, or the folder of the database's Unix socket")]
    NoHost,
    #[error("`address` has no user: name the role that the gateway is to be")]
    NoUser,
    #[error(
        "`address` has a password in it: put it into a file of its own and name that in `password_file`, or use `password_variable`"
    )]
    Password,
}

impl Address {
    /// # Errors
    /// [`AddressError`]; a password is never part of it.
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            AddressError::Unreadable(cause.unwrap_or_else(|| error.to_string()))
        })?;
        if config.get_password().is_some() {
            return Err(AddressError::Password);
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(AddressError::NoHost);
        }
        if config.get_user().is_none() {
            return Err(AddressError::NoUser);
        }
        Ok(Address(config))
    }

    /// Whether nothing but Unix sockets leads there, which nobody outside of the machine reads.
    pub fn is_on_this_machine(&self) -> bool {
        let is_socket = |host: &Host| match host {
            Host::Tcp(_) => false,
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        self.0.get_hostaddrs().is_empty() && self.0.get_hosts().iter().all(is_socket)
    }

    pub fn with_password(self, password: Option<&str>) -> Config {
        let mut config = self.0;
        if let Some(password) = password {
            config.password(password);
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_taken_and_a_password_is_not() {
        let plain = Address::parse("host=db.example port=5433 user=iolite dbname=app").expect("as documented");
        assert_eq!(Address::parse("postgresql://iolite@db.example:5433/app").as_ref(), Ok(&plain));
        assert!(!plain.is_on_this_machine());
        assert_eq!(plain.with_password(Some("secret")).get_password(), Some(&b"secret"[..]));
        for text in ["host=a user=b password=secret", "postgresql://b:secret@a/app"] {
            let refused = Address::parse(text).expect_err("it has a password");
            assert_eq!(refused, AddressError::Password);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(Address::parse("user=iolite"), Err(AddressError::NoHost));
        assert_eq!(Address::parse("host=a"), Err(AddressError::NoUser));
        assert!(
            matches!(Address::parse("hots=a user=b"), Err(AddressError::Unreadable(told)) if told.contains("hots"))
        );
    }

    #[test]
    fn a_unix_socket_is_on_this_machine_and_loopback_is_a_network() {
        assert!(Address::parse("host=/run/postgresql user=iolite").expect("a folder").is_on_this_machine());
        assert!(!Address::parse("host=/run/postgresql,db user=iolite").expect("two").is_on_this_machine());
        assert!(!Address::parse("host=localhost user=iolite").expect("a name").is_on_this_machine());
    }
}
