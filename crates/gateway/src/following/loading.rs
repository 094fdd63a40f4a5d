//! Asks the store for what sessions lack, and sends it when it is whole.
//!
//! Invariants (docs/protocols/gateway.md, "Order"):
//! - while new interests are read, changes of the others go on, and those of the new ones are buffered;
//! - while a session catches up, nothing else is sent to it: answers and outcomes that are ready wait;
//! - one `Subscribe` has one answer;
//! - what the store has refused because it is too old is not asked for again before the feed has moved on.

use std::collections::BTreeSet;

use iolite_machine::Now;
use iolite_store::{ChangesError, Commit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Schema, Timestamp};
use iolite_wire::message::{Declination, SubscriptionId};

use crate::following::load::{AnswerSize, Load, LoadId, Missed, News, Stage};
use crate::following::reading::{Amount, Extent, Reading, Wanted};
use crate::limits;
use crate::store::Purpose;
use crate::{Gateway, SessionId, size};

impl Gateway {
    /// Reads all rows of a load's interests as of now.
    pub(crate) fn read_snapshots(&mut self, id: SessionId, load: LoadId) {
        let at = self.position();
        self.unfollow_load(id, load);
        let Some(own) = self.open(id).and_then(|open| open.loads.get(&load)) else { return };
        let rows = Box::new(Reading::new(at, self.settings.limits.read_share, own.subscriptions.clone()));
        self.restart_load(id, load, Stage::Reading { missed: Missed::default(), rows });
        self.ask_for_rows(id);
    }

    /// What it was to be read at is not kept any more: it is read as of now, or when the feed has come to what is kept.
    fn read_kept(&mut self, id: SessionId, load: LoadId, too_old: TooOld) {
        let until = too_old.low_watermark;
        if until <= self.position() {
            return self.read_snapshots(id, load);
        }
        self.unfollow_load(id, load);
        self.restart_load(id, load, Stage::Early { until });
        self.due.insert(until, id);
    }

    /// Reads what has waited for the feed to come here.
    fn read_early(&mut self, id: SessionId) {
        let position = self.position();
        let loads = self.open(id).into_iter().flat_map(|open| &open.loads);
        let due = loads.filter(|(_, own)| own.is_early_until().is_some_and(|until| until <= position));
        for load in due.map(|(load, _)| *load).collect::<Vec<_>>() {
            self.read_snapshots(id, load);
        }
    }

    /// Asks for as much of what a session's loads still lack as may be read at one time.
    fn ask_for_rows(&mut self, id: SessionId) {
        let all = self.settings.limits.reads_open_max;
        for (amount, most) in [(Amount::Share, all), (Amount::Whole, 1)] {
            while let Some((load, name)) = self.open_mut(id).and_then(|open| open.next_read(amount, most, all)) {
                self.ask_for(id, load, name, amount);
            }
        }
    }

    fn ask_for(&mut self, id: SessionId, load: LoadId, name: SubscriptionId, amount: Amount) {
        let Some(open) = self.open_mut(id) else { return };
        let own = open.subscriptions.get(&name).expect("a load is made of subscriptions");
        let (interest, first) = (own.interest.clone(), own.first);
        let Some(reading) = open.loads.get_mut(&load).and_then(Load::reading) else { return };
        let read = Request::ReadAt { interest, at: reading.at(), limit: reading.limit(amount, first) };
        let request = self.ask(Purpose::Load { session: id, load }, read);
        if let Some(reading) = self.open_mut(id).and_then(|open| open.loads.get_mut(&load)).and_then(Load::reading) {
            reading.asked(request, name, amount, first);
        }
    }

    /// Asks for what happened to a load's interests since `after`. Changes do not tell who came into a query: its answers are read, as of the same moment. They
    /// are told again only if anything changed that they may rest on: otherwise a session whose queries are more than it may be sent at one time would be behind
    /// again with each answer, and never be told anything else. What is stale is read whole, and told. What a rule hides in part is held as queries are: some
    /// changes may have been made while it was out of sight.
    pub(crate) fn read_changes(&mut self, id: SessionId, load: LoadId, after: Timestamp) {
        let through = self.position();
        self.unfollow_load(id, load);
        let Some(open) = self.open(id) else { return };
        let Some(own) = open.loads.get(&load) else { return };
        let known = own.subscriptions.iter().filter_map(|name| Some((*name, open.subscriptions.get(name)?)));
        let (stale, held): (Vec<_>, Vec<_>) = known.partition(|(_, own)| own.is_stale());
        let (queries, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, own)| own.is_read_again());
        let interests: Vec<_> = others.iter().chain(&queries).map(|(_, own)| own.interest.clone()).collect();
        let others = others.into_iter().map(|(name, _)| name).collect();
        let unknown: BTreeSet<SubscriptionId> = queries.into_iter().map(|(name, _)| name).collect();
        let whole = unknown.iter().copied().chain(stale.into_iter().map(|(name, _)| name)).collect();
        let rows = Box::new(Reading::new(through, self.settings.limits.read_share, whole));
        let is_asked = after < through && !interests.is_empty();
        let bytes_max = self.settings.limits.catch_up_commits_bytes_max;
        let question = Request::Changes { interests, after, through, bytes_max };
        let request = is_asked.then(|| self.ask(Purpose::Load { session: id, load }, question));
        self.restart_load(id, load, Stage::Reading { missed: Missed::new(others, unknown, request), rows });
        self.ask_for_rows(id);
    }

    pub(crate) fn on_rows(
        &mut self,
        now: Now,
        id: SessionId,
        load: LoadId,
        request: RequestId,
        reply: Result<ReadReply, TooOld>,
    ) {
        let Some(open) = self.open_mut(id) else { return };
        let so_far = open.answer_size();
        let Some(own) = open.loads.get_mut(&load) else { return };
        let Some(reading) = own.reading().filter(|reading| reading.waits_for(request)) else { return };
        let reply = match reply {
            Ok(reply) => reply,
            Err(too_old) => {
                self.read_kept(id, load, too_old);
                // Its place is free for others.
                return self.finish_loads(now, id);
            }
        };
        if let Some(wanted) = reading.take(request, reply) {
            match why_declined(&wanted, so_far, self.catalog.schema()) {
                None => self.keep_rows(id, load, wanted),
                Some(why) => self.decline(id, load, wanted.subscription, why),
            }
        }
        self.finish_loads(now, id);
        self.follow_feed(now);
    }

    pub(crate) fn on_commits(
        &mut self,
        now: Now,
        id: SessionId,
        load: LoadId,
        request: RequestId,
        reply: Result<Vec<Commit>, ChangesError>,
    ) {
        let bytes_max = self.settings.limits.catch_up_changes_bytes_max;
        let Some(open) = self.open_mut(id) else { return };
        let Some(own) = open.loads.get_mut(&load).filter(|own| own.waits_for_changes(request)) else { return };
        match reply {
            Ok(commits) if own.take_commits(&commits, &open.subscriptions, bytes_max) => {}
            Ok(_) | Err(ChangesError::TooMuch) => self.read_snapshots(id, load),
            Err(ChangesError::TooOld(too_old)) => self.read_kept(id, load, too_old),
        }
        self.finish_loads(now, id);
    }

    /// Sends every answer that is whole and may be sent, and the outcomes that waited; and reads on.
    pub(crate) fn finish_loads(&mut self, now: Now, id: SessionId) {
        self.read_early(id);
        self.ask_for_rows(id);
        while let Some(open) = self.open_mut(id) {
            let Some(load) = open.take_answered() else { break };
            let answer = load.answer(&open.subscriptions);
            self.send_advance(now, id, answer);
        }
        let position = self.position();
        if self.open(id).is_some_and(|open| open.is_live() && open.has_outcomes(position.max(open.seen))) {
            self.send_advance(now, id, News::default());
        }
    }

    fn restart_load(&mut self, id: SessionId, load: LoadId, stage: Stage) {
        if let Some(own) = self.open_mut(id).and_then(|open| open.loads.get_mut(&load)) {
            let given_up = own.restart(stage);
            self.abandon(id, given_up);
        }
    }
}

/// Why rows cannot be sent in answer to an interest, beside those that were read for the session before.
fn why_declined(wanted: &Wanted, so_far: AnswerSize, schema: &Schema) -> Option<Declination> {
    let Wanted { subscription: _, rows, extent } = wanted;
    let (most_rows, most_bytes) = (limits::ANSWER_ROWS_MAX, limits::ANSWER_BYTES_MAX);
    let own = AnswerSize::of(rows);
    if let Some(row) = rows.iter().find(|row| size::row(&row.key, &row.row) > limits::ROW_BYTES_MAX) {
        let (most, table, key) = (limits::ROW_BYTES_MAX, schema.table_name(row.table).unwrap_or("?"), &row.key);
        let problem =
            format!("row {key:?} of table {table:?} has more than {most} bytes and cannot be sent: leave it out");
        return Some(Declination::TooLarge(problem));
    }
    if own.is_too_large() || *extent == Extent::TooMany {
        let problem = format!("more than {most_rows} rows or {most_bytes} bytes answer this: read smaller ranges");
        return Some(Declination::TooLarge(problem));
    }
    so_far.plus(own).is_too_large().then_some(Declination::Later)
}
