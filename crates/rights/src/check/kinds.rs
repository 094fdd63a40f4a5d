//! Types of operands, and which of them can ever match.

use std::fmt;

use iolite_values::{Column, ColumnType, Scalar, Value};

use crate::Relation;

/// The type of what an operand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    One {
        scalar: Scalar,
        optional: bool,
    },
    Set(Scalar),
    /// A claim that is a list.
    Texts,
    Null,
}

impl Kind {
    pub(super) fn of(scalar: Scalar) -> Kind {
        Kind::One { scalar, optional: false }
    }

    pub(super) fn of_value(value: &Value) -> Kind {
        let scalar = Scalar::ALL.into_iter().find(|scalar| scalar.holds(value));
        scalar.map_or(Kind::Null, Kind::of)
    }

    /// None: no test can look at it.
    pub(super) fn of_column(column: &Column) -> Option<Kind> {
        match column.kind {
            ColumnType::Scalar(Scalar::Blob) | ColumnType::Register(Scalar::Blob) => None,
            ColumnType::Scalar(scalar) | ColumnType::Register(scalar) => {
                Some(Kind::One { scalar, optional: column.optional })
            }
            ColumnType::Counter => Some(Kind::of(Scalar::Int)),
            ColumnType::Set(of) => Some(Kind::Set(of)),
            ColumnType::List { .. } | ColumnType::Map(_) | ColumnType::Text => None,
        }
    }

    /// Whether a comparison may hold.
    pub(super) fn may(self, relation: Relation, with: Kind) -> bool {
        match (relation, self, with) {
            (Relation::Contains, Kind::Set(of), Kind::One { scalar, .. }) => of == scalar,
            (Relation::Contains, Kind::Texts, Kind::One { scalar, .. }) => scalar == Scalar::String,
            (Relation::Contains, _, _) => false,
            (Relation::Equal | Relation::NotEqual, Kind::One { optional, .. }, Kind::Null) => optional,
            (Relation::BeginsWith, Kind::One { scalar, .. }, Kind::One { scalar: other, .. }) => {
                scalar == Scalar::String && other == Scalar::String
            }
            (
                Relation::Equal
                | Relation::NotEqual
                | Relation::Less
                | Relation::AtMost
                | Relation::Greater
                | Relation::AtLeast,
                Kind::One { scalar, .. },
                Kind::One { scalar: other, .. },
            ) => scalar == other,
            (
                Relation::Equal
                | Relation::NotEqual
                | Relation::Less
                | Relation::AtMost
                | Relation::Greater
                | Relation::AtLeast
                | Relation::BeginsWith,
                _,
                _,
            ) => false,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::One { scalar, optional: false } => write!(f, "of type {}", scalar.name()),
            Kind::One { scalar, optional: true } => write!(f, "of type {} or null", scalar.name()),
            Kind::Set(of) => write!(f, "a set of type {}", of.name()),
            Kind::Texts => f.write_str("a list of texts"),
            Kind::Null => f.write_str("null"),
        }
    }
}
