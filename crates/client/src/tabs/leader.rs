//! What the leading tab keeps of those that follow.
//!
//! Invariants:
//! - a tab has at most one update on its way; rows that change meanwhile are noted once, however often, so their memory is bounded by what the client holds. What ends and
//!   what is declined is kept for it one by one, for no longer than a tab that does not answer is kept;
//! - a tab that does not answer is dropped, and joins again from nothing;
//! - what a reading of the outbox may still show although it was taken out is not adopted again.

mod ends;
mod tab;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_machine::{Instant, PersistId};
use iolite_values::{Counter, Id, Interest, TableId};
use iolite_wire::client_storage::StoredEnd;
use iolite_wire::message::{Declination, SubscriptionId};
use iolite_wire::tabs::{JoinNumber, UpdateNumber};

use super::{TabId, Ticket};
use crate::cache::{Needs, RowId};
use crate::reason::shortened;

use ends::Ends;
pub(crate) use tab::{Awaited, News, Tab};
pub(crate) use wanted::{Wanted, reach};

#[derive(Debug, Default)]
pub(crate) struct Leader {
    tabs: BTreeMap<TabId, Tab>,
    /// Calls with the position of the batch that takes them out of the outbox, while a reading may show them.
    taken_out: BTreeMap<Ticket, PersistId>,
    reading: Reading,
    /// Tickets that tabs asked about: answered by the reading that runs, and by the next.
    asked: Vec<(TabId, Id)>,
    asked_later: Vec<(TabId, Id)>,
    /// Those of them that tabs stored a moment ago.
    announced: BTreeSet<Ticket>,
    pub(crate) ends: Ends,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Idle,
    Runs,
    /// It runs, and another one follows it.
    RunsAndAgain,
}

/// What is known of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Pending(Counter),
    Ended(StoredEnd),
    /// Nothing, until the outbox was read.
    Unknown,
}

impl Leader {
    /// A silent tab is pinged after this.
    const PING_AFTER: Duration = Duration::from_secs(20);
    /// A tab that does not answer within this is dropped.
    const ANSWER_WITHIN: Duration = Duration::from_secs(15);

    pub(crate) fn restored(ends: Vec<StoredEnd>) -> Leader {
        Leader { ends: Ends::restored(ends), ..Leader::default() }
    }

    pub(crate) fn join(&mut self, tab: TabId, join: JoinNumber, now: Instant) -> &mut Tab {
        let news = match self.reading {
            Reading::Idle => News::Trusted,
            Reading::Runs | Reading::RunsAndAgain => News::LookedUp,
        };
        self.tabs.insert(tab, Tab::new(join, now, news));
        self.tabs.get_mut(&tab).expect("it was just put there")
    }

    pub(crate) fn leave(&mut self, tab: TabId) -> Option<Tab> {
        let of_others = |(own, _): &(TabId, Id)| *own != tab;
        self.asked.retain(of_others);
        self.asked_later.retain(of_others);
        self.tabs.remove(&tab)
    }

    pub(crate) fn tab_mut(&mut self, tab: TabId) -> Option<&mut Tab> {
        self.tabs.get_mut(&tab)
    }

    /// All that a tab was given of a table, and none while it waits for more of it.
    pub(crate) fn needs(&self, tab: TabId, table: TableId) -> Option<Needs<'_>> {
        self.tabs.get(&tab)?.needs(table)
    }

    pub(crate) fn tabs(&self) -> Vec<TabId> {
        self.tabs.keys().copied().collect()
    }

    pub(crate) fn note_rows(&mut self, rows: &[RowId]) {
        for tab in self.tabs.values_mut() {
            let concerned = rows.iter().filter(|row| tab.granted.values().any(|own| touches(own, row)));
            let concerned: Vec<RowId> = concerned.cloned().collect();
            tab.rows.extend(concerned);
        }
    }

    /// What the client does not hold any more, no tab does: each has to ask for it again.
    pub(crate) fn take_back(&mut self, holds: impl Fn(&Interest) -> bool) {
        for tab in self.tabs.values_mut() {
            let lost: Vec<SubscriptionId> =
                tab.granted.iter().filter(|(_, interest)| !holds(interest)).map(|(id, _)| *id).collect();
            for id in lost {
                tab.decline(id, Declination::Later);
            }
        }
    }

    /// What a tab waits for cannot be had.
    pub(crate) fn decline(&mut self, tab: TabId, interest: &Interest, reason: &str) {
        let Some(tab) = self.tabs.get_mut(&tab) else { return };
        let waiting = tab.wanted.iter().filter(|(_, own)| interest.covers(&own.interest));
        for id in waiting.map(|(id, _)| *id).collect::<Vec<_>>() {
            tab.decline(id, Declination::TooLarge(shortened(reason.to_owned())));
        }
    }

    /// What tabs wait for, or have, they cannot have any more, and are not to ask for again. `needed` says which of them needed this very interest.
    pub(crate) fn revoke(&mut self, interest: &Interest, needed: impl Fn(TabId) -> bool, reason: &str) {
        for (id, tab) in &mut self.tabs {
            let is_lost = |own: &Wanted| interest.covers(&own.interest) || needed(*id) && own.begins_in(interest);
            let waiting = tab.wanted.iter().filter(|(_, own)| is_lost(own)).map(|(id, _)| *id);
            let having = tab.granted.iter().filter(|(_, own)| interest.covers(own)).map(|(id, _)| *id);
            for id in waiting.chain(having).collect::<Vec<_>>() {
                tab.decline_for_want_of_room(id, shortened(reason.to_owned()));
            }
        }
    }

    /// Something is needed no more: by a reaction of the leader, or by a tab, which looks after its own.
    pub(crate) fn note_room(&mut self, by: Option<TabId>) {
        for (_, tab) in self.tabs.iter_mut().filter(|(id, _)| Some(**id) != by) {
            tab.get_room();
        }
    }

    pub(crate) fn note_mutation(&mut self, counter: Counter) {
        for tab in self.tabs.values_mut() {
            tab.mutations.insert(counter);
        }
    }

    pub(crate) fn note_end(&mut self, end: &StoredEnd) {
        for tab in self.tabs.values_mut() {
            tab.ended.push(end.clone());
        }
    }

    /// It is pending no more. How it ended is told later.
    pub(crate) fn note_withdrawn(&mut self, counter: Counter) {
        for tab in self.tabs.values_mut() {
            tab.withdrawn.push(counter);
        }
    }

    pub(crate) fn note_refused(&mut self, counter: Counter) {
        for tab in self.tabs.values_mut() {
            tab.refused.insert(counter);
        }
    }

    pub(crate) fn note_dismissed(&mut self, counter: Counter) {
        for tab in self.tabs.values_mut() {
            tab.dismissed.push(counter);
        }
    }

    /// Connection, or what can be fetched, changed.
    pub(crate) fn note_connection(&mut self) {
        for tab in self.tabs.values_mut() {
            tab.due = true;
        }
    }

    pub(crate) fn take_out(&mut self, ticket: Ticket, stored_with: PersistId) {
        self.taken_out.insert(ticket, stored_with);
    }

    pub(crate) fn was_taken_out(&self, ticket: Ticket) -> bool {
        self.taken_out.contains_key(&ticket)
    }

    /// Forgets what was taken out and no reading can show any more.
    pub(crate) fn forget_taken_out(&mut self, stored: PersistId) {
        if self.reading == Reading::Idle {
            self.taken_out.retain(|_, position| *position > stored);
        }
    }

    /// Notes a question that only the outbox can answer. True when a reading is to begin now.
    pub(crate) fn ask_outbox(&mut self, question: Option<(TabId, Id)>) -> bool {
        for tab in self.tabs.values_mut() {
            tab.news = News::LookedUp;
        }
        match self.reading {
            Reading::Idle => {
                self.asked.extend(question);
                self.reading = Reading::Runs;
                true
            }
            Reading::Runs | Reading::RunsAndAgain => {
                self.asked_later.extend(question);
                self.reading = Reading::RunsAndAgain;
                false
            }
        }
    }

    pub(crate) fn note_announced(&mut self, ticket: Ticket) {
        self.announced.insert(ticket);
    }

    /// Whether a tab said that it had just stored this call, which a reading has found now.
    pub(crate) fn take_announced(&mut self, ticket: Ticket) -> bool {
        self.announced.remove(&ticket)
    }

    /// A reading has ended: the questions that it answers, and whether another one is to begin.
    pub(crate) fn outbox_read(&mut self) -> (Vec<(TabId, Id)>, bool) {
        let answered = std::mem::replace(&mut self.asked, std::mem::take(&mut self.asked_later));
        let again = self.reading == Reading::RunsAndAgain;
        self.reading = if again { Reading::Runs } else { Reading::Idle };
        (answered, again)
    }

    /// The tab said something.
    pub(crate) fn heard(&mut self, tab: TabId, now: Instant) {
        if let Some(tab) = self.tabs.get_mut(&tab) {
            tab.heard = now;
            tab.awaited = match tab.awaited {
                Awaited::Pong { .. } => Awaited::Nothing,
                awaited @ (Awaited::Nothing | Awaited::Applied { .. }) => awaited,
            };
        }
    }

    /// The number of the next part of an update.
    pub(crate) fn next_number(&mut self, tab: TabId) -> UpdateNumber {
        let Some(known) = self.tabs.get_mut(&tab) else { return UpdateNumber::default() };
        known.sent.0 += 1;
        known.sent
    }

    pub(crate) fn applied(&mut self, tab: TabId, number: UpdateNumber) {
        if let Some(tab) = self.tabs.get_mut(&tab)
            && number == tab.sent
        {
            tab.awaited = Awaited::Nothing;
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let due = |tab: &Tab| match tab.awaited {
            Awaited::Nothing => tab.heard + Self::PING_AFTER,
            Awaited::Applied { since: None } | Awaited::Pong { since: None } => tab.heard,
            Awaited::Applied { since: Some(since) } | Awaited::Pong { since: Some(since) } => {
                since + Self::ANSWER_WITHIN
            }
        };
        self.tabs.values().map(due).min()
    }

    /// Notes since when answers are awaited; the tabs to ping, and those to drop.
    pub(crate) fn on_due(&mut self, now: Instant) -> (Vec<(TabId, JoinNumber)>, Vec<TabId>) {
        let (mut pinged, mut silent) = (Vec::new(), Vec::new());
        for (id, tab) in &mut self.tabs {
            match &mut tab.awaited {
                Awaited::Nothing if tab.heard + Self::PING_AFTER <= now => {
                    tab.awaited = Awaited::Pong { since: Some(now) };
                    pinged.push((*id, tab.join));
                }
                Awaited::Nothing => {}
                Awaited::Applied { since: Some(since) } | Awaited::Pong { since: Some(since) } => {
                    if *since + Self::ANSWER_WITHIN <= now {
                        silent.push(*id);
                    }
                }
                Awaited::Applied { since: nothing } | Awaited::Pong { since: nothing } => *nothing = Some(now),
            }
        }
        (pinged, silent)
    }

    pub(crate) fn validate(&self) {
        for tab in self.tabs.values() {
            let both = tab.wanted.keys().any(|id| tab.granted.contains_key(id));
            assert!(!both, "an interest is wanted or granted");
        }
        self.ends.validate();
    }
}

/// Whether an interest includes anything of a row.
fn touches(interest: &Interest, row: &RowId) -> bool {
    match interest {
        Interest::Range { table, range } => *table == row.0 && range.contains(&row.1),
        Interest::Cell(cell) => (cell.table, &cell.row) == (row.0, &row.1),
        Interest::Query(query) => query.table == row.0 && query.keys.contains(&row.1),
    }
}

/// Rows that changed.
pub(crate) type Rows = BTreeSet<RowId>;
