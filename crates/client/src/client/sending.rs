//! What the client tells its gateway, and the life of the link.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Instant, Now, PersistId, WallTime};
use iolite_values::{Interest, SchemaHash, StoreIncarnation, map_of};
use iolite_wire::message::{
    First, FromClient, Goodbye, GoodbyeReason, Hello, ProtocolVersion, Resume, Submit, Subscribe, SubscriptionId,
    Welcome,
};

use super::Client;
use crate::cache::{fitting_one, portions, with_spare};
use crate::interface::{Broken, Output};
use crate::queue::{Ahead, Entry};
use crate::reason::shortened;
use crate::session::{Due, Link, Phase, State};
use crate::view::Changed;

impl Client {
    /// Uses another token from now on: in the session that is open, and for the next one at once if the old one was refused. Who is offline by
    /// [`Client::go_offline`] stays so. It answers [`Output::TokenWanted`].
    pub fn set_token(&mut self, now: Instant, token: String) {
        let is_of_use = self.tokens.given(now, token);
        if !is_of_use && self.tokens.to_say(now).is_none() {
            self.session.lacks_token(
                "the app has no good token: the one that it gave is empty, too long, or has run out. Sign in again"
                    .into(),
            );
        } else if is_of_use {
            self.try_blobs_again();
            if !self.session.is_paused() {
                self.session.retry_now(now);
            }
        }
        self.note_connection();
    }

    /// The app has no token at the moment. It is asked again after a while. What was called waits; a session that is open goes on while its token holds.
    pub fn token_failed(&mut self, now: Instant, message: &str) {
        self.tokens.ask_later(now);
        if self.tokens.to_say(now).is_none() {
            self.session.lacks_token(shortened(message.to_owned()));
        }
        self.note_connection();
    }

    /// Asks the app for a token.
    pub(super) fn want_token(&mut self) -> bool {
        let is_wanted = self.tokens.take_wanted();
        if is_wanted {
            self.outputs.push_back(Output::TokenWanted);
        }
        is_wanted
    }

    /// Says the newest token in the session that is open.
    pub(super) fn renew_token(&mut self) -> bool {
        if !self.session.is_open() {
            return false;
        }
        let (Some(text), Some(link)) = (self.tokens.text(), self.session.link_mut()) else { return false };
        if link.token == text {
            return false;
        }
        let text = text.to_owned();
        (link.token, link.renews) = (text.clone(), true);
        self.send(FromClient::Token(text));
        true
    }

    /// The gateway has taken the token that was said last.
    pub(super) fn on_renewed(&mut self, now: Instant, left: Duration) {
        let Some(link) = self.session.link_mut() else { return };
        link.renews = false;
        self.tokens.taken(now, &link.token, Some(left));
    }

    /// There is no link before the app gives a token.
    fn await_token(&mut self) {
        self.session.await_token();
        self.tokens.want();
    }

    /// The device has a network again, or the app wants to be online: tries at once instead of after the pause. A link that is there has to prove that
    /// it lives, or another one is made.
    pub fn go_online(&mut self, now: Instant) {
        self.session.is_at(now);
        if self.session.doubt_link(now) {
            self.ping(now);
        }
        self.session.retry_now(now);
        if self.tokens.to_say(now).is_none() {
            self.tokens.want_now();
        }
        self.note_connection();
    }

    /// Drops the link and stays offline until [`Client::go_online`].
    pub fn go_offline(&mut self) {
        self.drop_link();
        self.session.pause();
        self.note_connection();
    }

    pub(super) fn on_linked(&mut self, now: Now) {
        match self.session.state {
            State::Linking { .. } => {}
            // The host says it twice.
            State::Linked(_) => return,
            State::Waiting { .. } | State::Paused | State::Tokenless | State::Refused { .. } => {
                return self.outputs.push_back(Output::Disconnect);
            }
        }
        let Some(token) = self.tokens.to_say(now.instant).map(str::to_owned) else {
            self.drop_link();
            return self.await_token();
        };
        self.session.linked(now.instant, token.clone());
        // Also of a cache that holds nothing any more: what was told of this history is not to be taken back.
        let resume = self.store.map(|store| Resume { store, at: self.cache.at(), rights: self.rights });
        // The welcome says that the hello has arrived.
        (self.acknowledgement.told, self.acknowledgement.told_by) = (self.acknowledgement.noted, 0);
        let SchemaHash(schema) = self.schema_hash;
        self.send(FromClient::Hello(Hello {
            oldest_version: ProtocolVersion::OLDEST_SUPPORTED,
            newest_version: ProtocolVersion::CURRENT,
            token,
            client: self.identity.device,
            schema: SchemaHash(schema),
            resume,
            acknowledged: self.acknowledgement.noted,
            centre_token: self.moving.token.clone(),
            batch: self.batch,
        }));
    }

    pub(super) fn on_link_lost(&mut self, now: Now) {
        if matches!(self.session.state, State::Linked(_) | State::Linking { .. }) {
            self.forget_link();
            self.session.broke(now.instant);
        }
    }

    pub(super) fn on_welcome(&mut self, now: Now, welcome: Welcome) {
        if !self.is_welcome(now, &welcome) {
            return;
        }
        if let Some(link) = self.session.link() {
            self.tokens.taken(now.instant, &link.token, welcome.token_left);
        }
        self.heed_clock(now, welcome.clock_micros.map(WallTime::from_micros));
        self.note_serving(&welcome);
        if self.store != Some(welcome.store) {
            if welcome.moved {
                return self.begin_staging(now, welcome.store);
            }
            self.begin_history(welcome.store);
            return self.enter(now, Phase::Open);
        }
        let interests = self.fit_one_subscribe();
        self.enter(now, Phase::Resuming);
        // Said although it may name nothing: the gateway waits for it.
        self.send(FromClient::Subscribe(Subscribe { held: true, interests, first: BTreeMap::new() }));
    }

    /// Another history, or the first: what was held is of no use, and everything wanted is asked for anew.
    pub(super) fn begin_history(&mut self, store: StoreIncarnation) {
        let rows = self.cache.clear();
        self.note_rows(rows);
        self.changed = Changed::Everything;
        self.queue.history_lost();
        self.blobs_history_lost();
        self.kept_history_lost();
        self.delivery.history_lost();
        self.logs_history_lost();
        self.moving.history_lost();
        self.restart_tabs();
        if self.store.is_some() {
            self.disk.due = true;
            self.disk.ends_before_history = self.disk.last.next();
        }
        (self.store, self.rights) = (Some(store), None);
        self.compare_due = true;
    }

    pub(super) fn enter(&mut self, now: Now, phase: Phase) {
        if let Some(link) = self.session.link_mut() {
            link.phase = phase;
        }
        if phase == Phase::Open {
            self.session.opened(now.instant);
        }
    }

    pub(super) fn on_goodbye(&mut self, now: Now, goodbye: &Goodbye) {
        // The app has another token by now, which was said in no hello. One that was said later may have come too late.
        let untried = self.session.link().is_some_and(|link| link.renews || self.tokens.text() != Some(&link.token));
        self.drop_link();
        match goodbye.reason {
            GoodbyeReason::Unauthorized | GoodbyeReason::OtherUser
                if untried && self.tokens.to_say(now.instant).is_some() =>
            {
                self.session.lost(now.instant, None);
                self.session.retry_now(now.instant);
            }
            // Each data centre has a schema and a version of its own.
            GoodbyeReason::Schema | GoodbyeReason::Version if self.session.turns_from_refusal(now.instant) => {}
            GoodbyeReason::Unauthorized | GoodbyeReason::OtherUser => {
                self.tokens.refused(now.instant);
                if self.tokens.awaits_answer() {
                    self.session.await_token();
                } else {
                    self.session.refused(goodbye.reason, goodbye.message.clone());
                }
            }
            GoodbyeReason::Schema | GoodbyeReason::Version | GoodbyeReason::Replaced => {
                self.session.refused(goodbye.reason, goodbye.message.clone());
            }
            // Much the same will be said again, so it had better be seldom.
            GoodbyeReason::Protocol | GoodbyeReason::Limit => {
                self.session.wait(now.instant, goodbye.retry_after.or(Some(Client::REFUSED_PAUSE)));
            }
            GoodbyeReason::Slow => self.session.wait(now.instant, goodbye.retry_after),
            GoodbyeReason::Unavailable => self.session.lost(now.instant, goodbye.retry_after),
        }
    }

    pub(super) fn on_session_due(&mut self, now: Now) {
        if self.session.asks_at(now.instant) && !self.awaits_answer() {
            self.session.link_mut().into_iter().for_each(Link::is_answered);
        }
        if self.session.is_due_to_link(now.instant) && self.tokens.to_say(now.instant).is_none() {
            return self.await_token();
        }
        match self.session.due(now.instant) {
            Due::Nothing => {}
            Due::Connect => self.outputs.push_back(Output::Connect(self.session.gateway())),
            Due::GiveUp => {
                self.drop_link();
                self.session.doubt();
                self.session.lost(now.instant, None);
            }
            Due::Ping => self.ping(now.instant),
        }
    }

    /// Whether the gateway owes this client anything but a pong. Looked at when a link falls silent, so it may cost by the queue's length.
    fn awaits_answer(&self) -> bool {
        let submitted = || self.queue.entries().any(|entry| self.queue.is_on_its_way(entry.counter()));
        !self.session.is_open() || self.partial.is_some() || self.cache.interests.any_requested() || submitted()
    }

    fn ping(&mut self, now: Instant) {
        let Some(link) = self.session.link_mut() else { return };
        let number = link.ping(now);
        self.send(FromClient::Ping(number));
    }

    /// Asks for the interests that are wanted, and gives up those that nobody needs any more.
    pub(super) fn ask(&mut self) -> bool {
        if !self.session.is_open() {
            return false;
        }
        let (mut ended, mut rows) = self.narrow();
        let (idle, of_idle) = self.cache.give_up_idle(self.limits.room());
        ended.extend(idle);
        rows.extend(of_idle);
        let wanted = self.cache.interests.take_wanted();
        let surplus = self.cache.one_too_many(self.limits.room(), |counter| self.queue.is_on_its_way(counter));
        let nothing = ended.is_empty() && wanted.is_empty() && surplus.is_none();
        if !ended.is_empty() {
            self.note_rows(rows);
            for part in ended.chunks(self.limits.subscribe_part) {
                self.send(FromClient::Unsubscribe(part.to_vec()));
            }
        }
        if let Some((subscription, reason)) = surplus {
            self.refuse_for_want_of_room(subscription, &reason);
        }
        for interests in portions(wanted, self.limits.subscribe_part) {
            let first = map_of(interests.iter().filter_map(|(id, _)| Some((*id, self.first_to_ask(*id)?))));
            self.send(FromClient::Subscribe(Subscribe { held: false, interests, first }));
            self.note_use();
        }
        !nothing
    }

    /// So many rows of a query as are asked for at once: those that are needed, and some to spare.
    pub(super) fn first_to_ask(&self, id: SubscriptionId) -> Option<First> {
        let needed = self.cache.interests.first_rows(id)?;
        let rows = with_spare(needed.rows as usize);
        Some(First { rows: u32::try_from(rows).unwrap_or(u32::MAX), ..needed })
    }

    /// What is held, to be resumed. Only one message can resume, so what does not fit into it is asked for anew.
    fn fit_one_subscribe(&mut self) -> Vec<(SubscriptionId, Interest)> {
        let live: Vec<_> = self.cache.interests.live().map(|(id, interest)| (id, interest.clone())).collect();
        let (held, rest) = fitting_one(live);
        for (id, _) in rest {
            self.want_again(id);
        }
        held
    }

    /// Before a gateway is tried again that found fault with what was asked.
    const REFUSED_PAUSE: Duration = Duration::from_secs(10);

    pub(super) fn submit(&mut self) -> bool {
        // Before the first batch is stored, a restart would number its attempts as this life does.
        if !self.session.is_open() || self.disk.done == PersistId::START || !self.rest.is_over() {
            return false;
        }
        let is_known = self.identity.is_stored(self.disk.done);
        let (disk, logs, cache, blobs, rows) = (&self.disk, &self.logs, &self.cache, &self.blobs, &self.rows);
        let (causal, now) = (&self.causal, self.session.told());
        let may_send = |entry: &Entry, ahead: &Ahead| {
            is_known
                && !disk.may_come_back_before(entry.counter())
                && causal.may_send(entry, disk.done, now)
                && logs.can_append(entry, ahead, cache)
                && blobs.is_ready(entry, cache.at())
                && rows.may_submit(entry, cache)
        };
        let (entries_max, broken) = (self.limits.log_page_entries, self.broken);
        let append = |entry: &Entry, ahead: &Ahead| {
            let (reads, writes) = logs.append(entry, ahead, cache, entries_max)?;
            Some((if broken == Broken::AppendAfterClose { Vec::new() } else { reads }, writes))
        };
        let leased = |submit: &mut Submit| blobs.name_leases(submit);
        let next = self.queue.next_submission(
            cache.at(),
            1 + logs.len() + rows.open_sets() + self.causal.lanes(),
            &self.schema,
            may_send,
            append,
            leased,
        );
        let Some(mut submit) = next else { return self.prepare_effects() };
        let counter = submit.counter;
        if self.acknowledgement.noted > self.acknowledgement.told {
            submit.acknowledged = Some(self.acknowledgement.noted);
            self.acknowledgement.due = None;
        }
        match self.encode(&FromClient::Submit(submit)) {
            Some(Ok(frame)) => {
                self.outputs.push_back(Output::Send(frame));
                self.note_acknowledging();
                self.note_use();
                self.report(counter);
            }
            Some(Err(error)) => {
                self.queue.take_back(counter);
                self.give_up(counter, &error.to_string());
            }
            None => {}
        }
        true
    }

    pub(super) fn on_acknowledgement_due(&mut self, now: Instant) {
        if self.acknowledgement.due.is_none_or(|due| due > now) {
            return;
        }
        self.acknowledgement.due = None;
        if self.session.is_open() && self.acknowledgement.noted > self.acknowledgement.told {
            self.send(FromClient::Acknowledge(self.acknowledgement.noted));
            self.note_acknowledging();
        }
    }

    /// All that is noted has gone out on the link.
    fn note_acknowledging(&mut self) {
        let Some(link) = self.session.link_mut() else { return };
        let given = link.given();
        let own = &mut self.acknowledgement;
        if own.noted > own.told {
            (own.told, own.told_by) = (own.noted, given);
        }
    }

    pub(super) fn send(&mut self, message: FromClient) {
        match self.encode(&message) {
            Some(Ok(frame)) => self.outputs.push_back(Output::Send(frame)),
            // A token or schema that no gateway takes: only the app can help.
            Some(Err(error)) => {
                self.drop_link();
                self.session.refused(GoodbyeReason::Limit, error.to_string());
            }
            None => {}
        }
    }

    fn encode(&mut self, message: &FromClient) -> Option<Result<Vec<u8>, iolite_wire::EncodeError>> {
        let link = self.session.link_mut()?;
        let encoded = link.encoder.encode(message);
        link.sent(encoded.as_ref().map_or(0, Vec::len));
        Some(encoded)
    }

    pub(super) fn note_use(&mut self) {
        self.session.is_in_use();
    }

    pub(super) fn drop_link(&mut self) {
        if matches!(self.session.state, State::Linked(_) | State::Linking { .. }) {
            self.outputs.push_back(Output::Disconnect);
            self.forget_link();
        }
    }

    fn forget_link(&mut self) {
        self.partial = None;
        self.moving.session_lost();
        self.drop_blob_link();
        self.acknowledgement.due = None;
        self.queue.session_lost();
        self.causal.session_lost(self.counters.last);
        self.delivery.session_lost();
        self.checkpoints.session_lost();
        self.cache.interests.session_lost();
    }
}
