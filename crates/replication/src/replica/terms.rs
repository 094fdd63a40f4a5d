//! Lives of coordinators: what an earlier one proposed is refused once a later one has registered.
//!
//! Invariant: the term of a coordinator only rises, and each has one life.
//! Source: client recovery in TAPIR (TOCS 2018) 3.2.3: so a new life can propose above all that earlier ones may still commit, and no
//! timestamp is given twice.

use std::collections::BTreeMap;

use iolite_machine::PersistId;
use iolite_values::CoordinatorId;

use super::Replica;
use crate::journal::JournalRecord;
use crate::node::{Answer, Life, Opened, Registered, Term};

pub(super) type Terms = BTreeMap<CoordinatorId, (Term, Life)>;

impl Replica {
    pub(super) fn on_open(&mut self, from: CoordinatorId) -> (PersistId, Answer) {
        let term = self.terms.get(&from).map_or(Term(0), |(term, _)| *term);
        let prepared = self.prepared.ids().next_back().map(|id| id.at);
        let latest = prepared.max(self.versions.last_commit()).unwrap_or_default();
        let opened = Opened { term, complete: self.complete(), latest };
        (self.barrier_after.max(self.complete_after), Answer::Opened(opened))
    }

    pub(super) fn on_begin(&mut self, from: CoordinatorId, term: Term, life: Life) -> (PersistId, Answer) {
        match self.superseded(from, term, life) {
            None => (self.persisted, Answer::Begun),
            Some(answer) => (PersistId::START, answer),
        }
    }

    /// The term of a later life, so that an earlier one is told at whatever it asks: two processes under one id do not go on side by side.
    pub(super) fn later_term(&self, from: CoordinatorId, term: Term) -> Option<Term> {
        self.terms.get(&from).map(|(known, _)| *known).filter(|known| *known > term)
    }

    /// Registers a life that is newer than the known one. Says what to answer to an older one.
    pub(super) fn superseded(&mut self, from: CoordinatorId, term: Term, life: Life) -> Option<Answer> {
        match self.terms.get(&from) {
            Some((known, known_life)) if (*known, *known_life) == (term, life) => None,
            Some((known, _)) if *known >= term => Some(Answer::Superseded { term: *known }),
            Some(_) | None => {
                self.terms.insert(from, (term, life));
                self.persist(&JournalRecord::Term(Registered { coordinator: from, term, life }));
                None
            }
        }
    }

    pub(super) fn terms_in_order(&self) -> Vec<Registered> {
        let terms = self.terms.iter();
        terms
            .map(|(coordinator, (term, life))| Registered { coordinator: *coordinator, term: *term, life: *life })
            .collect()
    }

    /// What others know of lives, for a new view: a replica that is new in the group has to refuse what the others do.
    pub(super) fn register_all(&mut self, terms: &[Registered]) {
        for Registered { coordinator, term, life } in terms {
            let known = self.terms.entry(*coordinator).or_insert((*term, *life));
            if known.0 < *term {
                *known = (*term, *life);
            }
        }
    }
}
