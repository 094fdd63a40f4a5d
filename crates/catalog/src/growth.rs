//! The transaction that adds a version to the stored schema and its rights.
//!
//! Invariants: it reads all versions, so of two gateways that add one at once one conflicts, and looks again. A client's schema leaves the rights as they
//! are: nobody gives rights to themselves.

use std::sync::Arc;

use iolite_rights::Rights;
use iolite_values::{Decision, Read, RowKey, Schema, Value, Write};

use crate::{Catalog, rows};

/// A version that is not committed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    pub version: i64,
    pub schema: Schema,
    /// None: the store has no rights.
    pub rights: Option<Arc<Rights>>,
}

impl Growth {
    /// What the transaction reads, at the snapshot of the catalog that proposed the growth.
    pub fn reads(&self) -> Vec<Read> {
        let iolite_values::Interest::Range { table, range } = Catalog::interest() else {
            unreachable!("the catalog's interest is a range");
        };
        vec![Read::Range { table, range }]
    }

    pub fn decision(&self) -> Decision {
        Decision::Commit(self.writes())
    }

    fn writes(&self) -> Vec<Write> {
        let key = RowKey::new(&[Value::Int(self.version)]).expect("an integer is a key");
        rows::writes(&key, &self.schema, self.rights.as_deref())
    }
}

impl Catalog {
    pub(crate) fn growth_to(&self, schema: Schema) -> Growth {
        Growth { version: self.version() + 1, schema, rights: self.rights.clone() }
    }
}
