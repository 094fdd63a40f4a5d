//! Sets: whether a value can be in one, and whether its rows can be found.

use iolite_values::{Scalar, Table, Test};

use super::Checker;
use super::columns::kind_of;
use super::kinds::Kind;
use crate::{Asked, ClaimType, Operand, Relation, Right, Set};

impl Checker<'_> {
    pub(super) fn within(&mut self, of: &Operand, set: &Set, negated: bool) {
        let kind = self.operand(of);
        let elements = match set {
            Set::Values(values) => {
                if values.len() > Test::VALUES_MAX {
                    self.found(format!("{of} is one of more than {} values: keep them in a table", Test::VALUES_MAX));
                }
                values.iter().map(Kind::of_value).collect()
            }
            Set::Claim(name) => match self.claim(name) {
                Some(ClaimType::Texts) => vec![Kind::of(Scalar::String)],
                Some(other) => {
                    self.found(format!("claim {name:?} is a {other}, and no list: compare with it, or make it texts"));
                    Vec::new()
                }
                None => Vec::new(),
            },
            Set::Mine { table, column, conditions } => {
                if negated && self.right == Right::Read {
                    self.found(format!("it negates a test of {set}, which no query can: write who may see the row"));
                }
                self.mine(table, column, conditions).into_iter().collect()
            }
        };
        let Some(kind) = kind else { return };
        for element in elements {
            if !kind.may(Relation::Equal, element) {
                self.found(format!(
                    "{of} is never in {set}, since it is {kind} and the set has values {element}: compare what is alike"
                ));
            }
        }
    }

    /// The type of the values of a set of rows.
    fn mine(&mut self, name: &str, column: &str, conditions: &[Asked]) -> Option<Kind> {
        let (name, table) = self.other_table(name)?;
        for asked in conditions {
            self.asked(name, table, asked);
            if !matches!(asked.is.with, Operand::Claim(_) | Operand::Literal(_)) {
                self.found(format!("a set compares with claims and constants only, not with {}", asked.is.with));
            }
        }
        if !begins_with_claim(table, conditions, self.context.has_indexes) {
            let (what, remedy) = match self.context.has_indexes {
                true => ("key or index", "add an index"),
                false => ("key", "this store has no indexes, so put that column first in the key"),
            };
            self.found(format!(
                "table {name:?} has no {what} that begins with the column that names the user: {remedy}"
            ));
        }
        let kind = kind_of(name, table, column);
        match self.good(kind)? {
            kind @ (Kind::One { .. } | Kind::Null) => Some(kind),
            kind @ (Kind::Set(_) | Kind::Texts) => {
                self.found(format!("column {column:?} of table {name:?} is {kind}: a set needs a column of one value"));
                None
            }
        }
    }
}

/// Whether the rows of one user lie together.
fn begins_with_claim(table: &Table, conditions: &[Asked], has_indexes: bool) -> bool {
    let is_user = |column: &String| {
        let names = |own: &&Asked| own.column == *column && own.is.relation == Relation::Equal;
        conditions.iter().filter(names).any(|own| matches!(own.is.with, Operand::Claim(_)))
    };
    let indexes = table.indexes.values().filter(|_| has_indexes);
    std::iter::once(&table.key).chain(indexes).any(|columns| columns.first().is_some_and(is_user))
}
