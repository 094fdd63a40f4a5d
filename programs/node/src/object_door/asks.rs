//! Questions of the door to the gateway: what the user of a session may do with an object.
//!
//! Invariants: one question for each session, object and right at a time. A yes that the gateway follows has a name here, until the session ends or the
//! gateway withdraws it.

use std::collections::BTreeMap;

use iolite_gateway::RightId;
use iolite_objects::{MayId, Right, SessionId};
use iolite_values::ObjectName;

/// The thing that is asked about.
pub(super) type Asked = (SessionId, ObjectName, Right);

#[derive(Debug, Default)]
pub(super) struct Asks {
    last: u64,
    /// Questions without an answer, and all who wait.
    waiting: BTreeMap<RightId, Vec<MayId>>,
    asked: BTreeMap<RightId, Asked>,
    names: BTreeMap<Asked, RightId>,
}

impl Asks {
    /// A new question, and the one before about the same, whose answer nobody rests on any more. None: the same is asked already, and its answer is waited
    /// for.
    pub fn begin(&mut self, waits: MayId, asked: Asked) -> Option<(RightId, Option<RightId>)> {
        if let Some(all) = self.names.get(&asked).and_then(|id| self.waiting.get_mut(id)) {
            all.push(waits);
            return None;
        }
        self.last += 1;
        let id = RightId(self.last);
        self.waiting.insert(id, vec![waits]);
        self.asked.insert(id, asked.clone());
        let before = self.names.insert(asked, id);
        before.iter().for_each(|before| drop(self.asked.remove(before)));
        Some((id, before))
    }

    /// Takes an answer. Returns all who wait for it.
    pub fn answered(&mut self, id: RightId, may: bool) -> Vec<MayId> {
        if !may {
            self.withdrawn(id);
        }
        self.waiting.remove(&id).unwrap_or_default()
    }

    #[cfg(test)]
    pub fn clone_of_waiting(&self, id: RightId) -> Vec<MayId> {
        self.waiting.get(&id).cloned().unwrap_or_default()
    }

    /// The gateway follows an answer no more. Returns what it was about.
    pub fn withdrawn(&mut self, id: RightId) -> Option<Asked> {
        let asked = self.asked.remove(&id)?;
        self.names.remove(&asked);
        Some(asked)
    }

    /// A session has ended. Returns the questions that it had asked.
    pub fn forget(&mut self, session: SessionId) -> Vec<RightId> {
        let of_it: Vec<(Asked, RightId)> = self
            .names
            .iter()
            .filter(|((own, ..), _)| *own == session)
            .map(|(asked, id)| (asked.clone(), *id))
            .collect();
        for (asked, id) in &of_it {
            self.names.remove(asked);
            self.asked.remove(id);
            self.waiting.remove(id);
        }
        of_it.into_iter().map(|(_, id)| id).collect()
    }
}
