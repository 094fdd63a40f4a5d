//! The replica's messages.

use std::sync::Arc;

use iolite_machine::Now;
use iolite_store::{CommitReply, Event, Refusal, Reply, RequestId};
use iolite_values::{StoreIncarnation, Timestamp, Transaction};

use super::questions::Purpose;
use super::{Coordinator, CoordinatorOutput, Session};
use crate::messages::{Answer, Ask, Boot, FromReplica, Prepared};

impl Coordinator {
    pub(super) fn on_message(&mut self, now: Now, message: FromReplica) {
        let FromReplica { to, id, boot, store, highest, limit, answer } = message;
        if to != self.settings.id || !self.questions.is_own(id) {
            return;
        }
        if answer == Answer::WrongStore {
            return self.on_wrong_store(now, store);
        }
        self.proposals.see(highest);
        self.proposals.set_limit(limit);
        // First the answer, then the rest again: what is answered here need not be asked again.
        let purpose = self.questions.find(id).filter(|purpose| purpose.accepts(&answer)).cloned();
        if let Some(purpose) = purpose {
            self.questions.take(id);
            match (purpose, answer) {
                (Purpose::Open, Answer::Opened { resolved }) => self.on_opened(now, store, boot, resolved),
                (Purpose::Close, Answer::Closed(closed)) => self.on_closed(now, closed, highest),
                (purpose, answer) => self.on_answer(now, purpose, answer),
            }
        }
        self.on_boot(now, boot);
    }

    fn on_answer(&mut self, now: Now, purpose: Purpose, answer: Answer) {
        match (purpose, answer) {
            (Purpose::Commit { request, transaction, floor }, Answer::Prepared(prepared)) => {
                self.on_prepared(now, request, transaction, floor, prepared);
            }
            (Purpose::Commit { request, transaction, floor }, Answer::Refused(refusal)) => {
                self.on_proposal_refused(now, request, transaction, floor, refusal);
            }
            (Purpose::Read(request), Answer::Read(read)) => self.answer(request, Reply::ReadAt(read)),
            (Purpose::Changes(request), Answer::Changes(changes)) => self.answer(request, Reply::Changes(changes)),
            (Purpose::Acknowledge(request), Answer::Acknowledged) => self.answer(request, Reply::Acknowledged),
            (Purpose::Read(request) | Purpose::Changes(request), Answer::Refused(refusal)) => {
                self.answer(request, Reply::Refused(refusal));
            }
            (purpose, answer) => unreachable!("{purpose:?} does not accept {answer:?}"),
        }
    }

    fn on_prepared(
        &mut self,
        now: Now,
        request: RequestId,
        transaction: Arc<Transaction>,
        floor: Timestamp,
        prepared: Prepared,
    ) {
        let reply = match prepared {
            Prepared::Retry { above } => {
                self.proposals.see(above);
                return self.propose(now, request, transaction, floor);
            }
            Prepared::Completed(completion) => {
                // An abort has no writes, but its outcome waits for the feed as well.
                self.feed.want(completion.at);
                CommitReply::Completed(completion)
            }
            Prepared::Conflict { at_least } => {
                // The client can only run again once the feed has brought it there.
                self.feed.want(at_least);
                CommitReply::Conflict { at_least }
            }
            Prepared::Forgotten => CommitReply::Forgotten,
        };
        self.answer(request, Reply::Commit(reply));
    }

    fn on_proposal_refused(
        &mut self,
        now: Now,
        request: RequestId,
        transaction: Arc<Transaction>,
        floor: Timestamp,
        refusal: Refusal,
    ) {
        match refusal {
            Refusal::TooFarAhead { limit, .. } => {
                self.proposals.give_up_above_limit();
                if floor.next_for(self.settings.id) <= limit {
                    self.propose(now, request, transaction, floor);
                } else {
                    self.answer(request, Reply::Refused(refusal));
                }
            }
            Refusal::NotResolved { .. }
            | Refusal::Type { .. }
            | Refusal::TransactionTooLarge { .. }
            | Refusal::RowTooLarge { .. } => {
                self.answer(request, Reply::Refused(refusal));
            }
        }
    }

    fn on_opened(&mut self, now: Now, store: StoreIncarnation, boot: Boot, resolved: Timestamp) {
        self.session = Session::Open { store, boot };
        self.feed.begin(now.instant, resolved);
        self.emit(CoordinatorOutput::Event(Event::Ready { store, resolved }));
        self.send_all_again(now);
        self.begin_waiting(now);
    }

    /// The replica has restarted: nothing that it was asked before is on its way any more.
    fn on_boot(&mut self, now: Now, boot: Boot) {
        if let Session::Open { store, boot: known } = self.session
            && boot != known
        {
            self.session = Session::Open { store, boot };
            self.send_all_again(now);
        }
    }

    fn on_wrong_store(&mut self, now: Now, actual: StoreIncarnation) {
        match self.session {
            Session::Open { store, boot: _ } if store != actual => self.reopen(now),
            Session::Open { .. } | Session::Opening => {}
        }
    }

    /// Begins the feed anew. Open requests go on, and find out for themselves what the history that is there now makes of them.
    pub(super) fn reopen(&mut self, now: Now) {
        self.session = Session::Opening;
        self.questions.drop_all(&Purpose::Close);
        self.feed.stop(now.instant);
        self.ask(now, Purpose::Open, Ask::Open);
    }

    fn answer(&mut self, request: RequestId, reply: Reply) {
        self.emit(CoordinatorOutput::Event(Event::Reply(request, reply)));
    }
}
