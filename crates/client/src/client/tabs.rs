//! The client as the leader of other tabs: joins, calls by ticket, updates.
//!
//! Invariants: a call is taken into the queue and out of the outbox in one batch, and once; that it was taken is known for as long as its tab may
//! store it once more; updates are made only when nothing is left to rebase, so each is the state at one moment.

mod updates;

use std::collections::BTreeSet;

use iolite_machine::{Now, WallTime};
use iolite_values::{Counter, Id, LaneNumber, LogId};
use iolite_wire::client_storage::{EndedAs, StoredEnd, StoredMutation};
use iolite_wire::message::{Goodbye, GoodbyeReason, SubscriptionId};
use iolite_wire::tabs::{
    FromTab, JoinNumber, TAB_PROTOCOL_VERSION, TabJoin, TabNotice, TabRequest, TabSubscription, ToTab,
};

use super::Client;
use crate::cache::Demand;
use crate::interface::{Broken, MutationStatus, Output, Refused};
use crate::queue::{Copies, Entry, Mutation, OfflineCheck, Stage};
use crate::tabs::{Answer, CallStatus, News, TabId, Ticket, Wanted, call_status, ended_as, kind_of};

impl Client {
    /// How far the call of a ticket is, which its tab knows to be stored. Ask once every call of this tab is known to be stored, or not to be:
    /// what is neither pending nor kept as refused took effect before this client was opened.
    pub fn call_status(&mut self, ticket: Ticket) -> CallStatus {
        match self.answer(ticket) {
            Answer::Pending(counter) => {
                self.rows.no_more_copies(counter);
                if let Some(kept) = self.pending_kept(counter) {
                    return CallStatus::Queued(counter, kept.status);
                }
                let entry = self.queue.entry_mut(counter).expect("the answer names an entry");
                entry.copies = Copies::NoMore;
                CallStatus::Queued(counter, entry.status())
            }
            Answer::Ended(end) => call_status(&end),
            Answer::Unknown => CallStatus::ConfirmedEarlier,
        }
    }

    /// Takes a call that is stored in the outbox into the queue, and out of the outbox, in one batch. A ticket that was adopted before is only
    /// taken out: its tab may have stored it once more.
    fn adopt(&mut self, call: StoredMutation, offline_check: OfflineCheck) {
        let Some(ticket) = call.ticket.map(Ticket) else { return };
        let is_known = self.knows(ticket);
        self.take_out(ticket);
        if is_known {
            return;
        }
        let counter = self.next_counter();
        let called_at = WallTime::from_micros(call.called_at_micros);
        let kind = kind_of(Some(&call.name), &call.arguments);
        let log = call.log.map(|call| LogId { name: call.log.into(), instance: call.instance });
        let lane = log.as_ref().map_or(LaneNumber::STRONG, |log| self.lane_of_log(log));
        let log = log.map(|log| self.log_call(log, counter));
        let mutation = Mutation { counter, kind, called_at, ticket: Some(ticket), log };
        self.queue.push(Entry { offline_check, ..Entry::new(mutation, Stage::Called).in_lane(lane) });
        self.outputs.push_back(Output::Adopted { ticket, counter });
        // It was promised to be sent when it was stored, so it is saved before its closure has run.
        self.save_mutation(counter);
        self.report(counter);
    }

    /// The next batch takes it out of the outbox. A reading may show it until then.
    fn take_out(&mut self, ticket: Ticket) {
        self.disk.changes.forget_call(ticket);
        self.leader.take_out(ticket, self.disk.last.next());
    }

    /// Its tab knows that it is stored, so it will not be stored again, and what is in the outbox is taken out with the next batch. That it was
    /// confirmed need not be known from then on.
    fn note_told(&mut self, ticket: Ticket) {
        if let Some(entry) = self.queue.of_ticket(ticket).and_then(|counter| self.queue.entry_mut(counter)) {
            entry.copies = Copies::NoMore;
        }
        if let Some(counter) = self.rows.of_ticket(ticket) {
            self.rows.no_more_copies(counter);
        }
        if let Some(counter) = self.leader.ends.forget_confirmed(ticket) {
            self.disk.changes.end(counter, None);
        }
    }

    /// Whether it was adopted, as far as this client can tell by itself.
    fn knows(&self, ticket: Ticket) -> bool {
        self.leader.was_taken_out(ticket) || self.answer(ticket) != Answer::Unknown
    }

    pub(super) fn answer(&self, ticket: Ticket) -> Answer {
        if let Some(counter) = self.queue.of_ticket(ticket).or_else(|| self.rows.of_ticket(ticket)) {
            return Answer::Pending(counter);
        }
        if let Some(end) = self.leader.ends.of(ticket) {
            return Answer::Ended(end.clone());
        }
        let refused = self.refused.values().find(|refused| refused.ticket == Some(ticket));
        refused.map_or(Answer::Unknown, |refused| Answer::Ended(end_of_refused(refused)))
    }

    pub(super) fn on_from_tab(&mut self, now: Now, tab: TabId, message: &[u8]) {
        let Ok(FromTab { join, request }) = FromTab::decode(message) else {
            let what = "a message of another version of the app: reload this tab";
            return self.refuse_tab(tab, JoinNumber::NONE, GoodbyeReason::Protocol, what);
        };
        if let TabRequest::Join(asked) = request {
            return self.on_join(now, tab, join, asked);
        }
        if self.leader.tab_mut(tab).is_none_or(|known| known.join != join) {
            if request == TabRequest::Leave {
                return self.on_tab_gone(tab);
            }
            let what = "this tab was not heard of for long: join again";
            return self.refuse_tab(tab, join, GoodbyeReason::Unavailable, what);
        }
        self.leader.heard(tab, now.instant);
        self.on_request(now, tab, request);
    }

    fn on_request(&mut self, now: Now, tab: TabId, request: TabRequest) {
        match request {
            TabRequest::Join(_) => unreachable!("joins go another way"),
            TabRequest::Subscribe(asked) => self.on_subscribe(tab, named(asked)),
            TabRequest::Unsubscribe(ids) => self.on_unsubscribe(tab, &ids),
            TabRequest::Announce(call) => self.on_announce(tab, call),
            TabRequest::Ask(tickets) => tickets.into_iter().for_each(|ticket| self.on_ask(tab, ticket)),
            TabRequest::Cancel(counter) => drop(self.cancel(counter)),
            TabRequest::Dismiss(counter) => self.dismiss(counter),
            TabRequest::Acknowledge(number) => self.leader.applied(tab, number),
            TabRequest::GoOnline => self.go_online(now.instant),
            TabRequest::GoOffline => self.go_offline(),
            TabRequest::SetToken(token) => self.set_token(now.instant, token),
            TabRequest::Leave => self.on_tab_gone(tab),
        }
    }

    fn on_join(&mut self, now: Now, tab: TabId, join: JoinNumber, asked: TabJoin) {
        self.forget_tab(tab);
        let refused = if asked.version != TAB_PROTOCOL_VERSION {
            Some((GoodbyeReason::Version, "another version of the app leads: reload this tab"))
        } else if asked.schema != self.schema_hash {
            Some((GoodbyeReason::Schema, "an app with another schema leads: reload this tab"))
        } else {
            None
        };
        if let Some((reason, what)) = refused {
            // It can announce nothing here, so what it stored is looked for.
            self.read_outbox(None);
            return self.refuse_tab(tab, join, reason, what);
        }
        let waiting = self.queue.entries().filter(|entry| !entry.is_change_set()).map(Entry::counter);
        let pending: Vec<Counter> = waiting.chain(self.rows.calls()).collect();
        let refused: Vec<Counter> = self.refused.keys().copied().collect();
        let known = self.leader.join(tab, join, now.instant);
        known.mutations.extend(pending);
        known.refused.extend(refused);
        self.tell_tab(tab, join, TabNotice::Welcome(self.identity.client(), self.identity.secret));
        self.on_subscribe(tab, named(asked.subscriptions));
    }

    fn on_subscribe(&mut self, tab: TabId, wanted: impl IntoIterator<Item = (SubscriptionId, Wanted)>) {
        let Some(known) = self.leader.tab_mut(tab) else { return };
        for (id, wanted) in wanted {
            if let Err(error) = self.cache.interests.check_room_for(std::iter::once(&wanted.interest)) {
                known.decline_for_want_of_room(id, error.to_string());
                continue;
            }
            match wanted.held(&self.cache) {
                Some(held) => self.cache.interests.require(&held, None, Demand::Tab(tab)),
                None => self.cache.interests.require(&wanted.interest, wanted.first, Demand::Tab(tab)),
            };
            known.granted.remove(&id);
            known.wanted.insert(id, wanted);
        }
    }

    /// The tab needs these no more. What it has beside them may be less than is held for it.
    fn on_unsubscribe(&mut self, tab: TabId, ids: &[SubscriptionId]) {
        let Some(known) = self.leader.tab_mut(tab) else { return };
        let mut tables = BTreeSet::new();
        let mut makes_room = false;
        for id in ids {
            let (wanted, granted) = (known.wanted.remove(id), known.granted.remove(id));
            makes_room |= wanted.is_some() || granted.is_some();
            tables.extend(granted.map(|interest| interest.table()));
            known.unavailable.remove(id);
        }
        self.settle_tab(tab);
        if makes_room {
            self.note_room(Some(tab));
        }
        self.cache.interests.doubt(Demand::Tab(tab), &tables);
    }

    /// What was to bring a tab what it wants may bring it no more: it was too few first rows of a query, or a row left an answer before the tab
    /// was given it. Then the tab's wish is asked for by itself.
    fn ask_again_for_tabs(&mut self) -> bool {
        let mut asks = false;
        for tab in self.leader.tabs() {
            let Some(known) = self.leader.tab_mut(tab) else { continue };
            let awaits = |own: &Wanted| self.cache.interests.awaits(Demand::Tab(tab), &own.interest);
            let missed = known.wanted.iter().filter(|(_, own)| !awaits(own) && own.held(&self.cache).is_none());
            let missed: Vec<(SubscriptionId, Wanted)> = missed.map(|(id, own)| (*id, own.clone())).collect();
            if !missed.is_empty() {
                self.on_subscribe(tab, missed);
                self.settle_tab(tab);
                asks = true;
            }
        }
        asks
    }

    /// Gives up what the tab neither has nor waits for.
    pub(super) fn settle_tab(&mut self, tab: TabId) {
        let Some(known) = self.leader.tab_mut(tab) else { return };
        let kept = known.kept(&self.cache);
        self.cache.interests.settle(Demand::Tab(tab), &kept);
    }

    /// The tab stored this call a moment ago.
    fn on_announce(&mut self, tab: TabId, call: StoredMutation) {
        let Some(ticket) = call.ticket else { return };
        match self.leader.tab_mut(tab).map(|known| known.news) {
            None => {}
            Some(News::Trusted) => {
                self.adopt(call, OfflineCheck::Due);
                self.note_told(Ticket(ticket));
            }
            Some(News::LookedUp) => {
                if self.answer(Ticket(ticket)) == Answer::Unknown {
                    self.leader.note_announced(Ticket(ticket));
                }
                self.on_ask(tab, ticket);
            }
        }
    }

    fn on_ask(&mut self, tab: TabId, ticket: Id) {
        let question = Ticket(ticket);
        let answer = self.answer(question);
        if self.knows(question) {
            // Its tab may have stored it once more, as it did not hear that the first time worked.
            self.take_out(question);
            self.note_told(question);
        }
        match answer {
            Answer::Pending(counter) => {
                if let Some(known) = self.leader.tab_mut(tab) {
                    known.mutations.insert(counter);
                }
            }
            Answer::Ended(_) if self.will_tell(question) => {}
            Answer::Ended(end) => self.answer_end(tab, end),
            // It is neither pending nor refused, and was adopted: it was confirmed.
            Answer::Unknown if self.leader.was_taken_out(question) => self.answer_end(tab, confirmed_earlier(ticket)),
            Answer::Unknown => self.read_outbox(Some((tab, ticket))),
        }
    }

    fn answer_end(&mut self, tab: TabId, end: StoredEnd) {
        if let Some(known) = self.leader.tab_mut(tab) {
            known.ended.push(end);
        }
    }

    fn read_outbox(&mut self, question: Option<(TabId, Id)>) {
        if self.leader.ask_outbox(question) {
            self.outputs.push_back(Output::ReadOutbox);
        }
    }

    pub(super) fn on_outbox(&mut self, entries: Vec<(Vec<u8>, Vec<u8>)>) {
        // What cannot be read stays where it is, and is refused when the storage is opened next.
        let calls = entries.iter().filter_map(|(_, value)| StoredMutation::decode(value).ok());
        self.adopt_all(calls.collect());
        let (answered, again) = self.leader.outbox_read();
        for (tab, ticket) in answered {
            self.leader.take_announced(Ticket(ticket));
            match self.answer(Ticket(ticket)) {
                Answer::Pending(_) | Answer::Ended(_) => self.on_ask(tab, ticket),
                Answer::Unknown => self.answer_end(tab, confirmed_earlier(ticket)),
            }
        }
        if again {
            self.outputs.push_back(Output::ReadOutbox);
        }
        self.leader.forget_taken_out(self.disk.done);
    }

    pub(super) fn adopt_all(&mut self, mut calls: Vec<StoredMutation>) {
        calls.sort_by_key(|call| (call.called_at_micros, call.ticket));
        for call in calls {
            let announced = call.ticket.is_some_and(|ticket| self.leader.take_announced(Ticket(ticket)));
            // Of the others nobody knows how the client stood when they were made.
            self.adopt(call, if announced { OfflineCheck::Due } else { OfflineCheck::Done });
        }
    }

    /// The tab may have stored a call and not said so, also one that never got to join this leader.
    pub(super) fn on_tab_gone(&mut self, tab: TabId) {
        self.forget_tab(tab);
        self.read_outbox(None);
    }

    fn forget_tab(&mut self, tab: TabId) {
        self.cache.interests.settle(Demand::Tab(tab), &BTreeSet::new());
        if self.leader.leave(tab).is_some_and(|gone| gone.needs_anything()) {
            self.note_room(Some(tab));
        }
    }

    fn refuse_tab(&mut self, tab: TabId, join: JoinNumber, reason: GoodbyeReason, message: &str) {
        let goodbye = Goodbye { reason, message: message.into(), retry_after: None };
        self.tell_tab(tab, join, TabNotice::Goodbye(goodbye));
    }

    /// Every tab has to begin anew: what was held is of another history.
    pub(super) fn restart_tabs(&mut self) {
        for tab in self.leader.tabs() {
            let join = self.leader.tab_mut(tab).map(|known| known.join).unwrap_or_default();
            self.forget_tab(tab);
            self.refuse_tab(tab, join, GoodbyeReason::Unavailable, "the server has another history: join again");
        }
    }

    pub(super) fn on_tabs_due(&mut self, now: Now) {
        let (pinged, silent) = self.leader.on_due(now.instant);
        for (tab, join) in pinged {
            self.tell_tab(tab, join, TabNotice::Ping);
        }
        for tab in silent {
            let join = self.leader.tab_mut(tab).map(|known| known.join).unwrap_or_default();
            self.on_tab_gone(tab);
            // If it lives, it has missed something.
            self.refuse_tab(tab, join, GoodbyeReason::Slow, "this tab did not answer: join again");
        }
    }

    fn tell_tab(&mut self, tab: TabId, join: JoinNumber, notice: TabNotice) -> bool {
        let message = ToTab { join, notice }.encode();
        if let Ok(message) = message {
            self.outputs.push_back(Output::ToTab(tab, message));
            return true;
        }
        false
    }

    /// Notes the end of a mutation for those who know only its ticket.
    pub(super) fn note_end(&mut self, mutation: &Mutation, status: &MutationStatus) {
        let Some(how) = ended_as(status) else { return };
        let (counter, ticket) = (mutation.counter, mutation.ticket);
        self.leader.note_end(&StoredEnd { counter: Some(counter), ticket: ticket.map(Id::from), how });
    }

    /// Keeps the end of a call by ticket that nothing else tells: that it was cancelled after it was on its way to the disk, and, as long as its tab
    /// may store it once more, that it was confirmed.
    pub(super) fn keep_end_of(
        &mut self,
        mutation: &Mutation,
        copies: Copies,
        status: &MutationStatus,
        was_promised: bool,
    ) {
        let is_kept = match status {
            MutationStatus::Cancelled { .. } => was_promised,
            MutationStatus::Overruled => true,
            MutationStatus::Confirmed { .. } => copies == Copies::MayCome && self.broken != Broken::ForgetConfirmed,
            MutationStatus::Pending(_) | MutationStatus::Rejected { .. } | MutationStatus::Quarantined { .. } => false,
        };
        let Mutation { counter, ticket, .. } = *mutation;
        if let (true, Some(ticket), Some(how)) = (is_kept, ticket, ended_as(status)) {
            self.keep_end(counter, ticket, StoredEnd { counter: Some(counter), ticket: Some(ticket.0), how });
        }
    }

    pub(super) fn note_dismissed(&mut self, refused: &Refused) {
        self.leader.note_dismissed(refused.counter);
        if let Some(ticket) = refused.ticket {
            self.keep_end(refused.counter, ticket, end_of_refused(refused));
        }
    }

    fn keep_end(&mut self, counter: Counter, ticket: Ticket, end: StoredEnd) {
        self.disk.changes.end(counter, Some(&end));
        if let Some(gone) = self.leader.ends.keep(counter, ticket, end) {
            self.disk.changes.end(gone, None);
        }
    }
}

fn named(asked: Vec<TabSubscription>) -> impl Iterator<Item = (SubscriptionId, Wanted)> {
    asked.into_iter().map(|TabSubscription { id, interest, first }| (id, Wanted { interest, first }))
}

fn end_of_refused(refused: &Refused) -> StoredEnd {
    let reason = refused.reason.clone();
    let status =
        if refused.by_app { MutationStatus::Rejected { reason } } else { MutationStatus::Quarantined { reason } };
    let how = ended_as(&status).expect("it has ended");
    StoredEnd { counter: Some(refused.counter), ticket: refused.ticket.map(Id::from), how }
}

fn confirmed_earlier(ticket: Id) -> StoredEnd {
    StoredEnd { counter: None, ticket: Some(ticket), how: EndedAs::ConfirmedEarlier }
}
