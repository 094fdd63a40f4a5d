//! Outcomes: whether a rule holds, and the reads that this rests on.
//!
//! Invariant: what is missing (a claim, a column of a row that is not there) satisfies no test, nor the negation of one. So `not` is pushed down to
//! the tests, and a rule never holds because something is missing. Only `exists` asks whether a row is there, so its negation holds of one that is not.

use iolite_values::Read;

use super::Needs;
use super::scene::Scene;
use crate::Rule;

#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// None: it is not known yet.
    pub(super) holds: Option<bool>,
    pub(super) reads: Vec<Read>,
    pub(super) needs: Needs,
}

impl Outcome {
    pub(super) fn known(holds: bool, reads: Vec<Read>) -> Outcome {
        Outcome { holds: Some(holds), reads, needs: Needs::default() }
    }

    /// The outcome of what is missing.
    pub(super) fn missing(reads: Vec<Read>) -> Outcome {
        Outcome::known(false, reads)
    }

    pub(super) fn unknown(needs: Needs) -> Outcome {
        Outcome { holds: None, reads: Vec::new(), needs }
    }

    /// All of them (`decisive` is false), or any of them (`decisive` is true). One that decides is enough, and the answer rests on it alone.
    pub(super) fn joined(parts: impl Iterator<Item = Outcome>, decisive: bool) -> Outcome {
        let mut all = Outcome::known(!decisive, Vec::new());
        for part in parts {
            match part.holds {
                Some(holds) if holds == decisive => return part,
                Some(_) => all.reads.extend(part.reads),
                None => {
                    all.holds = None;
                    all.needs.add(part.needs);
                }
            }
        }
        all
    }
}

impl Scene<'_> {
    /// Whether a rule holds, or its negation does.
    pub(super) fn outcome(&self, rule: &Rule, negated: bool) -> Outcome {
        match rule {
            Rule::And(parts) => Outcome::joined(parts.iter().map(|part| self.outcome(part, negated)), negated),
            Rule::Or(parts) => Outcome::joined(parts.iter().map(|part| self.outcome(part, negated)), !negated),
            Rule::Not(part) => self.outcome(part, !negated),
            Rule::Test { of, is } => self.test(of, is, negated),
            Rule::In { of, set } => self.within(of, set, negated),
            Rule::Exists { row, conditions } => self.exists(row, conditions, negated),
            Rule::Ops(columns) => self.operations(columns, negated),
            Rule::Claim { name, is } => self.claim(name, is, negated),
        }
    }
}
