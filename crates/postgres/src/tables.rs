//! The tables, and how they come to be.
//!
//! Invariant: they are created once, whole, by one transaction, whoever else is starting; tables of another version are left untouched.

use iolite_values::{Id, StoreIncarnation};
use tokio_postgres::Client;

use crate::error::OpenError;
use crate::facts::Malformed;
use crate::locks::{LockKey, LockSpace};
use crate::settings::PostgresSettings;

/// The version of the tables that is written here.
pub const TABLES_VERSION: i32 = 1;

/// The oldest release of PostgreSQL that is still maintained has all that is used.
const SERVER_LEAST: u32 = 13;

/// Timestamps and counters as numbers.rs has them, ids and keys as bytes.
const CREATE: &str = "
CREATE TABLE store (one bool PRIMARY KEY CHECK (one), version int4 NOT NULL, incarnation bytea NOT NULL);
COMMENT ON TABLE store IS 'Iolite: which history this is, and which version of these tables';
CREATE TABLE history (one bool PRIMARY KEY CHECK (one), low_watermark int8 NOT NULL);
COMMENT ON TABLE history IS 'Iolite: what was at or below this is folded into states';
CREATE TABLE commits (at int8 PRIMARY KEY, operations int4 NOT NULL, record bytea NOT NULL);
COMMENT ON TABLE commits IS 'Iolite: the log of recent transactions, in the order of their timestamps';
CREATE TABLE touches (tbl int8, key bytea, at int8, PRIMARY KEY (tbl, key, at));
COMMENT ON TABLE touches IS 'Iolite: which rows recent transactions touched';
CREATE TABLE states (tbl int8, key bytea, at int8, row bytea NOT NULL, PRIMARY KEY (tbl, key, at));
COMMENT ON TABLE states IS 'Iolite: rows as they were at some timestamps; what touched them since is in the log';
CREATE TABLE clients (client bytea PRIMARY KEY, acknowledged int8 NOT NULL);
COMMENT ON TABLE clients IS 'Iolite: through which counter a client knows its outcomes';
CREATE TABLE completions (client bytea, counter int8, attempt int8 NOT NULL, at int8 NOT NULL, aborted bool NOT NULL, PRIMARY KEY (client, counter));
COMMENT ON TABLE completions IS 'Iolite: outcomes that clients have not acknowledged';
INSERT INTO history VALUES (true, -9223372036854775808);
";

const MISSING_RIGHTS: &str = "
SELECT string_agg(wanted || ' on ' || relname, ', ' ORDER BY relname, wanted)
FROM pg_class, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS wanted
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
AND relname IN ('store', 'history', 'commits', 'touches', 'states', 'clients', 'completions') AND relkind = 'r'
AND NOT has_table_privilege(pg_class.oid, wanted)";

/// Sees to it that the tables are there.
pub(crate) async fn set_up(client: &Client, settings: &PostgresSettings) -> Result<(), OpenError> {
    check_server(client).await?;
    make_or_check(client, settings).await.map_err(|error| error.in_schema(&settings.schema))
}

async fn make_or_check(client: &Client, settings: &PostgresSettings) -> Result<(), OpenError> {
    let setup = LockKey::of_setup(LockSpace::of(settings.schema.as_str())).as_i64();
    client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    let done = async {
        client.execute("SELECT pg_advisory_xact_lock($1)", &[&setup]).await?;
        create_or_check(client, settings).await
    };
    match done.await {
        Ok(()) => Ok(client.batch_execute("COMMIT").await?),
        Err(error) => {
            client.batch_execute("ROLLBACK").await?;
            Err(error)
        }
    }
}

async fn check_server(client: &Client) -> Result<(), OpenError> {
    let row = client
        .query_one(
            "SELECT version(), current_setting('server_version_num')::int4, current_setting('fsync'), \
             current_setting('transaction_read_only') = 'on'",
            &[],
        )
        .await?;
    let (found, number, fsync, is_read_only): (String, i32, String, bool) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    if !is_known(&found, number) {
        return Err(OpenError::Server { found, least: SERVER_LEAST });
    }
    if is_read_only {
        return Err(OpenError::ReadOnly);
    }
    if fsync == "off" {
        tracing::warn!("the database runs with fsync = off: what it acknowledges is lost with the machine's power");
    }
    Ok(())
}

/// PostgreSQL itself, and no release that is too old.
fn is_known(version: &str, number: i32) -> bool {
    let itself = version.starts_with("PostgreSQL ") && !version.contains("-YB-");
    itself && number >= i32::try_from(SERVER_LEAST * 10_000).expect("a small number")
}

async fn create_or_check(client: &Client, settings: &PostgresSettings) -> Result<(), OpenError> {
    let schema = settings.schema.as_str();
    let there = client.query_one("SELECT to_regclass($1 || '.store') IS NOT NULL", &[&schema]).await?;
    if !there.get::<_, bool>(0) {
        let is_given = client.query_one("SELECT to_regnamespace($1) IS NOT NULL", &[&schema]).await?;
        // Even one that is there may only be "created if it is not" by who may create others.
        let create = if is_given.get(0) { String::new() } else { format!("CREATE SCHEMA {schema};") };
        client.batch_execute(&(create + CREATE)).await?;
        let incarnation = new_incarnation().0.to_bytes();
        let values = "INSERT INTO store VALUES (true, $1, $2)";
        client.execute(values, &[&TABLES_VERSION, &&incarnation[..]]).await?;
        return Ok(());
    }
    let found: i32 = client.query_one("SELECT version FROM store", &[]).await?.get(0);
    match found {
        TABLES_VERSION => check_rights(client, schema).await,
        _ => Err(OpenError::unknown_version(&settings.schema, found, TABLES_VERSION)),
    }
}

/// Somebody else may have made the tables.
async fn check_rights(client: &Client, schema: &str) -> Result<(), OpenError> {
    let missing: Option<String> = client.query_one(MISSING_RIGHTS, &[&schema]).await?.get(0);
    match missing {
        None => Ok(()),
        Some(missing) => Err(OpenError::Rights { schema: schema.into(), problem: format!("it lacks {missing}") }),
    }
}

pub(crate) fn new_incarnation() -> StoreIncarnation {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    StoreIncarnation(Id::from_bytes(bytes))
}

pub(crate) fn incarnation_of(bytes: &[u8]) -> Result<StoreIncarnation, Malformed> {
    let bytes = bytes.try_into().map_err(|_| Malformed::Unexpected("an incarnation of another length"))?;
    Ok(StoreIncarnation(Id::from_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_postgresql_itself_is_taken_and_no_release_that_is_too_old() {
        assert!(is_known("PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64", 150_014));
        assert!(is_known("PostgreSQL 13.0 on x86_64", 130_000));
        for (version, number) in [
            ("PostgreSQL 12.22 on x86_64", 120_022),
            ("PostgreSQL 15.2-YB-2.25.2.0-b0 on x86_64", 150_002),
            ("CockroachDB CCL v24.3.0 (x86_64-pc-linux-gnu)", 130_000),
        ] {
            assert!(!is_known(version, number), "{version}");
        }
    }
}
