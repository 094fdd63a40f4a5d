//! Rules: expressions as data. No loops and no functions of users, so what a rule costs is known before it is in effect.
//!
//! Invariant: a rule names tables, columns and claims by name. It is the same rule under every schema that has these.

use std::collections::BTreeMap;

use iolite_values::Value;

/// An expression that is true or not of somebody who does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All of them. None: true.
    And(Vec<Rule>),
    /// One of them, or more. None: false.
    Or(Vec<Rule>),
    Not(Box<Rule>),
    Test {
        of: Operand,
        is: Comparison,
    },
    In {
        of: Operand,
        set: Set,
    },
    /// A row is there, and satisfies conditions.
    Exists {
        row: Reference,
        conditions: Vec<Asked>,
    },
    /// An update changes these columns only, each by one of these operations.
    Ops(BTreeMap<String, Vec<Allowed>>),
    /// A test of what the token says.
    Claim {
        name: String,
        is: Comparison,
    },
}

/// A value that a rule looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A column of the row that is read or written; also one of its key.
    Column {
        of: Version,
        column: String,
    },
    /// A column of a row that is followed by its key.
    Followed {
        row: Box<Reference>,
        column: String,
    },
    Claim(String),
    Literal(Value),
    /// The gateway's time, in milliseconds since 1970.
    Now,
    /// A part of what a log or an object is asked for.
    Part(Part),
}

/// A state of the row that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// As it will be. For reading and deleting: as it is.
    Row,
    Old,
    New,
}

/// A thing that a right of a log or of an object is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The instance of a log.
    Key,
    /// The name of a log's operation.
    Operation,
    Class,
    Id,
    Method,
}

/// A comparison with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub relation: Relation,
    pub with: Operand,
}

/// As [`iolite_values::Test`] has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    BeginsWith,
    Contains,
}

/// A column of another row, and how it compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub column: String,
    pub is: Comparison,
}

/// A row that is followed by its whole primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub when: When,
    pub table: String,
    pub key: Vec<Operand>,
}

/// Whether a transaction's own writes are in a row that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// The row before the transaction.
    At,
    /// The row with the transaction's writes.
    After,
}

/// Values of which an operand has to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// A column of all rows of a table that satisfy conditions, one of which names the caller by a claim.
    Mine {
        table: String,
        column: String,
        conditions: Vec<Asked>,
    },
    /// The texts of a claim.
    Claim(String),
    Values(Vec<Value>),
}

/// An operation that an update may do to a column, with bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    pub change: Change,
    /// All hold of the value that the operation carries. Of additions: of their sum.
    pub bounds: Vec<Comparison>,
}

/// Kinds of operations on a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    Any,
    /// A scalar or a register gets a value, or a counter a total.
    Put,
    Add,
    Insert,
    Remove,
    Append,
    SetAt,
    PutEntry,
    RemoveEntry,
    Edit,
}

impl Rule {
    /// The rules that it is made of.
    pub fn parts(&self) -> &[Rule] {
        match self {
            Rule::And(parts) | Rule::Or(parts) => parts,
            Rule::Not(part) => std::slice::from_ref(part),
            Rule::Test { .. } | Rule::In { .. } | Rule::Exists { .. } | Rule::Ops(_) | Rule::Claim { .. } => &[],
        }
    }

    /// How many tests it has: leaves, conditions of rows that are followed, and bounds of operations.
    pub fn leaves(&self) -> usize {
        let own = match self {
            Rule::And(_) | Rule::Or(_) | Rule::Not(_) => 0,
            Rule::Test { .. } | Rule::Claim { .. } => 1,
            Rule::In { of: _, set: Set::Mine { conditions, .. } } | Rule::Exists { row: _, conditions } => {
                1 + conditions.len()
            }
            Rule::In { of: _, set: Set::Claim(_) | Set::Values(_) } => 1,
            Rule::Ops(columns) => 1 + columns.values().flatten().map(|own| 1 + own.bounds.len()).sum::<usize>(),
        };
        own + self.parts().iter().map(Rule::leaves).sum::<usize>()
    }

    /// The operands of the rule itself, without those of its parts and of rows that are followed.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Rule::And(_) | Rule::Or(_) | Rule::Not(_) => Vec::new(),
            Rule::Test { of, is } => vec![of, &is.with],
            Rule::Claim { name: _, is } => vec![&is.with],
            Rule::In { of, set: Set::Mine { conditions, .. } } => [vec![of], asked(conditions)].concat(),
            Rule::In { of, set: Set::Claim(_) | Set::Values(_) } => vec![of],
            Rule::Exists { row, conditions } => [row.key.iter().collect(), asked(conditions)].concat(),
            Rule::Ops(columns) => {
                columns.values().flatten().flat_map(|own| own.bounds.iter().map(|bound| &bound.with)).collect()
            }
        }
    }
}

fn asked(conditions: &[Asked]) -> Vec<&Operand> {
    conditions.iter().map(|own| &own.is.with).collect()
}

impl Reference {
    /// How many rows are read, one after the other, to find it.
    pub fn depth(&self) -> usize {
        1 + self.key.iter().map(Operand::depth).max().unwrap_or(0)
    }
}

impl Operand {
    /// How many rows are read, one after the other, to find its value.
    pub fn depth(&self) -> usize {
        match self {
            Operand::Followed { row, column: _ } => row.depth(),
            Operand::Column { .. } | Operand::Claim(_) | Operand::Literal(_) | Operand::Now | Operand::Part(_) => 0,
        }
    }
}

impl Relation {
    pub const ALL: [Relation; 8] = [
        Relation::Equal,
        Relation::NotEqual,
        Relation::Less,
        Relation::AtMost,
        Relation::Greater,
        Relation::AtLeast,
        Relation::BeginsWith,
        Relation::Contains,
    ];
}

impl Change {
    pub const ALL: [Change; 10] = [
        Change::Any,
        Change::Put,
        Change::Add,
        Change::Insert,
        Change::Remove,
        Change::Append,
        Change::SetAt,
        Change::PutEntry,
        Change::RemoveEntry,
        Change::Edit,
    ];
}

impl Part {
    pub const ALL: [Part; 5] = [Part::Key, Part::Operation, Part::Class, Part::Id, Part::Method];
}
