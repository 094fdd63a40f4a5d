//! The rights of a schema: a rule for each thing that somebody can do.
//!
//! Invariant: what has no rule is denied.

use std::collections::BTreeMap;
use std::fmt;

use crate::Rule;

/// All rights beside one schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    pub tables: BTreeMap<String, TableRights>,
    pub logs: BTreeMap<String, LogRights>,
    pub objects: BTreeMap<String, ClassRights>,
}

/// The rights of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableRights {
    /// Everybody may do everything.
    Open,
    Rules(Box<TableRules>),
}

/// The rules of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRules {
    pub read: Option<Rule>,
    pub create: Option<Rule>,
    pub update: Option<Rule>,
    pub delete: Option<Rule>,
    /// Holds of every row that anybody creates or changes.
    pub check: Option<Rule>,
}

/// The rights of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRights {
    Open,
    Rules(Box<LogRules>),
}

/// The rules of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRules {
    /// Says who may be a member, and so read it.
    pub join: Option<Rule>,
    /// Says who may append which operation.
    pub run: Option<Rule>,
}

/// The rights of a class of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassRights {
    Open,
    Rules(Box<ClassRules>),
}

/// The rules of a class of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassRules {
    pub call: Option<Rule>,
    pub read: Option<Rule>,
    pub hold: Option<Rule>,
}

/// A thing that somebody does, and the rule that judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    Read,
    Create,
    Update,
    Delete,
    Check,
    Join,
    Run,
    Call,
    /// Have a copy of an object, for reading.
    Copy,
    Hold,
}

impl Right {
    pub const OF_TABLES: [Right; 5] = [Right::Read, Right::Create, Right::Update, Right::Delete, Right::Check];
    pub const OF_LOGS: [Right; 2] = [Right::Join, Right::Run];
    pub const OF_CLASSES: [Right; 3] = [Right::Call, Right::Copy, Right::Hold];

    /// Whether an answer about it is kept, and followed until it changes.
    pub fn is_followed(self) -> bool {
        match self {
            Right::Read | Right::Join | Right::Call | Right::Copy | Right::Hold => true,
            Right::Create | Right::Update | Right::Delete | Right::Check | Right::Run => false,
        }
    }

    /// The name of its rule.
    pub fn name(self) -> &'static str {
        match self {
            Right::Read | Right::Copy => "read",
            Right::Create => "create",
            Right::Update => "update",
            Right::Delete => "delete",
            Right::Check => "check",
            Right::Join => "join",
            Right::Run => "run",
            Right::Call => "call",
            Right::Hold => "hold",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TableRules {
    /// The rule of a right, if there is one.
    pub fn rule(&self, right: Right) -> Option<&Rule> {
        match right {
            Right::Read => self.read.as_ref(),
            Right::Create => self.create.as_ref(),
            Right::Update => self.update.as_ref(),
            Right::Delete => self.delete.as_ref(),
            Right::Check => self.check.as_ref(),
            Right::Join | Right::Run | Right::Call | Right::Copy | Right::Hold => None,
        }
    }

    pub(crate) fn place(&mut self, right: Right) -> Option<&mut Option<Rule>> {
        match right {
            Right::Read => Some(&mut self.read),
            Right::Create => Some(&mut self.create),
            Right::Update => Some(&mut self.update),
            Right::Delete => Some(&mut self.delete),
            Right::Check => Some(&mut self.check),
            Right::Join | Right::Run | Right::Call | Right::Copy | Right::Hold => None,
        }
    }
}

impl LogRules {
    /// The rule of a right, if there is one.
    pub fn rule(&self, right: Right) -> Option<&Rule> {
        match right {
            Right::Join => self.join.as_ref(),
            Right::Run => self.run.as_ref(),
            Right::Read
            | Right::Create
            | Right::Update
            | Right::Delete
            | Right::Check
            | Right::Call
            | Right::Copy
            | Right::Hold => None,
        }
    }
}

impl ClassRules {
    /// The rule of a right, if there is one.
    pub fn rule(&self, right: Right) -> Option<&Rule> {
        match right {
            Right::Call => self.call.as_ref(),
            Right::Copy => self.read.as_ref(),
            Right::Hold => self.hold.as_ref(),
            Right::Read | Right::Create | Right::Update | Right::Delete | Right::Check | Right::Join | Right::Run => {
                None
            }
        }
    }
}

impl Rights {
    /// The same rights, with rules for one more table.
    #[must_use]
    pub fn table(mut self, name: &str, rules: TableRules) -> Rights {
        self.tables.insert(name.to_owned(), TableRights::Rules(Box::new(rules)));
        self
    }

    /// The same rights, with a table where everybody may do everything.
    #[must_use]
    pub fn open(mut self, name: &str) -> Rights {
        self.tables.insert(name.to_owned(), TableRights::Open);
        self
    }

    /// The same rights, with rules for one more log.
    #[must_use]
    pub fn log(mut self, name: &str, rules: LogRules) -> Rights {
        self.logs.insert(name.to_owned(), LogRights::Rules(Box::new(rules)));
        self
    }

    /// The same rights, with rules for one more class of objects.
    #[must_use]
    pub fn class(mut self, name: &str, rules: ClassRules) -> Rights {
        self.objects.insert(name.to_owned(), ClassRights::Rules(Box::new(rules)));
        self
    }
}

impl TableRules {
    #[must_use]
    pub fn read(self, rule: Rule) -> TableRules {
        TableRules { read: Some(rule), ..self }
    }

    #[must_use]
    pub fn create(self, rule: Rule) -> TableRules {
        TableRules { create: Some(rule), ..self }
    }

    #[must_use]
    pub fn update(self, rule: Rule) -> TableRules {
        TableRules { update: Some(rule), ..self }
    }

    #[must_use]
    pub fn delete(self, rule: Rule) -> TableRules {
        TableRules { delete: Some(rule), ..self }
    }

    #[must_use]
    pub fn check(self, rule: Rule) -> TableRules {
        TableRules { check: Some(rule), ..self }
    }
}
