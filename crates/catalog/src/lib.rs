//! The server's schema and its rights, kept as data: every version is a row of a strong system table, and so replicated, recovered and fed like all data.
//!
//! Source: Iolite's own. The rows are read once, when a gateway starts; after that the feed tells of every new version.
//!
//! Invariants:
//! - a version covers all versions before it, so a schema that was accepted once stays accepted;
//! - no table of an app has the system table's number;
//! - rights are in a version, and never in what clients send. So nobody gives rights to themselves.

mod changes;
mod deployment;
mod growth;
mod restoring;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_rights::Rights;
use iolite_store::RowAt;
use iolite_values::{
    Id, Interest, KeyRange, LOG_CHECKPOINTS_TABLE, LOG_TABLE, Row, RowKey, Schema, SchemaError, SchemaHash, TableId,
    Write,
};

pub use changes::{Changes, RuleChange};
pub use deployment::{Deployment, DeploymentError};
pub use growth::Growth;
pub use restoring::{begin_restoring, end_restoring, restoring};

/// The name of the system table. A table of an app begins with a letter, so none can have it.
pub const CATALOG_TABLE: &str = "_catalog";

/// Tables of the system, by names that no app's table can have; but their numbers it can.
const SYSTEM_TABLES: [&str; 14] = [
    CATALOG_TABLE,
    "$completions",
    "$configurations",
    LOG_TABLE,
    LOG_CHECKPOINTS_TABLE,
    "_log_members",
    "_leases",
    "_seals",
    "_outbox",
    "_centres",
    "_objects",
    "_nodes",
    "_buckets",
    "_access",
];

/// How many hashes of covered schemas are remembered. Past this, clients send theirs again after the next hello.
pub const KNOWN_SCHEMAS_MAX: usize = 4096;

/// Whether clients make the schema grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaPolicy {
    /// Development: what a client's schema adds is added to the server's.
    Grow,
    /// Production: a client's schema has to be covered by the server's.
    Fixed,
}

/// What is to be done about a client's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The server's schema covers it.
    Covered,
    /// It adds something: commit this first.
    Grow(Box<Growth>),
}

/// Why nobody can be served by what the rows of the catalog say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("version {version} of the stored schema cannot be read: {problem}. Was it written by a newer Iolite?")]
    Unreadable { version: i64, problem: String },
    #[error(
        "the backup {backup} is being restored into this store: wait until `iolite restore` has ended, or run it again"
    )]
    Restoring { backup: Id },
}

/// The server's schema and its history.
#[derive(Clone, Debug)]
pub struct Catalog {
    policy: SchemaPolicy,
    rows: BTreeMap<RowKey, Row>,
    version: i64,
    schema: Schema,
    /// None: nobody has given any.
    rights: Option<Arc<Rights>>,
    /// The version since which these are the rights.
    rights_version: i64,
    known: BTreeSet<SchemaHash>,
}

impl Catalog {
    /// Knows the empty schema, until rows are loaded.
    pub fn new(policy: SchemaPolicy) -> Catalog {
        let schema = Schema::default();
        let known = [schema.hash()].into();
        Catalog { policy, rows: BTreeMap::new(), version: 0, schema, rights: None, rights_version: 0, known }
    }

    pub fn table() -> TableId {
        TableId::of(CATALOG_TABLE)
    }

    /// What has to be read at start, and watched in the feed.
    pub fn interest() -> Interest {
        Interest::Range { table: Catalog::table(), range: KeyRange::all() }
    }

    /// Takes the rows as they were read.
    ///
    /// # Errors
    /// [`CatalogError`] when a row is no schema of this release.
    pub fn load(&mut self, rows: Vec<RowAt>) -> Result<(), CatalogError> {
        self.rows = rows.into_iter().map(|row| (row.key, row.row)).collect();
        self.read_versions()
    }

    /// Takes the writes of one committed transaction, of which those of other tables are ignored.
    ///
    /// # Errors
    /// As [`Catalog::load`]; the schema is as before.
    pub fn fold<'a>(&mut self, writes: impl IntoIterator<Item = &'a Write>) -> Result<(), CatalogError> {
        let mut changed = false;
        for write in writes.into_iter().filter(|write| write.cell.table == Catalog::table()) {
            let row = self.rows.entry(write.cell.row.clone()).or_default();
            // An operation of another type changes nothing, here as in the store.
            let _ = row.apply(write.cell.column, &write.operation);
            changed = true;
        }
        if changed { self.read_versions() } else { Ok(()) }
    }

    /// The schema that all sessions are checked against.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The rights beside the schema. None: nobody has given any.
    pub fn rights(&self) -> Option<&Arc<Rights>> {
        self.rights.as_ref()
    }

    /// The version that brought the rights which are in effect. Names them, in one history of the store.
    pub fn rights_version(&self) -> i64 {
        self.rights_version
    }

    /// Grows with each schema and each deployment, from 0 for the empty schema.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Whether a schema with this hash is known to be covered.
    pub fn knows(&self, hash: SchemaHash) -> bool {
        self.known.contains(&hash)
    }

    /// Notes that the schema with this hash is covered.
    pub fn remember(&mut self, hash: SchemaHash) {
        if self.known.len() < KNOWN_SCHEMAS_MAX {
            self.known.insert(hash);
        }
    }

    /// Judges a client's schema.
    ///
    /// # Errors
    /// [`SchemaError`] when it contradicts the server's, or when it adds to it and the policy is [`SchemaPolicy::Fixed`].
    pub fn admit(&self, schema: &Schema) -> Result<Admission, SchemaError> {
        Catalog::check_names(schema)?;
        let merged = self.schema.merged_with(schema)?;
        if merged == self.schema {
            return Ok(Admission::Covered);
        }
        match self.policy {
            SchemaPolicy::Grow => Ok(Admission::Grow(Box::new(self.growth_to(merged)))),
            SchemaPolicy::Fixed => Err(SchemaError {
                table: String::new(),
                column: String::new(),
                problem: "it has tables or columns that the server's has not: connect with it once to a gateway whose file says `schemas = \"grow\"`".into(),
            }),
        }
    }

    fn check_names(schema: &Schema) -> Result<(), SchemaError> {
        let is_of_system = |name: &str| SYSTEM_TABLES.iter().any(|own| TableId::of(own) == TableId::of(name));
        let of_system = schema.tables().find(|(name, _)| is_of_system(name));
        of_system.map_or(Ok(()), |(name, _)| {
            let problem = "its number is that of a system table: rename it".into();
            Err(SchemaError { table: name.into(), column: String::new(), problem })
        })
    }
}

#[cfg(test)]
mod tests;
