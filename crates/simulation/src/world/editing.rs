//! Edits of pages, in whichever tab of a client.

use std::collections::BTreeMap;

use iolite_client::{Connection, EditError, LIVE, TabId, Ticket, View};
use iolite_machine::Now;
use iolite_values::{Counter, Id};

use super::tab_node::TabNode;
use super::{ClientNode, World};
use crate::app::{Call, Draft, PAGES, Watcher, page};
use crate::history::{Called, CalledAs, ClientIndex, History, Moment, TicketCall};
use crate::occasions::Occasion;

/// How often somebody who takes things back does so with the first of some edits, in thousandths.
const EDITS_TAKEN_BACK: u64 = 500;

/// Whoever shows a page and edits it: a client, or a tab that follows.
trait Editor {
    /// What a page says; nothing, if it is not held.
    fn page(&mut self, key: i64) -> Option<String>;

    /// Shows it with what is pending, unless it is shown or waited for.
    fn begin_to_watch(&mut self, watcher: Watcher);

    fn is_offline(&self) -> bool;

    /// Makes an edit and calls it, unless it cannot call anything. The ticket is for a tab that follows.
    fn edit(&mut self, now: Now, moment: Moment, draft: &Draft, ticket: Ticket, history: &mut History) -> Option<Made>;
}

/// A call of an edit.
#[derive(Clone, Copy)]
enum Made {
    ByLeader(Counter),
    InTab(TabId, Ticket),
}

/// What every client and every tab shows of the pages that it holds.
pub type PagesShown = BTreeMap<(ClientIndex, Option<TabId>, i64), String>;

impl World {
    /// Somebody edits a page in one of a client's tabs, some times in a row, and may take the first of these edits back. If
    /// it is not shown there, it is from now on.
    pub(super) fn edit(&mut self, client: ClientIndex) {
        // An edit is of what is shown, so hosts leave nothing undone before it.
        self.settle_client(client);
        let key = self.random.below(PAGES as u64) as i64;
        let tabs = &self.clients[client.0].tabs;
        let place = self.random.below(tabs.len() as u64 + 1) as usize;
        let awake = tabs.values().nth(place).filter(|tab| tab.frozen_until <= self.moment);
        let tab = awake.map(|tab| tab.id);
        let mut first = None;
        for _ in 0..self.random.between(1, 3) {
            self.calls_left[client.0] = self.calls_left[client.0].saturating_sub(1);
            let Some(made) = self.edit_once(client, tab, key) else { break };
            first.get_or_insert(made);
        }
        if let Some(first) = first
            && self.habits.take_back > 0
            && self.random.chance(EDITS_TAKEN_BACK)
        {
            self.take_edit_back(client, first);
        }
    }

    fn take_edit_back(&mut self, client: ClientIndex, made: Made) {
        let node = &mut self.clients[client.0];
        match made {
            Made::ByLeader(counter) => {
                let is_taken = node.take_back(counter, &mut self.history);
                self.occasions.add(Occasion::TakenBack, u64::from(is_taken));
            }
            Made::InTab(tab, ticket) => {
                node.tabs.get_mut(&tab).expect("it has just edited").follower.take_back(ticket);
                self.history.tickets.get_mut(&ticket).expect("it was called").asked_back = true;
            }
        }
    }

    fn edit_once(&mut self, client: ClientIndex, tab: Option<TabId>, key: i64) -> Option<Made> {
        let now = self.now_of_client(client);
        let ticket = Ticket(Id::from_u128(self.random.id()));
        let node = &mut self.clients[client.0];
        let last = node.last_typed;
        let editor: &mut dyn Editor = match tab.and_then(|id| node.tabs.get_mut(&id)) {
            Some(tab) => tab,
            None => node,
        };
        let Some(shown) = editor.page(key) else {
            editor.begin_to_watch(Watcher::Page { key });
            return None;
        };
        let draft = Draft::random(&mut self.random, key, &shown, last, &mut self.letters);
        let is_offline = editor.is_offline();
        let made = editor.edit(now, self.moment, &draft, ticket, &mut self.history)?;
        let after = editor.page(key);
        assert_eq!(
            after.as_ref(),
            Some(&draft.comes_to),
            "{draft:?} of {shown:?} shows at once, and nothing else does"
        );
        self.clients[client.0].last_typed = draft.last().or(last);
        self.occasions.add(Occasion::TextEdited, 1);
        self.occasions.add(Occasion::TextEditedOffline, u64::from(is_offline));
        self.occasions.add(Occasion::TextEditedInTab, u64::from(tab.is_some()));
        Some(made)
    }

    /// Every page is shown in every tab of every client.
    pub(super) fn watch_all_pages(&mut self) {
        for node in &mut self.clients {
            for key in 0..PAGES {
                let watcher = Watcher::Page { key };
                node.watch(watcher, View::Optimistic);
                node.tabs.values_mut().for_each(|tab| tab.watch(watcher, View::Optimistic));
            }
        }
    }

    pub fn pages_shown(&mut self) -> PagesShown {
        let mut shown = PagesShown::new();
        for node in &mut self.clients {
            for key in 0..PAGES {
                shown.extend(node.page(key).map(|text| ((node.index, None, key), text)));
                for (id, tab) in &mut node.tabs {
                    shown.extend(tab.page(key).map(|text| ((node.index, Some(*id), key), text)));
                }
            }
        }
        shown
    }
}

impl Editor for ClientNode {
    fn page(&mut self, key: i64) -> Option<String> {
        shown(self.client.live_text(&page(key)))
    }

    fn begin_to_watch(&mut self, watcher: Watcher) {
        if !self.watches(watcher) {
            self.watch(watcher, View::Optimistic);
        }
    }

    fn is_offline(&self) -> bool {
        self.client.connection() == Connection::Offline
    }

    fn edit(&mut self, now: Now, moment: Moment, draft: &Draft, _: Ticket, history: &mut History) -> Option<Made> {
        let arguments = self.client.live_edit(&draft.page(), &draft.splice()).expect("what is shown can be edited");
        let counter = self.client.mutate(now.wall, LIVE, &arguments).expect("it waits for few");
        let call = Call::Edit(draft.made(arguments));
        self.note_call(counter, Called::new(call, CalledAs::Named, moment, self.life), history);
        Some(Made::ByLeader(counter))
    }
}

impl Editor for TabNode {
    fn page(&mut self, key: i64) -> Option<String> {
        shown(self.follower.live_text(&page(key)))
    }

    fn begin_to_watch(&mut self, watcher: Watcher) {
        if !self.watches(watcher) {
            self.watch(watcher, View::Optimistic);
        }
    }

    fn is_offline(&self) -> bool {
        self.follower.connection() == Connection::Offline
    }

    /// A tab of another version of the app than its leader's calls nothing.
    fn edit(&mut self, now: Now, moment: Moment, draft: &Draft, ticket: Ticket, history: &mut History) -> Option<Made> {
        let edit = self.follower.live_edit(ticket, &draft.page(), &draft.splice());
        let arguments = edit.expect("what is shown can be edited");
        self.follower.mutate(now.wall, ticket, LIVE, &arguments).ok()?;
        let call = Call::Edit(draft.made(arguments));
        history.tickets.insert(ticket, TicketCall::new(self.client, call, moment));
        Some(Made::InTab(self.id, ticket))
    }
}

/// Why a page is not shown: only because it is not held.
fn shown(text: Result<String, EditError>) -> Option<String> {
    match text {
        Ok(text) => Some(text),
        Err(EditError::NotHeld) => None,
        Err(other) => panic!("a page that nobody creates or deletes cannot be shown: {other}"),
    }
}
