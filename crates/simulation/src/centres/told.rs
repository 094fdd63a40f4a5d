//! News that clients were shown and told in this world. A snapshot is judged as it is shown, and not kept.
//!
//! Invariant: a call is known by its first run whose effects are on its device. It takes place once, so what another run of it would do counts for nothing.
//! A run before that may be lost with its process.

use std::collections::BTreeMap;

use iolite_client::View;
use iolite_machine::PersistId;
use serde::Serialize;

use super::app::Did;
use super::checker::judge;
use super::names::{Name, Names};
use super::snapshot::Snapshot;
use crate::checker::{Invariant, Violation};
use crate::history::ClientIndex;

#[derive(Debug, Default)]
pub struct CentresTold {
    pub calls: BTreeMap<Name, CallTold>,
    /// The names that each person who is never deleted was written by.
    pub wrote: BTreeMap<i64, Names>,
    pub clients: BTreeMap<ClientIndex, Sees>,
    /// The last snapshot of each view of each client's present life.
    pub last: BTreeMap<(ClientIndex, Views), Snapshot>,
    /// The first promise that was broken.
    pub wrong: Option<Violation>,
    pub snapshots: u64,
}

/// A view that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Views {
    Optimistic,
    Durable,
    Confirmed,
}

/// A call, as far as it is known.
#[derive(Clone, Debug)]
pub struct CallTold {
    pub client: ClientIndex,
    /// The names that its author had seen or done before, and its own.
    pub past: Names,
    /// None before a run of it came to its end.
    pub did: Option<Did>,
}

/// Calls that a client has seen and been told of.
#[derive(Clone, Debug, Default)]
pub struct Sees {
    /// All names that this life has seen or done.
    known: Names,
    /// Own calls that this life ran to their end.
    ran: Names,
    /// Calls that each view has shown in this life.
    shown: BTreeMap<Views, Names>,
    /// Own calls that are on its device, or confirmed.
    pub durable: Names,
    /// Calls that this life was told to be confirmed.
    pub confirmed: Names,
    /// Own calls, of all lives.
    called: Names,
    /// Calls of others that it was shown, and own ones that were confirmed, in any life: no data centre's end may take them.
    pub promised: Names,
    /// The confirmed names that were shown before a batch was given to the storage.
    given: BTreeMap<PersistId, Names>,
    /// Likewise, before the last batch that is stored.
    kept: Names,
}

impl Views {
    pub const ALL: [Views; 3] = [Views::Optimistic, Views::Durable, Views::Confirmed];

    pub fn view(self) -> View {
        match self {
            Views::Optimistic => View::Optimistic,
            Views::Durable => View::Durable,
            Views::Confirmed => View::Confirmed,
        }
    }

    /// # Panics
    /// For another view, which nobody watches here.
    pub fn of(view: View) -> Views {
        match view {
            View::Optimistic => Views::Optimistic,
            View::Durable => Views::Durable,
            View::Confirmed => Views::Confirmed,
            View::Delivered => panic!("nobody watches {view:?}"),
        }
    }
}

impl Sees {
    /// The names that a view has to show.
    pub fn required(&self, view: Views) -> Names {
        let mut own = match view {
            Views::Optimistic | Views::Durable => self.durable.clone(),
            Views::Confirmed => Names::default(),
        };
        own.add(&self.confirmed);
        own
    }

    /// The names that a view has shown already, or that were stored as confirmed.
    pub fn shown_in(&self, view: Views) -> Names {
        let mut shown = self.shown.get(&view).cloned().unwrap_or_default();
        shown.add(&self.kept);
        shown
    }
}

impl CentresTold {
    fn client(&mut self, client: ClientIndex) -> &mut Sees {
        self.clients.entry(client).or_default()
    }

    /// Notes the first violation.
    pub fn note_wrong(&mut self, invariant: Invariant, what: String) {
        self.wrong.get_or_insert_with(|| Violation::new(invariant, what));
    }

    pub fn note_called(&mut self, client: ClientIndex, name: Name) {
        self.client(client).called.insert(name);
        let mut past = self.client(client).known.clone();
        past.insert(name);
        self.calls.insert(name, CallTold { client, past, did: None });
    }

    /// A closure ran to its end.
    pub fn note_run(&mut self, name: Name, did: Did) {
        let Some(call) = self.calls.get_mut(&name) else { return };
        let is_durable = self.clients.get(&call.client).is_some_and(|own| own.durable.has(name));
        if is_durable && call.did.is_some() {
            return;
        }
        if let Some(lost) = call.did.take() {
            for (row, _) in &lost.rows {
                self.wrote.entry(*row).or_default().remove(name);
            }
            call.past = [name].into_iter().collect();
        }
        did.rows.iter().for_each(|(_, saw)| call.past.add(saw));
        for (row, _) in &did.rows {
            self.wrote.entry(*row).or_default().insert(name);
        }
        call.did = Some(did);
        let client = call.client;
        let own = self.client(client);
        own.known.insert(name);
        own.ran.insert(name);
    }

    /// A client said that a call which has taken place is on its device.
    pub fn note_durable(&mut self, client: ClientIndex, name: Name) {
        let own = self.client(client);
        // One that an earlier life stored before it ran is to run yet.
        if own.ran.has(name) {
            own.durable.insert(name);
        }
    }

    pub fn note_confirmed(&mut self, client: ClientIndex, name: Name) {
        let own = self.client(client);
        own.confirmed.insert(name);
        own.promised.insert(name);
        own.durable.insert(name);
    }

    /// A call ended without effect.
    pub fn note_refused(&mut self, client: ClientIndex, name: Name, how: &str) {
        if self.client(client).durable.has(name) {
            self.note_wrong(Invariant::Durability, format!("{name} of {client:?} took place, and ended so: {how}"));
        }
    }

    /// A call that took place at the device is denied by the server. It has written no person.
    pub fn note_denied(&mut self, client: ClientIndex, name: Name) {
        self.client(client).durable.remove(name);
    }

    pub fn note_given(&mut self, client: ClientIndex, batch: PersistId) {
        let own = self.client(client);
        let shown = own.shown.get(&Views::Confirmed).cloned().unwrap_or_default();
        own.given.insert(batch, shown);
    }

    pub fn note_stored(&mut self, client: ClientIndex, batch: PersistId) {
        let own = self.client(client);
        if let Some(shown) = own.given.remove(&batch) {
            own.kept.add(&shown);
        }
    }

    /// A client starts again from what is on its device.
    pub fn note_restart(&mut self, client: ClientIndex) {
        let own = self.client(client);
        own.known = own.kept.clone();
        own.known.add(&own.durable);
        (own.shown, own.given, own.confirmed, own.ran) = Default::default();
        self.last.retain(|(other, _), _| *other != client);
    }

    pub fn note_snapshot(&mut self, client: ClientIndex, view: View, snapshot: Snapshot) {
        let view = Views::of(view);
        self.snapshots += 1;
        let judged = judge(self, client, view, &snapshot);
        if let Err(violation) = judged {
            self.wrong.get_or_insert(violation);
        }
        let names = snapshot.names();
        let own = self.client(client);
        own.known.add(&names);
        own.promised.add_without(&names, &own.called);
        own.shown.entry(view).or_default().add(&names);
        self.last.insert((client, view), snapshot);
    }
}

/// Events that a run of this world has to meet, or it proves little.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CentreEvent {
    /// A call was made without a connection.
    CalledOffline,
    /// A client's process ended while calls that had taken place were on the device.
    RestartedHolding,
    /// Likewise, while some of them had been sent.
    RestartedSent,
    /// Friends parted.
    Parted,
    /// A post was deleted.
    Unposted,
    /// Somebody was deleted.
    Went,
    /// Somebody was inserted.
    Came,
    /// Links between two data centres were cut.
    CutBetween,
    /// A data centre was cut off from the others, for seconds or for long.
    Isolated,
    /// The messages of one data centre to another one waited.
    OneWay,
    /// A data centre crashed as a whole.
    Stopped,
    /// Two of three crashed, so that K could not be reached.
    MostStopped,
    /// A data centre was cut off for more than a minute.
    LongAway,
    /// A data centre was destroyed, disk and all.
    Destroyed,
    /// A call of a user was denied.
    Denied,
    /// A call about guests took effect.
    Allowed,
}

impl CentreEvent {
    pub const ALL: [CentreEvent; 16] = [
        CentreEvent::CalledOffline,
        CentreEvent::RestartedHolding,
        CentreEvent::RestartedSent,
        CentreEvent::Parted,
        CentreEvent::Unposted,
        CentreEvent::Went,
        CentreEvent::Came,
        CentreEvent::CutBetween,
        CentreEvent::Isolated,
        CentreEvent::OneWay,
        CentreEvent::Stopped,
        CentreEvent::MostStopped,
        CentreEvent::LongAway,
        CentreEvent::Destroyed,
        CentreEvent::Denied,
        CentreEvent::Allowed,
    ];

    /// Whether it is one that a call makes.
    pub fn of_call(did: &Did) -> impl Iterator<Item = CentreEvent> {
        let all = [
            (!did.parted.is_empty(), CentreEvent::Parted),
            (did.unposted.is_some(), CentreEvent::Unposted),
            (did.went, CentreEvent::Went),
            (did.came, CentreEvent::Came),
        ];
        all.into_iter().filter_map(|(is_so, event)| is_so.then_some(event))
    }
}
