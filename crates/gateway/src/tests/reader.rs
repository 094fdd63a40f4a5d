//! A client that checks after every advance that it holds what the store holds at that timestamp.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_values::{Counter, Interest, KeyRange, Row, RowKey, TableId, Timestamp, Value};
use iolite_wire::message::{Advance, FromClient, FromGateway, Hello, Resume, Submit, Verdict};

use super::fake_store::{FakeStore, STORE};
use super::world::*;

type Rows = BTreeMap<(TableId, RowKey), Row>;

/// What the reader holds of an interest: nothing before the first answer.
struct Held {
    interest: Interest,
    rows: Option<Rows>,
}

pub struct Reader {
    client: u64,
    pub session: Option<u64>,
    pub welcomed: bool,
    /// Said, and not yet with the gateway.
    pub said: VecDeque<FromClient>,
    held: BTreeMap<u32, Held>,
    next_name: u32,
    position: Timestamp,
    resumable: bool,
    parts: Vec<Advance>,
    /// Submitted, and not answered.
    open: BTreeMap<Counter, Submit>,
    next_counter: u64,
}

impl Reader {
    pub fn new(client: u64) -> Reader {
        Reader {
            client,
            session: None,
            welcomed: false,
            said: VecDeque::new(),
            held: BTreeMap::new(),
            next_name: 1,
            position: Timestamp::ZERO,
            resumable: false,
            parts: Vec::new(),
            open: BTreeMap::new(),
            next_counter: 1,
        }
    }

    pub fn hello(&self) -> FromClient {
        let resume = self.resumable.then_some(Resume { store: STORE, at: self.position, rights: None });
        // Every second one hears of changes now and then only.
        let batch = Duration::from_millis(self.client % 2 * 600);
        FromClient::Hello(Hello { resume, batch, ..hello(self.client) })
    }

    /// Returns the session that it had. What was not answered whole is asked for again.
    pub fn disconnect(&mut self) -> Option<u64> {
        self.welcomed = false;
        self.parts.clear();
        self.said.clear();
        self.session.take()
    }

    pub fn subscribe(&mut self, what: &[u8]) -> Option<FromClient> {
        let mut named = Vec::new();
        for kind in what {
            let interest = interest(*kind);
            named.push((self.next_name, interest.clone()));
            self.held.insert(self.next_name, Held { interest, rows: None });
            self.next_name += 1;
        }
        Some(subscribe(false, named))
    }

    pub fn unsubscribe(&mut self, name: u32) -> Option<FromClient> {
        self.held.remove(&name).map(|_| unsubscribe(&[name]))
    }

    pub fn submit(&mut self, row: i64) -> Option<FromClient> {
        let submit = blind(self.next_counter, vec![add(row, 1)]);
        self.next_counter += 1;
        self.open.insert(submit.counter, submit.clone());
        Some(FromClient::Submit(submit))
    }

    /// Takes a message, and says something to it.
    pub fn hear(&mut self, message: FromGateway, store: &FakeStore) -> Result<(), String> {
        match message {
            FromGateway::Welcome(welcome) => {
                self.begin(welcome.resumed);
                Ok(())
            }
            FromGateway::Advance(part) => {
                let more = part.more;
                self.parts.push(part);
                if more { Ok(()) } else { self.apply(store) }
            }
            FromGateway::Pong(_) => Ok(()),
            FromGateway::SchemaWanted
            | FromGateway::Goodbye(_)
            | FromGateway::LogWanted(_)
            | FromGateway::LogDiffers(_)
            | FromGateway::Stored(_)
            | FromGateway::Renewed(_) => Err(format!("unexpected: {message:?}")),
        }
    }

    pub fn has_everything(&self, position: Timestamp) -> Result<(), String> {
        let client = self.client;
        if self.position != position {
            return Err(format!("client {client} is at {:?}, not at {position:?}", self.position));
        }
        if let Some((name, _)) = self.held.iter().find(|(_, held)| held.rows.is_none()) {
            return Err(format!("client {client} has no answer to subscription {name}"));
        }
        match self.open.keys().next() {
            Some(counter) => Err(format!("client {client} has no outcome of {counter:?}")),
            None => Ok(()),
        }
    }

    fn begin(&mut self, resumed: bool) {
        self.welcomed = true;
        if !resumed {
            self.held.values_mut().for_each(|held| held.rows = None);
        }
        let of = |known: bool| {
            let own = self.held.iter().filter(move |(_, held)| held.rows.is_some() == known);
            own.map(|(name, held)| (*name, held.interest.clone())).collect::<Vec<_>>()
        };
        let (known, unknown) = (of(true), of(false));
        let again = self.open.values().cloned().map(FromClient::Submit);
        self.said = [subscribe(true, known), subscribe(false, unknown)].into_iter().chain(again).collect();
    }

    fn apply(&mut self, store: &FakeStore) -> Result<(), String> {
        let parts = std::mem::take(&mut self.parts);
        let to = parts.last().expect("one at least").to;
        if to < self.position {
            return Err(format!("client {} went back from {:?} to {to:?}", self.client, self.position));
        }
        self.position = to;
        self.resumable = true;
        for write in parts.iter().flat_map(|part| &part.changes) {
            for held in self.held.values_mut().filter(|held| held.interest.includes(&write.cell)) {
                let Some(rows) = &mut held.rows else { continue };
                let row = rows.entry((write.cell.table, write.cell.row.clone())).or_default();
                row.apply(write.cell.column, &write.operation).map_err(|error| error.to_string())?;
            }
        }
        self.replace(&parts);
        self.settle(&parts)?;
        self.compare(store)
    }

    /// Rows of one subscription that are spread over parts are one snapshot.
    fn replace(&mut self, parts: &[Advance]) {
        let mut snapshots: BTreeMap<u32, Rows> = BTreeMap::new();
        for snapshot in parts.iter().flat_map(|part| &part.snapshots) {
            let rows = snapshots.entry(snapshot.subscription.0).or_default();
            rows.extend(snapshot.rows.iter().map(|own| ((own.table, own.key.clone()), own.row.clone())));
        }
        for (name, rows) in snapshots {
            if let Some(held) = self.held.get_mut(&name) {
                held.rows = Some(rows);
            }
        }
    }

    fn settle(&mut self, parts: &[Advance]) -> Result<(), String> {
        for outcome in parts.iter().flat_map(|part| &part.outcomes) {
            match outcome.verdict {
                Verdict::Committed(at) if at <= self.position => drop(self.open.remove(&outcome.counter)),
                ref other => return Err(format!("{other:?} at {:?}", self.position)),
            }
        }
        Ok(())
    }

    fn compare(&self, store: &FakeStore) -> Result<(), String> {
        for (name, held) in &self.held {
            let Some(rows) = &held.rows else { continue };
            let stored = store.rows(&held.interest, self.position);
            let stored: Rows = stored.into_iter().map(|own| ((own.table, own.key), own.row)).collect();
            if *rows != stored {
                let (client, at) = (self.client, self.position);
                return Err(format!("client {client} holds something else of subscription {name} at {at:?}"));
            }
        }
        Ok(())
    }
}

fn interest(kind: u8) -> Interest {
    match kind {
        0 => all_rows(),
        1..=3 => one_row(i64::from(kind)),
        4..=6 => one_cell(i64::from(kind) - 4),
        _ => {
            let range = KeyRange::prefix(&[Value::Int(0)]).expect("short");
            Interest::Range { table: TableId::of(TABLE), range }
        }
    }
}
