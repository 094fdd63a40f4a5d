//! Rules from the inside: which tests they may have, and whether these can match.

use iolite_values::{Column, ColumnType, Scalar, Table};

use super::Checker;
use super::columns::kind_of;
use super::kinds::Kind;
use crate::{Allowed, Asked, Change, Comparison, Operand, Relation, Right, Rule};

impl Checker<'_> {
    pub(super) fn rule(&mut self, rule: &Rule, negated: bool) {
        match rule {
            Rule::And(parts) | Rule::Or(parts) => parts.iter().for_each(|part| self.rule(part, negated)),
            Rule::Not(part) => self.rule(part, !negated),
            Rule::Test { of, is } => {
                let kind = self.operand(of);
                self.comparison(&of.to_string(), kind, is);
                self.can_be_a_query(of, is, negated);
            }
            Rule::Claim { name, is } => {
                let kind = self.operand(&Operand::Claim(name.clone()));
                self.comparison(&format!("user.{name}"), kind, is);
            }
            Rule::In { of, set } => self.within(of, set, negated),
            Rule::Exists { row, conditions } => {
                let Some((name, table)) = self.reference(row) else { return };
                conditions.iter().for_each(|asked| self.asked(name, table, asked));
            }
            Rule::Ops(columns) => {
                if negated {
                    self.found("it negates a list of operations: name those that are allowed");
                }
                if self.right != Right::Update {
                    self.found("it limits operations, which only updates have: move that to the rule \"update\"");
                    return;
                }
                columns.iter().for_each(|(column, allowed)| self.allowed(column, allowed));
            }
        }
    }

    /// A condition of a row of another table.
    pub(super) fn asked(&mut self, name: &str, table: &Table, asked: &Asked) {
        let kind = kind_of(name, table, &asked.column);
        let kind = self.good(kind);
        self.comparison(&format!("{name}.{}", asked.column), kind, &asked.is);
    }

    pub(super) fn comparison(&mut self, of: &str, kind: Option<Kind>, is: &Comparison) {
        let (with, Some(kind)) = (self.operand(&is.with), kind) else { return };
        let Some(with) = with else { return };
        if !kind.may(is.relation, with) {
            self.found(format!(
                "{of} {is} never matches, since {of} is {kind} and {} is {with}: compare what is alike",
                is.with
            ));
        }
    }

    fn allowed(&mut self, column: &str, allowed: &[Allowed]) {
        let Some((name, table)) = self.table else { return };
        let Some(own) = table.columns.get(column).filter(|_| !table.key.iter().any(|key| key == column)) else {
            self.found(format!("table {name:?} has no column {column:?} that an update changes: correct its name"));
            return;
        };
        allowed.iter().for_each(|allowed| self.one_allowed(column, own, allowed));
    }

    fn one_allowed(&mut self, name: &str, column: &Column, allowed: &Allowed) {
        let change = allowed.change.name();
        let Some(value) = value_of(column.kind, allowed.change) else {
            let is = column.kind.name();
            self.found(format!("column {name:?} is a {is}, to which nothing does {change:?}: name another operation"));
            return;
        };
        for bound in &allowed.bounds {
            match value {
                Some(scalar) => {
                    let kind = Kind::One { scalar, optional: column.optional };
                    self.comparison(&format!("the value of {change:?}"), Some(kind), bound);
                }
                None => {
                    self.found(format!("{change:?} of column {name:?} has no one value to compare: remove its bounds"));
                }
            }
        }
    }

    /// Whether a test of a read rule can be a condition.
    fn can_be_a_query(&mut self, of: &Operand, is: &Comparison, negated: bool) {
        if self.right != Right::Read {
            return;
        }
        if negated
            && matches!(is.relation, Relation::BeginsWith | Relation::Contains)
            && matches!(of, Operand::Column { .. })
        {
            self.found(format!("it negates {of} {is}, which no query can: keep that in a column of its own"));
        }
        if matches!(is.with, Operand::Column { .. }) {
            self.found(format!(
                "{of} {is} compares two columns, which no query can: compare with claims and constants"
            ));
        }
    }
}

/// The type of the value that an operation on a column carries. None within: it has none. None: the column has no such operation.
fn value_of(kind: ColumnType, change: Change) -> Option<Option<Scalar>> {
    match (change, kind) {
        (Change::Any, _) => Some(None),
        (Change::Put, ColumnType::Scalar(Scalar::Blob)) => Some(None),
        (Change::Put, ColumnType::Scalar(of) | ColumnType::Register(of)) => Some(Some(of)),
        (Change::Put | Change::Add, ColumnType::Counter) => Some(Some(Scalar::Int)),
        (Change::Insert | Change::Remove, ColumnType::Set(of)) => Some(Some(of)),
        (Change::Append | Change::SetAt, ColumnType::List { of, order: _ }) => Some(Some(of)),
        (Change::PutEntry, ColumnType::Map(of)) => Some(Some(of)),
        (Change::RemoveEntry, ColumnType::Map(_)) => Some(Some(Scalar::String)),
        (Change::Edit, ColumnType::Text) => Some(None),
        (
            Change::Put
            | Change::Add
            | Change::Insert
            | Change::Remove
            | Change::Append
            | Change::SetAt
            | Change::PutEntry
            | Change::RemoveEntry
            | Change::Edit,
            _,
        ) => None,
    }
}
