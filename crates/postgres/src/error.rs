//! What can go wrong with a database, and what to do about it.

use std::io;

use tokio_postgres::error::SqlState;

use crate::encryption::NotTrusted;
use crate::facts::Malformed;
use crate::settings::SchemaName;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the database cannot be reached: {}. Start it, or correct its address", told(.0))]
    Unreachable(tokio_postgres::Error),
    #[error("the database does not answer. See what it waits for, or correct its address")]
    TimedOut,
    #[error("the database does not let this user in: {}. Correct the user or the password, or let the user in (pg_hba.conf)", told(.0))]
    Denied(tokio_postgres::Error),
    #[error("{}: create it, or correct the address", told(.0))]
    NoDatabase(tokio_postgres::Error),
    #[error("the server is not the one that is trusted: {}. Correct the host's name, or the certificates to trust", told(.0))]
    NotTrusted(tokio_postgres::Error),
    #[error(
        "this user may not do what the store has to in schema {schema:?}: {problem}. Give it the schema: CREATE SCHEMA {schema} AUTHORIZATION the user"
    )]
    Rights { schema: String, problem: String },
    #[error(
        "the server takes no writes: it is a standby, or set to read only. Correct the address, or wait until it takes over"
    )]
    ReadOnly,
    #[error("cannot use the database: {}", told(.0))]
    Database(tokio_postgres::Error),
    #[error(
        "the server is {found:?}: Iolite needs PostgreSQL {least} or later itself, because others do not lock or order as it does (docs/protocols/postgres.md)"
    )]
    Server { found: String, least: u32 },
    #[error(
        "schema {schema:?} has version {found} of the tables, and this release knows {known}: use the release that wrote it; nothing was changed"
    )]
    UnknownVersion { schema: String, found: i32, known: i32 },
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> OpenError {
        match error.code() {
            Some(code) if is_of_class(code, "28") => OpenError::Denied(error),
            Some(code) if *code == SqlState::INVALID_CATALOG_NAME => OpenError::NoDatabase(error),
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => OpenError::ReadOnly,
            Some(code) if may_pass(code) => OpenError::Unreachable(error),
            Some(_) => OpenError::Database(error),
            None if caused_by::<NotTrusted>(&error) => OpenError::NotTrusted(error),
            // Nothing but a time that was up has no cause.
            None if caused_by::<io::Error>(&error) || std::error::Error::source(&error).is_none() => {
                OpenError::Unreachable(error)
            }
            None => OpenError::Database(error),
        }
    }
}

/// The server is starting, stopping or full, or the way to it is broken.
fn may_pass(code: &SqlState) -> bool {
    ["08", "53", "57"].iter().any(|class| is_of_class(code, class))
}

fn is_of_class(code: &SqlState, class: &str) -> bool {
    code.code().starts_with(class)
}

fn caused_by<E: std::error::Error + 'static>(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<E>())
}

impl OpenError {
    /// Whether it may be otherwise in a moment without anybody correcting something.
    pub fn may_pass(&self) -> bool {
        match self {
            OpenError::Unreachable(_) | OpenError::TimedOut | OpenError::ReadOnly => true,
            OpenError::Denied(_)
            | OpenError::NoDatabase(_)
            | OpenError::NotTrusted(_)
            | OpenError::Rights { .. }
            | OpenError::Database(_)
            | OpenError::Server { .. }
            | OpenError::UnknownVersion { .. }
            | OpenError::Malformed(_) => false,
        }
    }

    /// What the database says to a user who lacks a right in the store's schema.
    pub(crate) fn in_schema(self, schema: &SchemaName) -> OpenError {
        match self {
            OpenError::Database(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                OpenError::Rights { schema: schema.as_str().into(), problem: told(&error) }
            }
            other => other,
        }
    }

    pub(crate) fn unknown_version(schema: &SchemaName, found: i32, known: i32) -> OpenError {
        OpenError::UnknownVersion { schema: schema.as_str().into(), found, known }
    }
}

/// Why something that was asked of the database did not come to an end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error("{}", told(.0))]
    Sql(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the database did not answer in time")]
    TimedOut,
}

/// What to do after an error. Nothing is ever taken to have happened, or not to have happened: it is done again, and begins with a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// It came in the way of others: the same again on the same connection.
    Again,
    /// The same again on a new connection, later.
    Reconnect,
}

impl WorkError {
    pub fn remedy(&self) -> Remedy {
        match self {
            WorkError::Sql(error) => error.code().map_or(Remedy::Reconnect, remedy_of),
            WorkError::Malformed(_) | WorkError::TimedOut => Remedy::Reconnect,
        }
    }
}

fn remedy_of(code: &SqlState) -> Remedy {
    let passing = [
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
        &SqlState::UNIQUE_VIOLATION,
        &SqlState::LOCK_NOT_AVAILABLE,
    ];
    if passing.contains(&code) { Remedy::Again } else { Remedy::Reconnect }
}

/// The database's own words, which the driver's error leaves to its source.
fn told(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_in_the_way_of_others_is_done_again_and_all_else_on_a_new_connection() {
        for code in ["40001", "40P01", "23505", "55P03"] {
            assert_eq!(remedy_of(&SqlState::from_code(code)), Remedy::Again, "{code}");
        }
        for code in ["57P01", "25P03", "53100", "42P01", "08006"] {
            assert_eq!(remedy_of(&SqlState::from_code(code)), Remedy::Reconnect, "{code}");
        }
        assert_eq!(WorkError::TimedOut.remedy(), Remedy::Reconnect);
    }
}
