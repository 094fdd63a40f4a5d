//! Questions of the door of objects: what a user may do with an object, as of the feed's position.
//!
//! Invariants: every question is answered. A yes is followed: when something that it rests on changes, or there are other rights, it is withdrawn, and
//! whoever keeps it asks again. What an answer rests on is in key sets, so a row that a rule follows by its key is followed, too.
//! Source: Iolite's own. Calls of objects commit nothing, so no read of a rule is validated: a change takes effect once this gateway has seen it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_access::User;
use iolite_rights::{Judge, Judgement, Right};
use iolite_values::ObjectName;

use crate::Gateway;
use crate::following::sets::SetUser;
use crate::interface::{AccessNews, Output};

/// Names a question. Chosen by the host, and not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RightId(pub u64);

/// A question what a user may do with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskRight {
    pub user: Arc<User>,
    pub object: ObjectName,
    /// One of those that classes have.
    pub right: Right,
    /// The method that is called.
    pub method: Option<String>,
}

/// The questions that wait for sets, and the answers that are followed.
#[derive(Debug, Default)]
pub struct Asking {
    /// Asked while the store was away.
    early: BTreeMap<RightId, AskRight>,
    waiting: BTreeMap<RightId, AskRight>,
    followed: BTreeSet<RightId>,
}

impl Asking {
    /// Whether somebody waits for an answer, or rests on one.
    pub fn has(&self, id: RightId) -> bool {
        self.waiting.contains_key(&id) || self.followed.contains(&id)
    }
}

impl Gateway {
    pub(crate) fn on_ask_right(&mut self, id: RightId, ask: AskRight) {
        if !self.home.is_serving() {
            self.asking.early.insert(id, ask);
            return;
        }
        let Some(rights) = self.catalog.rights() else {
            // A yes that rests on there being no rights is withdrawn when there are some.
            let may = !self.settings.rights_required;
            self.asking.followed.extend(may.then_some(id));
            return self.tell_right(id, may);
        };
        let judged = |judge: &Judge<'_>| judge.object(&ask.object, ask.right, ask.method.as_deref());
        let (judgement, mut rests) = self.judge_by_sets(rights, &ask.user.claims, judged);
        match judgement {
            Judgement::Allowed(_) => {
                self.asking.followed.insert(id);
                self.need_sets(SetUser::Asker(id), &rests);
                self.tell_right(id, true);
            }
            Judgement::Denied(_) => self.deny_right(id),
            Judgement::Needs(needs) => {
                let needs = needs.into_sets(self.catalog.schema());
                if needs.sets.iter().any(|set| self.sets.is_too_large(set)) {
                    return self.deny_right(id);
                }
                self.asking.waiting.insert(id, ask);
                rests.add(needs);
                self.need_sets(SetUser::Asker(id), &rests);
            }
        }
    }

    /// The store is there, perhaps: answers what was asked while it was not.
    pub(crate) fn ask_early_rights(&mut self) {
        if self.home.is_serving() {
            for (id, ask) in std::mem::take(&mut self.asking.early) {
                self.on_ask_right(id, ask);
            }
        }
    }

    /// A set is known that a question waits for.
    pub(crate) fn ask_right_again(&mut self, id: RightId) {
        if let Some(ask) = self.asking.waiting.remove(&id) {
            self.on_ask_right(id, ask);
        }
    }

    /// Forgets a question that nobody waits for, and whose answer nobody rests on.
    pub(crate) fn on_forget_right(&mut self, id: RightId) {
        self.asking.early.remove(&id);
        self.asking.waiting.remove(&id);
        self.asking.followed.remove(&id);
        self.leave_sets(SetUser::Asker(id));
    }

    /// Something has changed that an answer rests on.
    pub(crate) fn withdraw_right(&mut self, id: RightId) {
        if self.asking.followed.remove(&id) {
            self.leave_sets(SetUser::Asker(id));
            self.output(Output::Access(AccessNews::RightWithdrawn(id)));
        }
    }

    /// There are other rights, or another history of the store. What waits is asked anew.
    pub(crate) fn withdraw_rights(&mut self) {
        for id in self.asking.followed.iter().copied().collect::<Vec<_>>() {
            self.withdraw_right(id);
        }
        for (id, ask) in std::mem::take(&mut self.asking.waiting) {
            self.leave_sets(SetUser::Asker(id));
            self.on_ask_right(id, ask);
        }
    }

    /// Gives a question up, or a yes, since the store cannot read what it rests on.
    pub(crate) fn give_up_right(&mut self, id: RightId) {
        match self.asking.waiting.remove(&id) {
            Some(_) => self.deny_right(id),
            None => self.withdraw_right(id),
        }
    }

    fn deny_right(&mut self, id: RightId) {
        self.leave_sets(SetUser::Asker(id));
        self.tell_right(id, false);
    }

    fn tell_right(&mut self, id: RightId, may: bool) {
        self.output(Output::Access(AccessNews::May(id, may)));
    }
}
