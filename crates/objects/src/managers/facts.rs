//! Kinds of managers: the part of a call's way that each does, and the facts that say which of them fit together.
//!
//! Invariants: an object has at most one manager for each part, from the outermost to the innermost; the rules stand here once, for the compiler, for hosts
//! and for servers.

use std::fmt;

/// The part of the work that a manager does, from the outermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// How often a call is sent.
    Delivery,
    /// Several calls as one.
    Transaction,
    /// Copies at callers.
    Cache,
    /// The order of calls at the object.
    Serial,
    /// States that outlive the object's node.
    Storage,
    /// Several instances.
    Replication,
    /// Where the object lives.
    Placement,
}

/// Something that a manager does, on which it depends whether others fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// A call may run more than once.
    MayRepeat,
    /// Methods run at their callers.
    ExecutesAtCaller,
    /// Copies that are not kept the same.
    CopiesWithoutConsistency,
    /// Copies that are never read after a write has returned.
    CoherentCopies,
    /// The one instance moves.
    Moves,
    /// Methods that write are refused.
    RefusesWrites,
    /// The object is never begun anew.
    NeverAnew,
    /// Only nodes of the service have it.
    ServiceOnly,
}

/// A kind of manager: all that others have to know of it before it runs. `Manager::KIND` is one, so that the compiler can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name in the line above a class, and in the rows of its objects. Letters and digits: all programs of a service know the manager by it.
    pub name: &'static str,
    /// The part of the work that the manager does. No two managers of an object have the same one.
    pub slot: Slot,
    /// The facts on which it depends whether the manager fits beside others.
    pub facts: &'static [Fact],
    /// The settings that the manager takes: their names, and the values that they have if none is given.
    pub settings: &'static [(&'static str, u64)],
}

impl Kind {
    const fn has(&self, fact: Fact) -> bool {
        let mut at = 0;
        while at < self.facts.len() {
            if self.facts[at] as u8 == fact as u8 {
                return true;
            }
            at += 1;
        }
        false
    }
}

impl Slot {
    /// The part of the work, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Slot::Delivery => "delivery",
            Slot::Transaction => "transactions",
            Slot::Cache => "caching",
            Slot::Serial => "order",
            Slot::Storage => "storage",
            Slot::Replication => "replication",
            Slot::Placement => "placement",
        }
    }
}

/// Two managers that an object cannot have both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The name of the one.
    pub one: &'static str,
    /// The name of the other.
    pub other: &'static str,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    SameSlot(Slot),
    Rule(&'static str),
}

impl Misfit {
    /// The message in pieces: the compiler can join no texts.
    pub const fn words(&self) -> [&'static str; 6] {
        let Misfit { one, other, why } = *self;
        match why {
            Why::SameSlot(slot) => [one, " and ", other, " both do ", slot.name(), ": take one of them"],
            Why::Rule(rule) => [one, " and ", other, " do not fit together: ", rule, ". Take one of them"],
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().into_iter().try_for_each(|word| f.write_str(word))
    }
}

/// The first two of these managers that do not fit together. None: they all fit.
pub const fn misfit(kinds: &[&Kind]) -> Option<Misfit> {
    let mut first = 0;
    while first < kinds.len() {
        let mut second = first + 1;
        while second < kinds.len() {
            if let Some(why) = misfit_of(kinds[first], kinds[second]) {
                return Some(Misfit { one: kinds[first].name, other: kinds[second].name, why });
            }
            second += 1;
        }
        first += 1;
    }
    None
}

const fn misfit_of(one: &Kind, other: &Kind) -> Option<Why> {
    if one.slot as u8 == other.slot as u8 {
        return Some(Why::SameSlot(one.slot));
    }
    match (broken_rule(one, other), broken_rule(other, one)) {
        (Some(rule), _) | (None, Some(rule)) => Some(Why::Rule(rule)),
        (None, None) => None,
    }
}

/// The rule by which a manager excludes another one.
const fn broken_rule(one: &Kind, other: &Kind) -> Option<&'static str> {
    let is_replicated = matches!(one.slot, Slot::Replication);
    if one.has(Fact::ExecutesAtCaller) && matches!(other.slot, Slot::Serial | Slot::Replication | Slot::Transaction) {
        Some("methods run at their callers, so nothing can order, replicate or bundle them at the object")
    } else if is_replicated && one.has(Fact::CopiesWithoutConsistency) && needs_one_state(other) {
        Some("copies that are not kept the same have no one state to order, store, cache or change in a transaction")
    } else if one.has(Fact::Moves) && matches!(other.slot, Slot::Replication) {
        Some("an object with several instances has none that could move")
    } else if matches!((one.slot, other.slot), (Slot::Transaction, Slot::Cache)) {
        // The commit of a transaction would pass by the caches, and its copy would be theirs.
        Some("a node has one copy of an object: a transaction runs on it, so no cache can have it too")
    } else if one.has(Fact::RefusesWrites) && matches!(other.slot, Slot::Transaction | Slot::Serial | Slot::Storage) {
        Some("an object that never changes needs no transactions, no order and no storage")
    } else {
        None
    }
}

/// The manager works on the one state that an object has.
const fn needs_one_state(kind: &Kind) -> bool {
    match kind.slot {
        Slot::Transaction | Slot::Serial | Slot::Storage => true,
        Slot::Cache => !kind.has(Fact::RefusesWrites),
        Slot::Delivery | Slot::Replication | Slot::Placement => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn kind(name: &'static str, slot: Slot, facts: &'static [Fact]) -> Kind {
        Kind { name, slot, facts, settings: &[] }
    }

    const CACHES: [&[Fact]; 4] = [&[Fact::CoherentCopies], &[Fact::ExecutesAtCaller], &[Fact::RefusesWrites], &[]];

    #[test]
    fn transactions_and_caches_do_not_fit_together() {
        let transactions = kind("T", Slot::Transaction, &[]);
        let delivery = kind("D", Slot::Delivery, &[Fact::MayRepeat]);
        for facts in CACHES {
            let cache = kind("C", Slot::Cache, facts);
            assert!(misfit(&[&transactions, &cache]).is_some() && misfit(&[&cache, &transactions]).is_some());
            assert_eq!(misfit(&[&delivery, &cache]), None);
        }
    }

    #[test]
    fn each_rule_excludes_what_it_says_and_nothing_else() {
        let slots = [
            Slot::Delivery,
            Slot::Transaction,
            Slot::Cache,
            Slot::Serial,
            Slot::Storage,
            Slot::Replication,
            Slot::Placement,
        ];
        let excluded = |one: Kind| -> String {
            let others = slots.into_iter().filter(|slot| misfit(&[&one, &kind("other", *slot, &[])]).is_some());
            others.map(Slot::name).collect::<Vec<_>>().join(" ")
        };
        let of = |slot, facts| excluded(kind("one", slot, facts));
        assert_eq!(of(Slot::Cache, &[]), "transactions caching");
        assert_eq!(of(Slot::Cache, &[Fact::ExecutesAtCaller]), "transactions caching order replication");
        assert_eq!(of(Slot::Cache, &[Fact::RefusesWrites]), "transactions caching order storage");
        assert_eq!(of(Slot::Placement, &[Fact::Moves]), "replication placement");
        let copies: &[Fact] = &[Fact::CopiesWithoutConsistency];
        assert_eq!(of(Slot::Replication, copies), "transactions caching order storage replication");
        assert_eq!(of(Slot::Replication, &[]), "replication");
        let front = kind("Front", Slot::Replication, copies);
        assert_eq!(misfit(&[&kind("I", Slot::Cache, &[Fact::RefusesWrites]), &front]), None);
    }
}
