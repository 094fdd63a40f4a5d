//! What a store over PostgreSQL is started with.

use std::time::Duration;

use iolite_values::CoordinatorId;

use crate::encryption::Encryption;

/// What a store is started with.
#[derive(Clone, Debug)]
pub struct PostgresSettings {
    /// Where the database is, and as whom: `host=... user=... dbname=...`, or a `postgresql://` address.
    pub database: tokio_postgres::Config,
    pub encryption: Encryption,
    /// The schema that holds the store's tables. It is created when it is not there.
    pub schema: SchemaName,
    /// Nobody else who uses the same database has it at the same time.
    pub coordinator: CoordinatorId,
    pub retention: Retention,
    /// Connections on which transactions are decided: so many at once.
    pub commit_connections: usize,
    /// Connections on which is read.
    pub read_connections: usize,
    /// Without any notification, the database is asked after this long whether others have committed.
    pub poll_every: Duration,
    /// [`Clock::System`] outside tests.
    pub clock: Clock,
    /// [`Broken::Nothing`] outside tests.
    pub broken: Broken,
}

/// The clock that timestamps are taken from. Nothing rests on it but how near timestamps are to the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    #[default]
    System,
    /// One that is so far ahead of it, or behind.
    Skewed { micros: i64 },
}

impl PostgresSettings {
    pub fn new(database: tokio_postgres::Config, coordinator: CoordinatorId) -> PostgresSettings {
        PostgresSettings {
            database,
            encryption: Encryption::None,
            schema: SchemaName::default(),
            coordinator,
            retention: Retention::default(),
            commit_connections: 8,
            read_connections: 4,
            poll_every: Duration::from_secs(1),
            clock: Clock::System,
            broken: Broken::Nothing,
        }
    }
}

/// How much history is kept: of the resolved past, what is younger than `age`, and no more operations than `operations_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    pub operations_max: u64,
    /// How often old history is looked for.
    pub collect_every: Duration,
}

impl Default for Retention {
    /// A minute bridges the restart of a gateway; a client that was away for longer gets a snapshot.
    fn default() -> Retention {
        Retention { age: Duration::from_secs(60), operations_max: 1 << 20, collect_every: Duration::from_secs(5) }
    }
}

/// The name of a schema: lower-case letters, digits and underscores, so that it never has to be quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a schema is named by at most {max} lower-case letters, digits and underscores, not {0:?}", max = SchemaName::LENGTH_MAX)]
pub struct SchemaNameError(String);

impl SchemaName {
    /// PostgreSQL cuts longer names.
    pub const LENGTH_MAX: usize = 63;

    /// # Errors
    /// Another name than those.
    pub fn new(name: &str) -> Result<SchemaName, SchemaNameError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let fits = name.len() <= SchemaName::LENGTH_MAX && name.bytes().all(plain);
        if begins && fits { Ok(SchemaName(name.into())) } else { Err(SchemaNameError(name.chars().take(64).collect())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SchemaName {
    fn default() -> SchemaName {
        SchemaName("iolite".into())
    }
}

/// Ways to break a store on purpose, so that tests can show that their checks find what each rule prevents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// Reads are not validated: a transaction commits on what is no longer true.
    SkipReadValidation,
    /// What is written at the level of a snapshot is not compared with what others wrote since: it goes over updates that it did not see.
    LastCommitterWins,
    /// No outcome is recorded: a transaction that is sent again takes effect again.
    NoCompletionRecords,
    /// The feed does not wait for transactions that were under way when it looked: they commit behind it.
    SkipDrain,
    /// Timestamps are not above what is visible, but what the clock shows: something may commit at or below what was called resolved.
    IgnoreHighest,
    /// Nothing but the client is locked: two transactions may not see each other although one reads what the other changes.
    SkipLocks,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schemas_name_needs_no_quotes_and_has_a_length() {
        for name in ["iolite", "_a1", &"x".repeat(SchemaName::LENGTH_MAX)] {
            assert_eq!(SchemaName::new(name).as_ref().map(SchemaName::as_str), Ok(name));
        }
        for name in ["", "1a", "A", "a b", "a\"", "a;", "ä", &"x".repeat(SchemaName::LENGTH_MAX + 1)] {
            assert!(SchemaName::new(name).is_err(), "{name:?}");
        }
    }
}
