//! Rights of what is written: a mutation is judged when it is the next of its lane, just before the store gets it.
//!
//! Invariants: nothing commits that its rules do not allow at its timestamp. A mutation is judged as of the feed's position P. All that the judge looked
//! at joins the transaction's reads, which the store validates since its snapshot S ≤ P. So what changed in between is a conflict, and the next attempt is
//! judged anew. These reads join after the level was found and its guards dropped reads: a table that a rule looks at makes no mutation stricter.
//! P has all that the lane has committed: whoever opens a room and speaks in it is judged as of the room.
//! A denial is final: an abort is recorded in its place, so that no earlier attempt takes effect after the client was told.
//! Source: access control at the cloud's edge, as in SwiftCloud (Zawirski 2013, "Security"); the validation is ours.

pub mod case;
mod reads;

use std::collections::{BTreeMap, BTreeSet};

use iolite_access::Identity;
use iolite_logs::Page;
use iolite_machine::Now;
use iolite_rights::{Claims, Denial, Judge, Judgement, LogRights, Rows, Why};
use iolite_store::{CommitReply, ReadReply, Refusal, RequestId, TooOld};
use iolite_values::{ClientId, Counter, Domain, LaneNumber, LogId, Query, Read, Row, RowKey, Timestamp, Transaction};
use iolite_wire::message::{Rejection, Verdict};

use crate::Gateway;
use crate::following::sight::too_large_a_set;
use crate::interface::Broken;
use crate::sessions::farewell::{Farewell, shortened};
use crate::store::Purpose;
use crate::submissions::lane::{InFlight, Waiting};
use crate::submissions::log;
use case::{Case, Wanted};
use reads::Stop;

/// A mutation that conflicts more often is told as a conflict to its client.
const TIMES_JUDGED_AGAIN: u8 = 8;

/// The mutations that are not judged yet.
#[derive(Debug, Default)]
pub struct Judging {
    /// Mutations that wait for rows by which they are judged.
    cases: BTreeMap<(ClientId, LaneNumber), Case>,
    /// Lanes whose next mutation comes behind a commit that the feed has not reached.
    early: BTreeSet<(Timestamp, ClientId, LaneNumber)>,
}

/// The answer for a mutation.
#[derive(Debug)]
enum Answer {
    /// With all that it rests on among its reads.
    Allowed(Transaction),
    Denied(String),
    /// The client did not know the row as it is.
    Conflict,
    /// More has to be known first.
    Needs(Vec<Wanted>),
}

impl Judging {
    /// The store has started again.
    pub fn clear(&mut self) {
        *self = Judging::default();
    }

    /// The lanes that wait for the feed.
    pub fn early(&self) -> impl Iterator<Item = (ClientId, LaneNumber)> {
        self.early.iter().map(|(_, client, lane)| (*client, *lane))
    }
}

impl Gateway {
    /// Judges the mutation of a lane that is the store's next, and gives it to the store, or an abort in its place.
    pub(crate) fn judge_in_lane(&mut self, now: Now, client: ClientId, lane: LaneNumber) {
        if self.waits_for_device(client, lane) {
            return;
        }
        let session = self.clients.get(&client).and_then(|id| self.open(*id));
        let identity = session.map(|open| open.identity.clone());
        let Some((identity, waiting)) = identity.zip(self.lanes.at_store(client, lane)) else { return };
        let counter = waiting.transaction.id.counter;
        let before = session.map_or(Timestamp::ZERO, |open| open.lanes.committed(lane));
        // In a group clients see less than is here, and what a client's own commit has made may be seen late. It is judged as of that commit.
        let is_held_back = self.group.is_some() && waiting.domain == Domain::Causal;
        if before > self.position() && !is_held_back && self.catalog.rights().is_some() {
            self.judging.early.insert((before, client, lane));
            return;
        }
        let at = if is_held_back { self.position().max(before) } else { self.position() };
        let mut case = self.judging.cases.remove(&(client, lane)).unwrap_or_else(|| Case::new(at));
        let answer = loop {
            let answer = self.judge_write(now, &identity, waiting, &case);
            let Answer::Needs(wanted) = answer else { break Some(answer) };
            if !case.wants(wanted, |set| self.followed_set(set)) {
                break None;
            }
        };
        match answer {
            None | Some(Answer::Needs(_)) => {
                self.judging.cases.insert((client, lane), case);
                self.ask_wanted(client, lane, counter);
            }
            Some(Answer::Allowed(transaction)) => self.commit_judged(client, lane, transaction),
            Some(Answer::Conflict) => {
                let reply = CommitReply::Conflict { at_least: case.at() };
                self.on_commit_reply(now, client, lane, counter, &reply);
            }
            Some(Answer::Denied(reason)) => self.deny(now, client, lane, reason),
        }
    }

    /// The answer for an append to a log. One that conflicted is given to the store as of P, if its page is open there.
    fn judge_append(&self, judge: &Judge<'_>, log: &LogId, waiting: &Waiting, case: &Case) -> Answer {
        let transaction = &waiting.transaction;
        let Some((page, operation)) = log::appended(transaction) else { return Answer::Allowed(transaction.clone()) };
        let snapshot = match (waiting.judged_again, case.known.row(&page)) {
            (0, _) => transaction.snapshot,
            (_, None) => return Answer::Needs(vec![Wanted::Row(page)]),
            (_, Some(row)) if Page::of(Some(&row)).is_closed() => return Answer::Conflict,
            (_, Some(_)) => case.at(),
        };
        match judge.log(log, Some(&operation)) {
            Judgement::Allowed(_) if case.known.has_too_large_a_set => Answer::Denied(too_large_a_set()),
            Judgement::Allowed(looked_at) => {
                let looked_at = looked_at.into_iter().filter(|_| self.settings.broken != Broken::JudgeWithoutReads);
                let reads = transaction.reads.iter().cloned().chain(looked_at).collect();
                Answer::Allowed(Transaction { snapshot, reads, ..transaction.clone() })
            }
            Judgement::Denied(denial) => Answer::Denied(denial.to_string()),
            Judgement::Needs(needs) => Answer::Needs(Wanted::all(needs)),
        }
    }

    /// The rows of a set that sessions rest on, and as of when.
    fn followed_set(&self, set: &Query) -> Option<(Timestamp, Vec<(RowKey, Row)>)> {
        Some((self.position(), self.sets.rows(set)?))
    }

    fn judge_write(&self, now: Now, identity: &Identity, waiting: &Waiting, case: &Case) -> Answer {
        let transaction = &waiting.transaction;
        let Some(rights) = self.catalog.rights() else { return Answer::Allowed(transaction.clone()) };
        let developer = Claims::new("", []);
        let judge = Judge {
            rights,
            schema: self.catalog.schema(),
            claims: identity.user().map_or(&developer, |user| &user.claims),
            now_ms: i64::try_from(now.wall.as_micros() / 1000).unwrap_or(i64::MAX),
            rows: &case.known,
        };
        let judgement = match (identity, &waiting.domain) {
            // Members make the rows of a log, and no gateway knows them.
            (Identity::Developer, Domain::Log(_)) => return Answer::Allowed(transaction.clone()),
            (Identity::User(_), Domain::Log(log)) => return self.judge_append(&judge, log, waiting, case),
            (Identity::Developer, Domain::Strong | Domain::Rows(_) | Domain::Causal) => {
                judge.checks(transaction.writes())
            }
            (Identity::User(_), Domain::Strong | Domain::Rows(_) | Domain::Causal) => {
                judge.transaction(transaction.writes())
            }
        };
        match judgement {
            Judgement::Denied(denial) => self.denied(&judge, identity, transaction, case, &denial),
            Judgement::Allowed(looked_at) if !case.known.has_too_large_a_set => {
                self.with_reads(&judge, identity, waiting, case, looked_at)
            }
            Judgement::Needs(needs) => Answer::Needs(Wanted::all(needs)),
            Judgement::Allowed(_) => Answer::Denied(too_large_a_set()),
        }
    }

    /// The answer for a mutation that may not be done as of P. If its row was another one when the client looked, it runs again.
    fn denied(
        &self,
        judge: &Judge<'_>,
        identity: &Identity,
        transaction: &Transaction,
        case: &Case,
        denial: &Denial,
    ) -> Answer {
        let is_taken = match denial.why {
            Why::Taken => true,
            Why::Missing => false,
            Why::NoTable | Why::NoRule(_) | Why::Rule(_) => return Answer::Denied(denial.to_string()),
        };
        let Some(row) = case::row_of(denial) else { return Answer::Denied(denial.to_string()) };
        if is_taken && identity.user().is_some() {
            match judge.read(&row) {
                Judgement::Allowed(_) => {}
                // It would see no row there, and create it again, for ever.
                Judgement::Denied(_) => return Answer::Denied(denial.to_string()),
                Judgement::Needs(needs) => return Answer::Needs(Wanted::all(needs)),
            }
        }
        match case.known.was_there(&row) {
            None => Answer::Needs(vec![Wanted::Before(row, transaction.snapshot)]),
            Some(Some(was_there)) if was_there == is_taken => Answer::Denied(denial.to_string()),
            Some(Some(_) | None) => Answer::Conflict,
        }
    }

    /// The transaction that was judged, with all that the answer rests on.
    fn with_reads(
        &self,
        judge: &Judge<'_>,
        identity: &Identity,
        waiting: &Waiting,
        case: &Case,
        looked_at: BTreeSet<Read>,
    ) -> Answer {
        let transaction = &waiting.transaction;
        let reads = match identity {
            Identity::User(_) if self.settings.broken != Broken::ReadsUnchecked => {
                reads::narrowed(judge, &transaction.reads, &case.known)
            }
            Identity::User(_) | Identity::Developer => Ok(transaction.reads.clone()),
        };
        let mut reads = match reads {
            Ok(reads) => reads,
            Err(Stop::Needs(needs)) => return Answer::Needs(Wanted::all(needs)),
            Err(Stop::Declined(why)) => return Answer::Denied(why),
        };
        // A blind one rests on nothing older than what it was judged by.
        let is_blind = reads.is_empty() && !transaction.level.guards_writes();
        let snapshot = if is_blind { transaction.snapshot.max(case.at()) } else { transaction.snapshot };
        let looked_at: Vec<Read> = looked_at.into_iter().collect();
        match self.settings.broken {
            Broken::JudgeWithoutReads => {}
            Broken::RulesBeforeGuarded => {
                reads.extend(transaction.level.guarded(&looked_at, transaction.writes()).into_owned());
            }
            _ => reads.extend(looked_at),
        }
        Answer::Allowed(Transaction { snapshot, reads, ..transaction.clone() })
    }

    /// Has an abort recorded in the place of a mutation. Of tables that merge nothing is recorded: another data centre may have taken the effects.
    fn deny(&mut self, now: Now, client: ClientId, lane: LaneNumber, reason: String) {
        let Some(InFlight { session, waiting }) = self.lanes.take(client, lane) else { return };
        let Waiting { domain, transaction, .. } = waiting;
        let rejection = Rejection::Denied(shortened(reason));
        if domain == Domain::Causal || self.settings.broken == Broken::DeniedNotRecorded {
            self.tell_unrecorded(now, session, lane, &transaction, Verdict::Rejected(rejection));
        } else {
            self.lanes.push_front(client, lane, Waiting::refused(domain, transaction, rejection));
        }
        self.hand_over(now, client, lane);
    }

    fn ask_wanted(&mut self, client: ClientId, lane: LaneNumber, counter: Counter) {
        while let Some((wanted, request)) = self.judging.cases.get_mut(&(client, lane)).and_then(Case::next) {
            let id = self.ask(Purpose::Rights { client, lane, counter }, request);
            if let Some(case) = self.judging.cases.get_mut(&(client, lane)) {
                case.asked(id, wanted);
            }
        }
    }

    pub(crate) fn on_judged_by(
        &mut self,
        now: Now,
        (client, lane, counter): (ClientId, LaneNumber, Counter),
        request: RequestId,
        reply: Result<ReadReply, TooOld>,
    ) {
        let Some(case) = self.judging.cases.get_mut(&(client, lane)) else { return };
        match case.take(request, reply) {
            Ok(false) => self.ask_wanted(client, lane, counter),
            Ok(true) => self.judge_in_lane(now, client, lane),
            // The store keeps nothing as old as P. The client tries again when the feed is further.
            Err(TooOld { low_watermark }) => {
                let open = case.requests();
                self.judging.cases.remove(&(client, lane));
                self.give_up(open);
                let at_least = low_watermark.max(self.position());
                self.on_commit_reply(now, client, lane, counter, &CommitReply::Conflict { at_least });
            }
        }
    }

    /// Whether a mutation that conflicted is judged again, and its client not told: one that rests on nothing that the client has read, or an append. What it
    /// was judged by has changed, perhaps, and the client sees none of that. It waits until the feed has passed the conflict.
    pub(crate) fn judges_again(
        &mut self,
        now: Now,
        (client, lane): (ClientId, LaneNumber),
        reply: &CommitReply,
    ) -> bool {
        let CommitReply::Conflict { at_least } = *reply else { return false };
        let session = self.clients.get(&client).and_then(|id| self.open(*id));
        let is_user = session.is_some_and(|open| open.identity.user().is_some());
        let Some(rights) = self.catalog.rights().filter(|_| session.is_some()) else { return false };
        let Some(waiting) = self.lanes.at_store_mut(client, lane) else { return false };
        let is_for_nobody = match &waiting.domain {
            Domain::Log(log) => is_user && rights.logs.get(&*log.name) != Some(&LogRights::Open),
            Domain::Rows(_) | Domain::Causal => waiting.transaction.reads.is_empty(),
            Domain::Strong => false,
        };
        if !is_for_nobody || waiting.judged_again >= TIMES_JUDGED_AGAIN {
            return false;
        }
        waiting.judged_again += 1;
        match at_least > self.position() {
            true => drop(self.judging.early.insert((at_least, client, lane))),
            false => self.judge_in_lane(now, client, lane),
        }
        true
    }

    /// The feed is further: judges what waited for that.
    pub(crate) fn judge_early(&mut self, now: Now) {
        let position = self.position();
        while let Some(first) = self.judging.early.first().copied().filter(|(at, ..)| *at <= position) {
            self.judging.early.remove(&first);
            let (_, client, lane) = first;
            self.judge_in_lane(now, client, lane);
        }
    }

    /// A client's session has ended. It sends again what was not judged, and nothing is read for it meanwhile.
    pub(crate) fn stop_judging(&mut self, client: ClientId) {
        let all = (client, LaneNumber::STRONG)..=(client, LaneNumber(u32::MAX));
        let lanes: Vec<LaneNumber> = self.judging.cases.range(all).map(|((_, lane), _)| *lane).collect();
        let early: Vec<_> = self.judging.early.iter().filter(|(_, own, _)| *own == client).copied().collect();
        for (at, client, lane) in early {
            self.judging.early.remove(&(at, client, lane));
            drop(self.lanes.take(client, lane));
        }
        for lane in lanes {
            if let Some(case) = self.judging.cases.remove(&(client, lane)) {
                self.give_up(case.requests());
                drop(self.lanes.take(client, lane));
            }
        }
    }

    /// The store cannot read by what a mutation is judged. Its client comes back with it.
    pub(crate) fn on_judged_by_nothing(&mut self, client: ClientId, refusal: &Refusal) {
        if let Some(session) = self.clients.get(&client).copied() {
            self.end(session, &Farewell::Unavailable(refusal.to_string()));
        }
    }
}
