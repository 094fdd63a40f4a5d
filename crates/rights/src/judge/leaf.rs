//! Tests: an operand, and what it is compared with.

use iolite_values::{Test, Value};

use super::Needs;
use super::outcome::Outcome;
use super::scene::Scene;
use super::view::{Seen, View};
use crate::{Asked, Claim, Comparison, Operand, Reference, Relation};

impl Relation {
    /// The test of a query that is meant. None: an order has no place for null, and only a text has a beginning.
    pub(crate) fn test(self, with: Value) -> Option<Test> {
        match (self, with) {
            (Relation::Equal, value) => Some(Test::Equal(value)),
            (Relation::NotEqual, value) => Some(Test::NotEqual(value)),
            (Relation::Contains, value) => Some(Test::Contains(value)),
            (Relation::BeginsWith, Value::String(text)) => Some(Test::BeginsWith(text)),
            (Relation::BeginsWith, _) => None,
            (Relation::Less | Relation::AtMost | Relation::Greater | Relation::AtLeast, Value::Null) => None,
            (Relation::Less, value) => Some(Test::Less(value)),
            (Relation::AtMost, value) => Some(Test::AtMost(value)),
            (Relation::Greater, value) => Some(Test::Greater(value)),
            (Relation::AtLeast, value) => Some(Test::AtLeast(value)),
        }
    }
}

impl Scene<'_> {
    pub(super) fn test(&self, of: &Operand, is: &Comparison, negated: bool) -> Outcome {
        if is.relation == Relation::Contains {
            return self.with_value(&is.with, |member| self.has_member(of, member), negated);
        }
        match self.value(of) {
            Ok(seen) => self.compare(seen, is, negated),
            Err(needs) => Outcome::unknown(needs),
        }
    }

    pub(super) fn claim(&self, name: &str, is: &Comparison, negated: bool) -> Outcome {
        self.test(&Operand::Claim(name.to_owned()), is, negated)
    }

    pub(super) fn exists(&self, row: &Reference, conditions: &[Asked], negated: bool) -> Outcome {
        let followed = match self.follow(row) {
            Ok(followed) => followed,
            Err(needs) => return Outcome::unknown(needs),
        };
        let Some(view) = followed.value else { return Outcome::missing(followed.reads) };
        let found = [followed.reads.clone(), view.presence()].concat();
        if !view.is_there() {
            return Outcome::known(negated, found);
        }
        if conditions.is_empty() {
            return Outcome::known(!negated, found);
        }
        let outcome = Outcome::joined(conditions.iter().map(|asked| self.asked(&view, asked, negated)), negated);
        // A look at a cell tells of its row's life, too.
        let reads = if view.has_cell_among(&outcome.reads) { followed.reads } else { found };
        Outcome { reads: [reads, outcome.reads].concat(), ..outcome }
    }

    /// A column of a row that is there, compared.
    fn asked(&self, view: &View<'_>, asked: &Asked, negated: bool) -> Outcome {
        if asked.is.relation == Relation::Contains {
            return self.with_value(&asked.is.with, |member| Ok(view.has_member(&asked.column, member)), negated);
        }
        self.compare(view.value(&asked.column), &asked.is, negated)
    }

    /// Compares a value that was seen. What is missing on either side satisfies nothing.
    pub(super) fn compare(&self, seen: Seen<Value>, is: &Comparison, negated: bool) -> Outcome {
        let Some(value) = seen.value else { return Outcome::missing(seen.reads) };
        let with = match self.value(&is.with) {
            Ok(with) => with,
            Err(needs) => return Outcome::unknown(needs),
        };
        let Some(test) = with.value.and_then(|with| is.relation.test(with)) else {
            return Outcome::missing(with.reads);
        };
        Outcome::known(test.holds(&value) != negated, [seen.reads, with.reads].concat())
    }

    /// Asks something of a value, if it is there.
    fn with_value(
        &self,
        operand: &Operand,
        ask: impl FnOnce(&Value) -> Result<Seen<bool>, Needs>,
        negated: bool,
    ) -> Outcome {
        let with = match self.value(operand) {
            Ok(with) => with,
            Err(needs) => return Outcome::unknown(needs),
        };
        let Some(value) = with.value else { return Outcome::missing(with.reads) };
        match ask(&value) {
            Ok(Seen { value: Some(has), reads }) => Outcome::known(has != negated, [with.reads, reads].concat()),
            Ok(Seen { value: None, reads }) => Outcome::missing([with.reads, reads].concat()),
            Err(needs) => Outcome::unknown(needs),
        }
    }

    fn has_member(&self, of: &Operand, member: &Value) -> Result<Seen<bool>, Needs> {
        match of {
            Operand::Column { of, column } => {
                Ok(self.version(*of).map_or(Seen::constant(None), |view| view.has_member(column, member)))
            }
            Operand::Followed { row, column } => {
                let followed = self.follow(row)?;
                let Some(view) = followed.value else { return Ok(Seen { value: None, reads: followed.reads }) };
                let seen = view.has_member(column, member);
                Ok(Seen { reads: [followed.reads, seen.reads].concat(), ..seen })
            }
            Operand::Claim(name) => Ok(Seen::constant(match (self.judge.claims.get(name), member) {
                (Some(Claim::Texts(texts)), Value::String(text)) => Some(texts.contains(&**text)),
                (Some(_) | None, _) => None,
            })),
            Operand::Literal(_) | Operand::Now | Operand::Part(_) => Ok(Seen::constant(None)),
        }
    }
}
