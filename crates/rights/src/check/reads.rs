//! Read rules: whether they can be conditions of a query.

use super::Checker;
use crate::{Rule, Set};

impl Checker<'_> {
    /// A rule of which nothing is known beforehand has no more alternatives than a query can have.
    pub(super) fn alternatives(&mut self, rule: &Rule) {
        let parts = match rule {
            Rule::And(parts) => &parts[..],
            Rule::Or(_)
            | Rule::Not(_)
            | Rule::Test { .. }
            | Rule::In { .. }
            | Rule::Exists { .. }
            | Rule::Ops(_)
            | Rule::Claim { .. } => std::slice::from_ref(rule),
        };
        if parts.iter().any(|part| count(part, false) > Rule::ALTERNATIVES_MAX) {
            let most = Rule::ALTERNATIVES_MAX;
            self.found(format!("it has more than {most} alternatives when it is written as a query: shorten it"));
        }
    }
}

/// How many alternatives a rule has, each made of tests that all hold.
fn count(rule: &Rule, negated: bool) -> usize {
    let sum = |parts: &[Rule]| parts.iter().map(|part| count(part, negated)).fold(0, usize::saturating_add);
    let product = |parts: &[Rule]| parts.iter().map(|part| count(part, negated)).fold(1, usize::saturating_mul);
    match rule {
        Rule::And(parts) if negated => sum(parts),
        Rule::And(parts) => product(parts),
        Rule::Or(parts) if negated => product(parts),
        Rule::Or(parts) => sum(parts),
        Rule::Not(part) => count(part, !negated),
        // A claim is known before there is a query.
        Rule::In { of: _, set: Set::Mine { .. } | Set::Claim(_) | Set::Values(_) }
        | Rule::Test { .. }
        | Rule::Exists { .. }
        | Rule::Ops(_)
        | Rule::Claim { .. } => 1,
    }
}
