//! A tab that follows, and the channel between it and the tab that leads.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use iolite_client::{
    CallStatus, Closed, Follower, FollowerConfig, FollowerInput, FollowerOutput, Input, Limits, OUTBOX, Output,
    ReactionId, RunOf, StorageChange, TabId, Ticket, Transaction, View,
};
use iolite_machine::{Machine, Now, PersistId};
use iolite_values::{Id, Schema};
use iolite_wire::message::RowSnapshot;
use iolite_wire::tabs::{TabNotice, ToTab};

use super::{Closure, Harness, SCHEMA, Stop};

pub struct Tab {
    pub id: TabId,
    pub follower: Follower,
    reactions: BTreeMap<ReactionId, Closure>,
    /// On its way to the leader, and from it.
    pub up: Vec<Vec<u8>>,
    pub down: Vec<Vec<u8>>,
    /// What the tab stores, and when it was.
    pub unstored: Vec<(PersistId, Vec<StorageChange>)>,
    pub calls: Vec<(Ticket, CallStatus)>,
    pub other: Vec<FollowerOutput>,
    /// The rows that the leader told it of, as it told them.
    pub given: Vec<RowSnapshot>,
}

impl Tab {
    pub fn new(id: u64, now: Now) -> Tab {
        Tab::with_schema(id, now, SCHEMA)
    }

    pub fn with_schema(id: u64, now: Now, schema: &str) -> Tab {
        let schema = Arc::new(Schema::from_json(schema).expect("a good schema"));
        Tab {
            id: TabId(id),
            follower: Follower::open(FollowerConfig { schema, limits: Limits::default() }, now),
            reactions: BTreeMap::new(),
            up: Vec::new(),
            down: Vec::new(),
            unstored: Vec::new(),
            calls: Vec::new(),
            other: Vec::new(),
            given: Vec::new(),
        }
    }

    pub fn react(
        &mut self,
        view: View,
        closure: impl Fn(&mut Transaction<'_>) -> Result<(), Stop> + 'static,
    ) -> ReactionId {
        let id = self.follower.register(view);
        self.reactions.insert(id, Box::new(closure));
        self.settle();
        id
    }

    pub fn mutate(&mut self, now: Now, ticket: u128, name: &str) -> Ticket {
        let ticket = Ticket(Id::from_u128(ticket));
        self.follower.mutate(now.wall, ticket, name, "{}").expect("there is room");
        self.settle();
        ticket
    }

    pub fn input(&mut self, now: Now, input: FollowerInput) {
        self.follower.handle(now, input);
        self.settle();
    }

    pub fn settle(&mut self) {
        while let Some(output) = self.follower.poll() {
            match output {
                FollowerOutput::Send(message) => self.up.push(message),
                FollowerOutput::Persist { id, changes } => self.unstored.push((id, changes)),
                FollowerOutput::Run(of) => self.run(of),
                FollowerOutput::Call { ticket, status } => self.calls.push((ticket, status)),
                other => self.other.push(other),
            }
            self.follower.validate();
        }
    }

    fn run(&mut self, of: RunOf) {
        let RunOf::Reaction(id) = of else { panic!("mutations run at the leader") };
        let mut run = self.follower.begin(of);
        let closed = match self.reactions[&id](&mut self.follower.transaction(&mut run)) {
            Ok(()) => Closed::Returned,
            Err(stop) => Closed::Failed(format!("{stop:?}")),
        };
        self.follower.finish(run, closed);
    }

    /// The storage finishes what the tab gave it.
    pub fn store(&mut self, leader: &mut Harness) {
        for (id, changes) in std::mem::take(&mut self.unstored) {
            for change in changes {
                let StorageChange::Put { key, value } = change else { panic!("a follower deletes nothing") };
                leader.storage.insert(key, value);
            }
            self.input(leader.now, FollowerInput::Persisted(id));
        }
    }

    pub fn last_call(&self, ticket: Ticket) -> &CallStatus {
        &self.calls.iter().rev().find(|(own, _)| *own == ticket).expect("it was reported").1
    }

    /// What a reaction saw, each time.
    pub fn watch<T: 'static>(
        &mut self,
        view: View,
        read: impl Fn(&mut Transaction<'_>) -> Result<T, Stop> + 'static,
    ) -> Rc<RefCell<Vec<T>>> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        self.react(view, move |tx| {
            let value = read(tx)?;
            log.borrow_mut().push(value);
            Ok(())
        });
        seen
    }
}

/// Takes what the leader has for its tabs.
pub fn take_down(leader: &mut Harness, tabs: &mut [Tab]) {
    for output in std::mem::take(&mut leader.other) {
        match output {
            Output::ToTab(id, message) => {
                if let Some(tab) = tabs.iter_mut().find(|tab| tab.id == id) {
                    tab.down.push(message);
                }
            }
            other => leader.other.push(other),
        }
    }
}

/// Answers the leader's wish to read the outbox.
pub fn read_outbox(leader: &mut Harness) -> bool {
    let before = leader.other.len();
    leader.other.retain(|output| *output != Output::ReadOutbox);
    let wishes = before - leader.other.len();
    for _ in 0..wishes {
        let entries = leader.storage.iter().filter(|(key, _)| key[0] == OUTBOX);
        let entries = entries.map(|(key, value)| (key.clone(), value.clone())).collect();
        leader.input(Input::Outbox(entries));
    }
    wishes > 0
}

/// Carries everything to and fro until nothing moves.
pub fn exchange(leader: &mut Harness, tabs: &mut [Tab]) {
    loop {
        leader.settle();
        take_down(leader, tabs);
        let mut moved = read_outbox(leader);
        for tab in tabs.iter_mut() {
            tab.settle();
            moved |= !tab.unstored.is_empty() || !tab.up.is_empty() || !tab.down.is_empty();
            tab.store(leader);
            for message in std::mem::take(&mut tab.down) {
                tab.given.extend(rows_in(&message));
                tab.input(leader.now, FollowerInput::FromLeader(message));
            }
            for message in std::mem::take(&mut tab.up) {
                leader.input(Input::FromTab(tab.id, message));
            }
        }
        if !moved {
            return;
        }
    }
}

fn rows_in(message: &[u8]) -> Vec<RowSnapshot> {
    match ToTab::decode(message).expect("a leader's message").notice {
        TabNotice::Update(update) => {
            let snapshots = update.snapshots.into_iter().flat_map(|snapshot| snapshot.rows);
            snapshots.chain(update.rows).collect()
        }
        TabNotice::Welcome(..) | TabNotice::Ping | TabNotice::Goodbye(_) => Vec::new(),
    }
}
