//! The replicas' messages.
//!
//! Invariant: the view that questions carry is one of the group that they are asked of: a replica of a later group would take a question for one of its own,
//! and its answer would count in a quorum of the group before.

use iolite_machine::Now;
use iolite_values::Timestamp;

use super::questions::{Purpose, Target};
use super::{Coordinator, Session};
use crate::node::{Answer, Ask, FromReplica, ShardId, View};

impl Coordinator {
    pub(super) fn on_message(&mut self, now: Now, message: FromReplica) {
        let FromReplica { to, from, shard, id, boot, store, view, highest, limit, answer } = message;
        if to != self.settings.id || !self.questions.is_own(id) {
            return;
        }
        self.history.get_or_insert(store);
        match answer {
            Answer::WrongStore => return self.on_wrong_store(now, Target { shard, replica: from }, store),
            Answer::Superseded { term } => return self.on_superseded(now, id, term),
            Answer::WrongEpoch(Some(group)) => return self.on_wrong_epoch(now, from, store, group),
            Answer::Ended(split) => return self.on_ended(now, &split),
            _ => {}
        }
        self.proposals.hear(now, highest);
        self.members.set_limit(from, limit);
        self.proposals.set_limit(now.instant, self.members.limit(&self.settings.shards));
        let from = Target { shard, replica: from };
        if self.is_of_later_group(shard, view) {
            // A hint: it has gone over since it was asked. What needs no answer makes it say to which group.
            return self.say(from, Ask::Open);
        }
        if view > self.view(shard) {
            self.views.insert(shard, view);
            self.on_new_view(now, shard, view);
        }
        if let Answer::Stirred { at } = answer {
            return self.on_stirred(at);
        }
        let is_of_view = matches!(answer, Answer::Voted(_) | Answer::Closed(_) | Answer::Valid(_));
        if is_of_view && view < self.view(shard) {
            // It does not know of the view that others are in. Asking again tells it.
            return self.send(id.number);
        }
        // First the answer, then the rest again: what is answered here need not be asked again.
        let fits = self.questions.find(id).is_some_and(|question| question.is_answered_by(from, &answer));
        if !fits && matches!(answer, Answer::Behind { .. }) {
            self.pass_on(now.instant, id, from);
        }
        if fits && let Some(question) = self.questions.take(id.number) {
            let asked_at = question.asked_at(from).unwrap_or(now.instant);
            self.members.on_answer(from.replica, question.work(), asked_at, now.instant);
            self.unask(id.number, question.others(Some(from)));
            match (question.purpose, answer) {
                (Purpose::Open, Answer::Opened(opened)) => self.on_opened(now, shard, from.replica, store, opened),
                (purpose, answer) => self.on_answer(now, from, view, purpose, answer),
            }
        }
        if self.members.on_boot(from.replica, boot) {
            // It has restarted: nothing that it was asked before is on its way any more.
            for number in self.questions.restart_for(now.instant, from.replica) {
                self.send(number);
            }
        }
    }

    fn is_of_later_group(&self, shard: ShardId, view: View) -> bool {
        self.settings.shards.group(shard).is_some_and(|known| view.epoch > known.epoch)
    }

    /// Something committed that this coordinator has not proposed.
    fn on_stirred(&mut self, at: Timestamp) {
        if matches!(self.session, Session::Open { .. }) {
            self.want(at);
        }
    }

    /// What was answered in earlier views is of no use any more.
    fn on_new_view(&mut self, now: Now, shard: ShardId, view: View) {
        self.vote_in_view(now, shard, view);
        self.validate_in_view(now, shard, view);
        self.close_in_view(now, shard, view);
    }

    fn on_answer(&mut self, now: Now, from: Target, view: View, purpose: Purpose, answer: Answer) {
        match (purpose, answer) {
            (Purpose::Begin, Answer::Begun) => self.on_begun(now, from.shard, from.replica),
            (Purpose::Close, Answer::Closed(closed)) => self.on_closed(now, from, view, closed),
            (Purpose::Vote { transaction, at }, answer) => self.on_vote(now, transaction, at, from, answer),
            (Purpose::Backup(id), answer) => self.on_backup_answer(now, id, from, answer),
            (Purpose::Reading { request, part }, answer) => self.on_reading(now, request, part, answer),
            (Purpose::Validation(request), Answer::Valid(valid)) => self.on_validated(now, request, from, view, valid),
            (Purpose::Validation(request), Answer::Refused(refusal)) => self.on_validation_refused(request, refusal),
            (Purpose::Acknowledge(request), Answer::Acknowledged) => self.on_acknowledged(request, from),
            (purpose, answer) => unreachable!("{purpose:?} does not accept {answer:?}"),
        }
    }
}
