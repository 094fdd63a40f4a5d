//! Names that rules use: columns, claims, and rows that are followed.

use iolite_values::{Scalar, Table};

use super::Checker;
use super::kinds::Kind;
use crate::{ClaimType, Operand, Part, Reference, Right, Rule, SUBJECT, Version, When};

impl<'a> Checker<'a> {
    /// The type of an operand.
    pub(super) fn operand(&mut self, operand: &Operand) -> Option<Kind> {
        match operand {
            Operand::Column { of, column } => self.own_column(*of, column),
            Operand::Followed { row, column } => {
                let (name, table) = self.reference(row)?;
                let kind = kind_of(name, table, column);
                self.good(kind)
            }
            Operand::Claim(name) => match self.claim(name)?.scalar() {
                Some(scalar) => Some(Kind::of(scalar)),
                None => Some(Kind::Texts),
            },
            Operand::Literal(value) => Some(Kind::of_value(value)),
            Operand::Now if self.right.is_followed() => {
                self.found("it cannot look at the time, since nothing tells when it changes: compare with a column");
                None
            }
            Operand::Now => Some(Kind::of(Scalar::Int)),
            Operand::Part(part) => self.part(*part),
        }
    }

    /// The type of a claim. None: there is no such claim, which is a problem, or it may be of any type.
    pub(super) fn claim(&mut self, name: &str) -> Option<ClaimType> {
        if name == SUBJECT {
            return Some(ClaimType::Text);
        }
        let found = self.context.claims?.get(name).copied();
        if found.is_none() {
            self.found(format!(
                "there is no claim {name:?}: name it with its type where the gateway's tokens are set up"
            ));
        }
        found
    }

    fn own_column(&mut self, version: Version, column: &str) -> Option<Kind> {
        let Some((name, table)) = self.table else {
            self.found(format!("there is no row here, so no {}.{column}: follow a row by its key", version.name()));
            return None;
        };
        let is_there = match (self.right, version) {
            (_, Version::Row) | (Right::Update | Right::Check, _) => true,
            (Right::Create, Version::New) | (Right::Delete, Version::Old) => true,
            (Right::Create, Version::Old) => false,
            (Right::Delete, Version::New) => false,
            (Right::Read | Right::Join | Right::Run | Right::Call | Right::Copy | Right::Hold, _) => false,
        };
        if !is_there {
            self.found(format!("it has no row {:?}: write row.{column}", version.name()));
            return None;
        }
        let kind = kind_of(name, table, column);
        self.good(kind)
    }

    fn part(&mut self, part: Part) -> Option<Kind> {
        let is_there = match part {
            Part::Key => matches!(self.right, Right::Join | Right::Run),
            Part::Operation => self.right == Right::Run,
            Part::Class | Part::Id => matches!(self.right, Right::Call | Right::Copy | Right::Hold),
            Part::Method => self.right == Right::Call,
        };
        if !is_there {
            self.found(format!("there is no {:?} in this rule: remove that test", part.name()));
            return None;
        }
        let of_log = || {
            let is_own = |table: &&Table| table.log().is_some_and(|log| Some(&**log) == self.log);
            let table = self.context.schema.tables().map(|(_, table)| table).find(is_own)?;
            table.key_types().next()
        };
        let scalar = if part == Part::Key { of_log().unwrap_or(Scalar::String) } else { Scalar::String };
        Some(Kind::of(scalar))
    }

    /// The table of a row that is followed.
    pub(super) fn reference(&mut self, row: &Reference) -> Option<(&'a str, &'a Table)> {
        if self.right == Right::Read {
            self.found(format!("a read rule cannot follow {row}: write a set instead, as in row.x in mine(…)"));
            return None;
        }
        if row.when == When::After && self.table.is_none() {
            self.found(format!("nothing is written here, so there is no row after: write at.{}", row.table));
        }
        if row.depth() > Rule::REFERENCES_MAX {
            let most = Rule::REFERENCES_MAX;
            self.found(format!(
                "{row} follows more than {most} rows, one after the other: keep the key in a nearer row"
            ));
            return None;
        }
        let (name, table) = self.other_table(&row.table)?;
        let (wanted, given) = (table.key.len(), row.key.len());
        if wanted != given {
            self.found(format!("{row} names {given} columns of a key that has {wanted}: give all of {:?}", table.key));
            return None;
        }
        for ((part, wanted), column) in row.key.iter().zip(table.key_types()).zip(&table.key) {
            let Some(kind) = self.operand(part) else { continue };
            if !matches!(kind, Kind::One { scalar, .. } if scalar == wanted) {
                let wanted = wanted.name();
                self.found(format!(
                    "{part} is {kind}, and column {column:?} of table {name:?} is of type {wanted}: no row matches"
                ));
            }
        }
        Some((name, table))
    }

    /// A table that a rule looks at beside its own.
    pub(super) fn other_table(&mut self, name: &str) -> Option<(&'a str, &'a Table)> {
        let found = self.context.schema.tables().find(|(own, _)| *own == name);
        let Some((name, table)) = found else {
            self.found(format!("there is no table {name:?}: correct its name"));
            return None;
        };
        if let Some(log) = table.log() {
            self.found(format!(
                "table {name:?} is of log {log:?}, so no server has its rows: keep what rules need elsewhere"
            ));
            return None;
        }
        if self.table.is_some_and(|(_, own)| own.merges()) && !table.merges() {
            self.found(format!(
                "a table that merges is judged by tables that merge only, and {name:?} does not: make it merge"
            ));
        }
        Some((name, table))
    }
}

/// The type of a column of a table.
pub(super) fn kind_of(name: &str, table: &Table, column: &str) -> Result<Kind, String> {
    let Some(own) = table.columns.get(column) else {
        return Err(format!("table {name:?} has no column {column:?}: correct its name, or add it to the schema"));
    };
    Kind::of_column(own).ok_or_else(|| {
        format!(
            "column {column:?} of table {name:?} is a {}, which no rule can compare: use another column",
            own.kind.name()
        )
    })
}
