//! Taking a peer's outbox: its entries, in order, into this data centre's store.
//!
//! Invariants:
//! - entries come without a hole: one that does not join what came before is refused;
//! - an entry is applied when everything that it rests on is in the store and in the feed here, and none passes an earlier one of its client;
//! - `through` is true: every entry at or below it is in the store here, and the feed has shown it.
//!
//! Source: SwiftCloud (Zawirski 2013, section 3.2.3); one number in place of a vector.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::time::Duration;

use iolite_store::{CommitReply, CompletionDecision, Refusal, Reply};
use iolite_values::{ClientId, StoreIncarnation, Timestamp};
use iolite_wire::centres::{Entries, OutboxEntry, Place, Seen, ShippedTransaction};

use crate::LinkId;
use crate::limits::TAKEN_AT_ONCE_MAX;

/// The part of one peer's outbox that is taken or on its way.
#[derive(Clone, Debug)]
pub struct Taking {
    /// The link on which the outbox was asked for.
    link: Option<LinkId>,
    /// The store that answered on it.
    store: Option<StoreIncarnation>,
    /// The store that answered last, on this link or an earlier one: what has come is of it.
    known_store: Option<StoreIncarnation>,
    through: Place,
    /// The last place that has come.
    received: Place,
    /// Entries above `through`, in order.
    window: VecDeque<Item>,
    /// The place that was last told on this link.
    told: Place,
    stopped: Option<String>,
    /// The peer has deleted what is lacking here.
    is_lost: bool,
    /// Why an entry is tried again and again.
    refused: Option<String>,
    /// Transactions that have other effects here.
    differing: u64,
}

#[derive(Clone, Debug)]
struct Item {
    place: Place,
    entry: OutboxEntry,
    state: State,
}

/// Entries that the feed has brought to an end.
#[derive(Clone, Debug, Default)]
pub struct Fed {
    pub transactions: Vec<ShippedTransaction>,
    pub marks: Vec<Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// The store refused it for now: it is tried again once the feed is so far.
    Refused(Timestamp),
    Asked,
    /// Done once the feed is so far.
    Committed(Timestamp),
}

/// An entry that is to be committed now.
#[derive(Clone, Debug)]
pub struct Start {
    pub place: Place,
    pub entry: ShippedTransaction,
    /// The timestamp above which it has to commit.
    pub floor: Timestamp,
}

/// The pause before an entry that the store refused is tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// The time at which the store is asked again.
fn later(position: Timestamp) -> Timestamp {
    Timestamp::end_of(position.micros() + REFUSED_PAUSE.as_micros() as u64)
}

/// Whether the store may take later what it refuses now: clocks are set, shards are split, and a row that two data centres have filled at once becomes
/// smaller by removals.
fn passes(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::NotResolved { .. }
        | Refusal::TooFarAhead { .. }
        | Refusal::OtherShard { .. }
        | Refusal::RowTooLarge { .. } => true,
        Refusal::Type { .. } | Refusal::TransactionTooLarge { .. } | Refusal::Configuration(_) => false,
    }
}

impl Taking {
    /// Everything through this place is here.
    pub fn new(through: Place) -> Taking {
        Taking {
            link: None,
            store: None,
            known_store: None,
            through,
            received: through,
            window: VecDeque::new(),
            told: Place::START,
            stopped: None,
            is_lost: false,
            refused: None,
            differing: 0,
        }
    }

    /// Transactions have come that have other effects here.
    pub fn found_differing(&mut self, count: u64) {
        self.differing += count;
    }

    pub fn differing(&self) -> u64 {
        self.differing
    }

    /// A link is there. Returns the place behind which the outbox is asked for.
    pub fn opened(&mut self, link: LinkId) -> Place {
        (self.link, self.store, self.told) = (Some(link), None, Place::START);
        self.received
    }

    pub fn closed(&mut self, link: LinkId) {
        if self.link == Some(link) {
            (self.link, self.store) = (None, None);
        }
    }

    pub fn store(&self) -> Option<StoreIncarnation> {
        self.store
    }

    /// The store that what has come is of. It may be away, or gone for good.
    pub fn known_store(&self) -> Option<StoreIncarnation> {
        self.known_store
    }

    pub fn through(&self) -> Place {
        self.through
    }

    /// Why nothing more is taken, if so.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref().or(self.refused.as_deref())
    }

    /// The peer serves the outbox of this store.
    pub fn following(&mut self, store: StoreIncarnation) {
        (self.store, self.known_store, self.is_lost) = (Some(store), Some(store), false);
    }

    /// The peer has deleted what is lacking here, until it serves its outbox again: what is lacking may come by way of a third data centre.
    pub fn lost(&mut self) {
        self.is_lost = true;
    }

    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// From now on it takes no more before the next start: going on would leave a hole.
    pub fn stop(&mut self, reason: String) {
        self.stopped.get_or_insert(reason);
    }

    /// A stretch of the outbox has come.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn entries(&mut self, entries: Entries) -> Result<(), String> {
        if self.store.is_none() {
            return Err("entries came before it was said of which store they are".into());
        }
        if entries.after > self.received {
            return Err(format!("entries are missing between {} and {}", self.received.0, entries.after.0));
        }
        let places: Vec<Place> =
            iter::once(entries.after).chain(entries.entries.iter().map(|(place, _)| *place)).collect();
        if let Some([before, next]) = places.windows(2).find(|pair| !pair[0].joins(pair[1])) {
            return Err(format!("entry {} does not follow on {}", next.0, before.0));
        }
        // What a mark of another data centre has told of meanwhile comes still.
        let received = self.received;
        for (place, bytes) in entries.entries.into_iter().filter(|(place, _)| *place > received) {
            let entry = OutboxEntry::decode(&bytes).map_err(|error| format!("entry {} is none: {error}", place.0))?;
            let state = match entry {
                OutboxEntry::Transaction(_) => State::Waiting,
                OutboxEntry::Seen(_) => State::Committed(Timestamp::ZERO),
            };
            self.window.push_back(Item { place, entry, state });
            self.received = place;
        }
        Ok(())
    }

    /// Entries that can be committed now; each is then on its way. `position`: the feed's.
    pub fn start(&mut self, position: Timestamp, ignores_after: bool) -> Vec<Start> {
        let mut started = Vec::new();
        let mut open = self.window.iter().filter(|item| item.state == State::Asked).count();
        let mut earlier: BTreeMap<ClientId, Option<Timestamp>> = BTreeMap::new();
        let is_stopped = self.stopped.is_some();
        for item in &mut self.window {
            let OutboxEntry::Transaction(entry) = &item.entry else { continue };
            let client = entry.transaction.client;
            let rests = entry.after <= self.through || ignores_after;
            // Of one client the later waits for the earlier one.
            let floor = earlier.get(&client).copied().unwrap_or(Some(position));
            let is_due = match item.state {
                State::Waiting => true,
                State::Refused(until) => until <= position,
                State::Asked | State::Committed(_) => false,
            };
            if let (true, true, Some(floor), false) = (is_due, rests, floor, is_stopped)
                && open < TAKEN_AT_ONCE_MAX
            {
                item.state = State::Asked;
                open += 1;
                started.push(Start { place: item.place, entry: entry.clone(), floor: floor.max(position) });
            }
            let committed = match item.state {
                State::Committed(at) => Some(at),
                State::Waiting | State::Asked | State::Refused(_) => None,
            };
            earlier.insert(client, committed);
        }
        started
    }

    /// The store's reply for an entry.
    pub fn on_reply(&mut self, place: Place, reply: &Reply, position: Timestamp) {
        let Some(item) = self.window.iter_mut().find(|item| item.place == place) else { return };
        let problem = match reply {
            Reply::Commit(CommitReply::Completed(completion)) => match completion.decision {
                CompletionDecision::Committed => return item.state = State::Committed(completion.at),
                CompletionDecision::Aborted => "it was given up in this data centre".to_owned(),
            },
            // Its client has seen it here.
            Reply::Commit(CommitReply::Forgotten) => return item.state = State::Committed(position),
            Reply::Commit(CommitReply::InDoubt { .. } | CommitReply::Conflict { .. }) => {
                return item.state = State::Waiting;
            }
            Reply::Refused(refusal) if passes(refusal) => {
                self.refused = Some(format!("entry {} is not applied yet: {refusal}", place.0));
                return item.state = State::Refused(later(position));
            }
            Reply::Refused(refusal) => refusal.to_string(),
            other => format!("the store answers {other:?}"),
        };
        self.stop(format!("entry {} cannot be applied: {problem}", place.0));
    }

    /// The feed has come so far.
    pub fn fed(&mut self, position: Timestamp) -> Fed {
        let mut fed = Fed::default();
        while let Some(item) = self.window.pop_front() {
            if !matches!(item.state, State::Committed(at) if at <= position) {
                self.window.push_front(item);
                break;
            }
            (self.through, self.refused) = (item.place, None);
            match item.entry {
                OutboxEntry::Transaction(transaction) => fed.transactions.push(transaction),
                OutboxEntry::Seen(seen) => fed.marks.push(seen),
            }
        }
        fed
    }

    /// Everything through a place is here by another way: a third data centre has said so, or another gateway of this one. Returns whether that is news.
    pub fn raise(&mut self, through: Place) -> bool {
        if through <= self.through {
            return false;
        }
        // The outcome of what is under way is not waited for: it is the same.
        self.window.retain(|item| item.place > through);
        (self.through, self.received) = (through, self.received.max(through));
        true
    }

    /// The place that the peer is to be told, which is stored, if it was not told on this link.
    pub fn tell(&mut self, stored: Place) -> Option<(LinkId, Place)> {
        let link = self.link.filter(|_| self.store.is_some() && stored > self.told)?;
        self.told = stored;
        Some((link, stored))
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        let places: Vec<Place> = self.window.iter().map(|item| item.place).collect();
        assert!(places.is_sorted() && places.first().is_none_or(|first| *first > self.through));
        assert_eq!(self.received, places.last().copied().unwrap_or(self.through), "nothing is received and not kept");
    }
}

#[cfg(test)]
mod tests {
    use iolite_store::Completion;
    use iolite_values::{Attempt, CoordinatorId, Id};

    use super::*;
    use crate::tests::{effects, id};

    const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(9));

    /// Entries of a client and a counter each, which rest on what is through a place.
    fn taking(entries: &[(u128, u64, u64)]) -> Taking {
        let mut taking = Taking::new(Place::START);
        assert_eq!(taking.opened(LinkId(1)), Place::START);
        taking.following(STORE);
        let entry = |(place, (client, counter, after)): (u64, &(u128, u64, u64))| {
            let (transaction, after) = (id(*client, *counter), Place(*after));
            let entry = ShippedTransaction { transaction, after, taken: None, writes: effects(transaction, 1) };
            (Place(place), OutboxEntry::Transaction(entry).encode().expect("small"))
        };
        let entries = (1..).zip(entries).map(entry).collect();
        taking.entries(Entries { after: Place::START, entries }).expect("they join");
        taking
    }

    fn at(micros: u64) -> Timestamp {
        Timestamp::new(micros, CoordinatorId::default())
    }

    fn started(taking: &mut Taking, position: u64, ignores_after: bool) -> Vec<(u64, Timestamp)> {
        taking.start(at(position), ignores_after).iter().map(|start| (start.place.0, start.floor)).collect()
    }

    fn committed(taking: &mut Taking, place: u64, micros: u64) {
        let completion = Completion { attempt: Attempt(1), at: at(micros), decision: CompletionDecision::Committed };
        taking.on_reply(Place(place), &Reply::Commit(CommitReply::Completed(completion)), Timestamp::ZERO);
        taking.validate();
    }

    /// Whether the feed brings a transaction to its end.
    fn fed(taking: &mut Taking, position: u64) -> bool {
        !taking.fed(at(position)).transactions.is_empty()
    }

    #[test]
    fn what_a_third_one_tells_of_is_not_waited_for() {
        let mut taking = taking(&[(1, 1, 0), (2, 1, 0), (3, 1, 2)]);
        started(&mut taking, 5, false);
        assert!(taking.raise(Place(2)) && !taking.raise(Place(1)));
        assert_eq!(started(&mut taking, 5, false), [(3, at(5))], "what it rests on is here");
        assert!(taking.raise(Place(9)));
        committed(&mut taking, 3, 6);
        let entry = |place| (Place(place), OutboxEntry::Seen(Seen::default()).encode().expect("small"));
        let entries = Entries { after: Place(3), entries: (4..=10).map(entry).collect() };
        assert_eq!(taking.entries(entries), Ok(()), "what was told of comes still");
        assert_eq!(taking.fed(at(9)).marks.len(), 1, "the others are through already");
        assert_eq!(taking.through(), Place(10));
    }

    #[test]
    fn an_entry_waits_for_what_it_rests_on_and_others_pass_it() {
        let mut taking = taking(&[(1, 1, 0), (2, 1, 1), (3, 1, 0)]);
        assert_eq!(started(&mut taking, 5, false), [(1, at(5)), (3, at(5))]);
        committed(&mut taking, 1, 7);
        assert!(!fed(&mut taking, 6) && started(&mut taking, 6, false).is_empty(), "the feed has not shown it");
        assert!(fed(&mut taking, 7));
        assert_eq!(started(&mut taking, 7, false), [(2, at(7))]);
        committed(&mut taking, 3, 8);
        assert!(!fed(&mut taking, 9) && taking.through() == Place(1), "nothing is told beyond a gap");
        committed(&mut taking, 2, 9);
        assert!(fed(&mut taking, 9) && taking.through() == Place(3));
        assert_eq!(taking.tell(Place(1)), Some((LinkId(1), Place(1))), "what is stored");
        assert_eq!(taking.tell(Place(1)), None, "once");
    }

    #[test]
    fn of_one_client_the_later_waits_for_the_earlier_one_and_commits_above_it() {
        let mut taking = taking(&[(1, 1, 0), (1, 2, 0)]);
        assert_eq!(started(&mut taking, 5, false), [(1, at(5))]);
        committed(&mut taking, 1, 20);
        assert_eq!(started(&mut taking, 5, false), [(2, at(20))]);
    }

    #[test]
    fn so_many_are_committed_at_once() {
        let most = TAKEN_AT_ONCE_MAX as u128;
        let entries: Vec<_> = (1..=most + 1).map(|client| (client, 1, 0)).collect();
        let mut taking = taking(&entries);
        assert_eq!(started(&mut taking, 5, false).len(), TAKEN_AT_ONCE_MAX);
        committed(&mut taking, 1, 6);
        assert_eq!(started(&mut taking, 5, false), [(most as u64 + 1, at(5))]);
    }

    #[test]
    fn after_a_lost_link_it_goes_on_behind_what_has_come() {
        let mut taking = taking(&[(1, 1, 0), (2, 1, 0)]);
        taking.closed(LinkId(1));
        assert_eq!(taking.opened(LinkId(2)), Place(2));
        assert_eq!(started(&mut taking, 5, false).len(), 2, "what has come is kept");
    }

    #[test]
    fn what_is_refused_for_now_is_tried_again_and_told_meanwhile() {
        let mut taking = taking(&[(1, 1, 0)]);
        started(&mut taking, 5, false);
        let (asked, limit) = (at(5), at(4));
        taking.on_reply(Place(1), &Reply::Refused(Refusal::TooFarAhead { asked, limit }), at(5));
        assert!(taking.stopped().is_some_and(|told| told.starts_with("entry 1 is not applied yet")));
        assert!(started(&mut taking, 1_000_004, false).is_empty());
        assert_eq!(started(&mut taking, 1_000_006, false).len(), 1);
        committed(&mut taking, 1, 1_000_007);
        assert!(fed(&mut taking, 1_000_008) && taking.stopped().is_none());
    }

    #[test]
    fn what_cannot_be_applied_stops_it() {
        let mut taking = taking(&[(1, 1, 0), (2, 1, 1)]);
        started(&mut taking, 5, false);
        let completion = Completion { attempt: Attempt(1), at: at(6), decision: CompletionDecision::Aborted };
        taking.on_reply(Place(1), &Reply::Commit(CommitReply::Completed(completion)), Timestamp::ZERO);
        assert_eq!(taking.stopped(), Some("entry 1 cannot be applied: it was given up in this data centre"));
        assert!(!fed(&mut taking, 9) && started(&mut taking, 9, true).is_empty());
    }
}
