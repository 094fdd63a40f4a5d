//! Rights: which rows a user may read and write, as data that servers judge.
//!
//! [`Rights`] stand beside the schema. [`Rights::problems`] says what is wrong with them before they are in effect. [`Judge`] judges what a
//! transaction does, and names the reads that its answer rests on. [`Judge::effective`] makes query conditions of a read rule.
//! [`Trial`] is the judge over a small store in memory, for the tests of an app.
//!
//! Invariants, one a file: a rule without an answer denies ([`judge`]); nothing that is missing satisfies a test, nor its negation
//! ([`judge::outcome`]); a row is judged by what is done to it in the end ([`judge::deeds`]); a query and the evaluator agree ([`effective`]).
//! Source: Diamond's lists per table (Zhang 2017, 3.2.7), taken down to rows; judged at the cloud's edge, as in SwiftCloud.

#[cfg(test)]
mod agree;
mod build;
mod check;
mod claims;
#[cfg(test)]
mod drawn;
mod effective;
mod json;
mod judge;
mod limits;
mod rights;
mod rule;
mod trial;
mod words;

pub use build::{
    after, at, class_name, everybody, flag, key, list_has, method, mine, new, nobody, now, object_id, old, operation,
    ops, row, user, value,
};
pub use check::{Context, Problem};
pub use claims::{Claim, ClaimType, Claims, SUBJECT};
pub use effective::Effective;
pub use json::RightsError;
pub use judge::{Denial, Explained, Explanation, Judge, Judgement, Needs, RowName, Rows, Why};
pub use rights::{ClassRights, ClassRules, LogRights, LogRules, Right, Rights, TableRights, TableRules};
pub use rule::{Allowed, Asked, Change, Comparison, Operand, Part, Reference, Relation, Rule, Set, Version, When};
pub use trial::{Caller, Mistake, Trial, Wanted};
