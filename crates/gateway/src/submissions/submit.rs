//! Mutations of all domains: checked, handed to the store in order, and answered when the feed contains what became of them. What a domain asks of the
//! store, and what the reply means, is in a file of its own ([`super::strong`]).
//!
//! Invariant: the outcome of an attempt is told in, or after, the advance that contains the state it speaks of: the commit itself, or what
//! it conflicted with.

use iolite_machine::{Now, WallTime};
use iolite_store::{Commit, CommitReply, Refusal};
use iolite_values::{
    Attempt, ClientId, Counter, Decision, Domain, LaneNumber, LogCheckpoint, Schema, Timestamp, Transaction,
};
use iolite_wire::message::{FromGateway, Outcome, Rejection, Submit, Verdict};

use crate::interface::Broken;
use crate::limits;
use crate::sessions::farewell::{Farewell, shortened};
use crate::store::Purpose;
use crate::submissions::causal;
use crate::submissions::lane::{InFlight, Waiting};
use crate::submissions::leases;
use crate::submissions::log;
use crate::submissions::order::OutOfLane;
use crate::submissions::rows;
use crate::submissions::strong::{self, Fault, Meaning};
use crate::{Gateway, SessionId, size};

impl Gateway {
    pub(crate) fn on_submit(&mut self, now: Now, id: SessionId, submit: Submit) {
        // One that writes to two domains is refused for that, in whatever lane.
        let written = self.catalog.schema().domain_of(submit.decision.writes()).ok().flatten();
        let Some(open) = self.open_mut(id) else { return };
        match open.lanes.enter(submit.lane, written) {
            Ok(domain) => self.submit_in(now, id, domain, submit),
            Err(fault @ OutOfLane::TooMany) => self.end(id, &Farewell::Limit(fault.to_string())),
            Err(fault @ OutOfLane::OtherDomain) => self.end(id, &Farewell::Protocol(fault.to_string())),
        }
    }

    /// Takes a submission whose lane is of this domain.
    pub(crate) fn submit_in(&mut self, now: Now, id: SessionId, domain: Domain, submit: Submit) {
        let Some(open) = self.open(id) else { return };
        let (client, device) = (open.client, open.device);
        let (lane, follows) = (submit.lane, submit.follows);
        if let Some(through) = submit.acknowledged {
            self.on_acknowledge(id, through);
        }
        let transaction = match &domain {
            Domain::Strong | Domain::Rows(_) | Domain::Causal => {
                strong::transaction(client, submit, self.catalog.schema(), self.settings.without)
            }
            Domain::Log(_) => log::transaction(client, submit),
        };
        let bytes = size::transaction(&transaction);
        match self.judge(now.wall, device, &transaction, bytes) {
            Judgement::NoMutation => {
                let problem = "mutations and attempts are counted from 1".to_owned();
                return self.end(id, &Farewell::Protocol(problem));
            }
            Judgement::NotYet(problem) => return self.end(id, &Farewell::Unavailable(problem)),
            Judgement::OfNoHistory(position) if self.has_room(id, client, 0) => {
                let verdict = Verdict::Conflict(position);
                let (counter, attempt) = (transaction.id.counter, transaction.attempt);
                self.note_end(id, lane, counter, position, &verdict);
                let outcome = Outcome { counter, attempt, verdict };
                return self.settle(now, id, Timestamp::ZERO, outcome);
            }
            Judgement::Invalid(reason) if self.has_room(id, client, 0) => {
                if (self.group.is_some() || domain == Domain::Causal) && self.settings.broken != Broken::RecordRefusal {
                    let verdict = Verdict::Rejected(Rejection::Invalid(reason));
                    return self.tell_unrecorded(now, id, lane, &transaction, verdict);
                }
                return self.enqueue(
                    now,
                    client,
                    lane,
                    Waiting::refused(domain, transaction, Rejection::Invalid(reason)),
                );
            }
            // The client gives up a call of its own accord, which it may have sent to another data centre.
            Judgement::Fits if self.group.is_some() && matches!(transaction.decision, Decision::Abort(_)) => {
                return self.tell_unrecorded(now, id, lane, &transaction, Verdict::Aborted);
            }
            Judgement::Fits if self.has_room(id, client, bytes) => {
                return self.enqueue(now, client, lane, Waiting::new(domain, transaction, follows));
            }
            Judgement::OfNoHistory(_) | Judgement::Invalid(_) | Judgement::Fits => {}
        }
        let (count, size) = (limits::SUBMITS_OPEN_MAX, limits::SUBMITS_OPEN_BYTES_MAX);
        let problem = format!("more than {count} mutations or {size} bytes wait here: wait for their outcomes");
        self.end(id, &Farewell::Limit(problem));
    }

    /// Tells that a transaction of tables that merge is refused, or given up, and has nothing recorded. Another data centre may have taken its effects: with
    /// a record this one would have the abort for good, and the other ones the effects. What a courier brings under its id stands.
    pub(crate) fn tell_unrecorded(
        &mut self,
        now: Now,
        session: SessionId,
        lane: LaneNumber,
        transaction: &Transaction,
        verdict: Verdict,
    ) {
        let (counter, attempt) = (transaction.id.counter, transaction.attempt);
        if let Some(open) = self.open_mut(session) {
            open.lanes.ended(lane, counter, Timestamp::ZERO, &verdict);
        }
        self.settle(now, session, Timestamp::ZERO, Outcome { counter, attempt, verdict });
    }

    fn enqueue(&mut self, now: Now, client: ClientId, lane: LaneNumber, waiting: Waiting) {
        self.lanes.push(client, lane, waiting);
        self.hand_over(now, client, lane);
    }

    /// Tells a client what became of a mutation, if it is not to be judged again ([`Gateway::judges_again`]).
    pub(crate) fn on_commit_reply(
        &mut self,
        now: Now,
        client: ClientId,
        lane: LaneNumber,
        counter: Counter,
        reply: &CommitReply,
    ) {
        let Some(in_flight) = self.lanes.finish(client, lane, counter) else { return };
        let meaning = match &in_flight.waiting.domain {
            Domain::Strong | Domain::Log(_) | Domain::Rows(_) | Domain::Causal => {
                strong::meaning(reply, &in_flight.waiting)
            }
        };
        let Meaning::Outcome { at, attempt, verdict } = meaning else {
            self.leave_in_doubt(in_flight.session, counter);
            return self.hand_over(now, client, lane);
        };
        if self.settings.broken == Broken::PublishPastResolved {
            self.publish_reply(now, in_flight, &verdict);
        }
        // Perhaps another session than the one that submitted it, whose client waits for it as well.
        if let Some(session) = self.clients.get(&client).copied() {
            self.note_end(session, lane, counter, at, &verdict);
            if self.group.is_some() && at > self.position() && matches!(verdict, Verdict::Committed(_)) {
                self.say(session, FromGateway::Stored(counter));
            }
            self.settle(now, session, at, Outcome { counter, attempt, verdict });
        }
        self.hand_over(now, client, lane);
    }

    /// The store cannot tell what became of a mutation. Its session is told so, and sends it again, as it is, when it is back: here, or where the store
    /// is heard of.
    fn leave_in_doubt(&mut self, session: SessionId, counter: Counter) {
        if self.open(session).is_some() {
            let (counter, time) = (counter.0, limits::OUTCOME_WITHIN.as_secs());
            let problem = format!(
                "whether mutation {counter} took effect is not known after {time} s: it is in doubt until it is sent again, and then has its one outcome"
            );
            self.end(session, &Farewell::Unavailable(problem));
        }
    }

    /// Rejects what does not fit the store. Anything else is not the mutation's fault, and its client comes back with it.
    pub(crate) fn on_submit_refused(
        &mut self,
        now: Now,
        client: ClientId,
        lane: LaneNumber,
        counter: Counter,
        refusal: &Refusal,
    ) {
        let Some(in_flight) = self.lanes.finish(client, lane, counter) else { return };
        let fault = match &in_flight.waiting.domain {
            Domain::Strong | Domain::Rows(_) | Domain::Causal => strong::fault(refusal, self.catalog.schema()),
            Domain::Log(_) => log::fault(refusal, self.catalog.schema()),
        };
        match fault {
            Fault::Mutation(reason) if self.group.is_some() => {
                self.on_unfit_in_group(now, &in_flight, lane, refusal, reason);
            }
            // A session that is gone sends it again when it is back.
            Fault::Mutation(reason) if self.open(in_flight.session).is_some() => {
                let Waiting { domain, transaction, .. } = in_flight.waiting;
                let refused = Waiting::refused(domain, transaction, Rejection::Invalid(shortened(reason)));
                self.lanes.push_front(client, lane, refused);
            }
            Fault::Mutation(_) => {}
            Fault::Later => self.tell_conflict(now, in_flight.session, lane, &in_flight.waiting.transaction),
            Fault::Store => self.end(in_flight.session, &Farewell::Unavailable(refusal.to_string())),
        }
        self.hand_over(now, client, lane);
    }

    /// The store of a data centre does not take a transaction. How full a row is differs between data centres, so that is no refusal: the client comes back.
    fn on_unfit_in_group(
        &mut self,
        now: Now,
        in_flight: &InFlight,
        lane: LaneNumber,
        refusal: &Refusal,
        reason: String,
    ) {
        let (session, transaction) = (in_flight.session, &in_flight.waiting.transaction);
        match refusal {
            Refusal::RowTooLarge { .. } => {
                let problem = format!("{reason}; or remove some of what it has: it is taken then");
                self.end(session, &Farewell::LimitForNow(problem));
            }
            Refusal::Type { .. }
            | Refusal::TransactionTooLarge { .. }
            | Refusal::Configuration(_)
            | Refusal::NotResolved { .. }
            | Refusal::TooFarAhead { .. }
            | Refusal::OtherShard { .. } => {
                let verdict = Verdict::Rejected(Rejection::Invalid(shortened(reason)));
                self.tell_unrecorded(now, session, lane, transaction, verdict);
            }
        }
    }

    /// It is tried again on a later state.
    fn tell_conflict(&mut self, now: Now, session: SessionId, lane: LaneNumber, transaction: &Transaction) {
        let (at, counter, attempt) = (self.position(), transaction.id.counter, transaction.attempt);
        let verdict = Verdict::Conflict(at);
        self.note_end(session, lane, counter, at, &verdict);
        self.settle(now, session, at, Outcome { counter, attempt, verdict });
    }

    fn note_end(&mut self, id: SessionId, lane: LaneNumber, counter: Counter, at: Timestamp, verdict: &Verdict) {
        let Some(open) = self.open_mut(id) else { return };
        open.lanes.ended(lane, counter, at, verdict);
        if has_outcome(verdict) {
            self.on_last_outcome(id, Some(counter));
        }
    }

    /// Tells an outcome once the feed has reached `at`.
    fn settle(&mut self, now: Now, id: SessionId, at: Timestamp, outcome: Outcome) {
        let position = self.position();
        let Some(open) = self.open_mut(id) else { return };
        open.outcomes.push_back((at, outcome));
        if at > position.max(open.seen) {
            self.due.insert(at, id);
        }
        self.finish_loads(now, id);
    }

    /// Gives the store the next mutation of a lane, if it has answered the last. Each attempt comes through here, and its rights are asked anew.
    pub(crate) fn hand_over(&mut self, now: Now, client: ClientId, lane: LaneNumber) {
        let Some(session) = self.clients.get(&client).copied() else { return };
        self.refuse_held_up(now, client, lane, session);
        if self.lanes.begin(client, lane, session).is_none() {
            return;
        }
        self.judge_in_lane(now, client, lane);
    }

    /// Gives the store the mutation of a lane, as it was judged.
    pub(crate) fn commit_judged(&mut self, client: ClientId, lane: LaneNumber, transaction: Transaction) {
        let session = self.clients.get(&client).and_then(|id| self.open(*id));
        let floor = session.map(|open| open.seen.max(open.lanes.committed(lane)));
        let domain = self.lanes.at_store(client, lane).map(|waiting| waiting.domain.clone());
        let (Some(floor), Some(domain)) = (floor, domain) else { return };
        let counter = transaction.id.counter;
        let Some(transaction) = self.with_leases(client, transaction) else {
            return self.ask_if_spent(client, lane, counter);
        };
        let request = match domain {
            Domain::Strong | Domain::Rows(_) | Domain::Causal => strong::commit(transaction, floor),
            Domain::Log(_) => log::commit(transaction, floor),
        };
        self.ask(Purpose::Submit { client, lane, counter }, request);
    }

    /// Answers what follows a mutation that conflicted: it conflicts as well, and the store is not asked.
    fn refuse_held_up(&mut self, now: Now, client: ClientId, lane: LaneNumber, session: SessionId) {
        while let Some((follows, counter, attempt)) = self.lanes.next(client, lane)
            && self.settings.broken != Broken::PassHeldUp
        {
            let held_up = self.open(session).and_then(|open| open.lanes.held_up(lane, follows));
            let Some(at) = held_up else { return };
            self.lanes.drop_next(client, lane);
            let verdict = Verdict::Conflict(at);
            self.note_end(session, lane, counter, at, &verdict);
            self.settle(now, session, at, Outcome { counter, attempt, verdict });
        }
    }

    fn has_room(&self, id: SessionId, client: ClientId, bytes: usize) -> bool {
        let told = self.open(id).map_or(0, |open| open.outcomes.len());
        let waiting = self.lanes.load(client);
        told + waiting.mutations < limits::SUBMITS_OPEN_MAX && waiting.bytes + bytes <= limits::SUBMITS_OPEN_BYTES_MAX
    }

    fn judge(&self, wall: WallTime, device: ClientId, transaction: &Transaction, bytes: usize) -> Judgement {
        if transaction.id.counter == Counter::default() || transaction.attempt == Attempt::default() {
            return Judgement::NoMutation;
        }
        if let Err(problem) = check(transaction, device, bytes, self.catalog.schema()) {
            return Judgement::Invalid(shortened(problem));
        }
        if let Some(problem) = causal::not_yet(transaction, wall) {
            return Judgement::NotYet(problem);
        }
        let position = self.position();
        let known = self.settings.broken == Broken::PublishPastResolved || transaction.snapshot <= position;
        if known { Judgement::Fits } else { Judgement::OfNoHistory(position) }
    }

    fn publish_reply(&mut self, now: Now, in_flight: InFlight, verdict: &Verdict) {
        let Verdict::Committed(at) = verdict else { return };
        if *at <= self.position() {
            return;
        }
        let transaction = in_flight.waiting.transaction;
        let writes = transaction.writes().into();
        self.publish_early(now, &Commit { at: *at, transaction: transaction.id, writes });
        if let Some(open) = self.open_mut(in_flight.session) {
            open.seen = open.seen.max(*at);
        }
    }
}

/// Whether the store has recorded how a mutation ended.
fn has_outcome(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Committed(_) | Verdict::Aborted | Verdict::Rejected(Rejection::Invalid(_) | Rejection::Denied(_)) => {
            true
        }
        Verdict::Conflict(_) | Verdict::Rejected(Rejection::Forgotten) => false,
    }
}

/// What a gateway thinks of a submission.
enum Judgement {
    Fits,
    /// Never acceptable, and why.
    Invalid(String),
    /// Taken when this gateway's clock is further, and why.
    NotYet(String),
    /// It read a state that is none of this history's, which stands here.
    OfNoHistory(Timestamp),
    /// Not a mutation at all: nothing can be recorded under its name.
    NoMutation,
}

/// Whether a mutation fits the limits and the schema.
fn check(transaction: &Transaction, device: ClientId, bytes: usize, schema: &Schema) -> Result<(), String> {
    let writes = transaction.writes();
    let at_most = [
        ("reads", transaction.reads.len(), limits::TRANSACTION_READS_MAX),
        ("operations", writes.len(), limits::TRANSACTION_WRITES_MAX),
        ("bytes", bytes, limits::TRANSACTION_BYTES_MAX),
    ];
    if let Some((what, count, max)) = at_most.into_iter().find(|(_, count, max)| count > max) {
        return Err(format!("a mutation has at most {max} {what}, not {count}: split it"));
    }
    if writes.iter().any(|write| write.cell.table == LogCheckpoint::table()) {
        return Err("only servers write checkpoints of logs".to_owned());
    }
    leases::check(writes)?;
    let problem = writes.iter().find_map(|write| schema.check_write(write).err());
    let problem = problem.or_else(|| schema.domain_of(writes).err());
    let problem = problem.or_else(|| transaction.reads.iter().find_map(|read| schema.check_read(read).err()));
    problem.map_or(Ok(()), |problem| Err(problem.to_string()))?;
    match schema.domain_of(writes).ok().flatten() {
        Some(Domain::Log(_)) => log::check(transaction, schema),
        Some(Domain::Rows(table)) => rows::check(transaction, table, schema),
        Some(Domain::Causal) => causal::check(transaction, device, bytes),
        Some(Domain::Strong) | None => Ok(()),
    }
}
