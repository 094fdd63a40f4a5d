//! What can go wrong with a database, and what to do about it.

use tokio_postgres::error::SqlState;

use crate::facts::Malformed;
use crate::settings::SchemaName;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot use the database: {}", told(.0))]
    Database(#[from] tokio_postgres::Error),
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

impl OpenError {
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
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
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
