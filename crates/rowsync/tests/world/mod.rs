//! One device, a store with other writers, and a link that loses and delays: drawn step by step.
//!
//! The checker knows the truth: it stamps every write of the device with a value of its own, and keeps all rows that the store ever had.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_rowsync::*;
use iolite_values::*;

pub const ROWS: u8 = 4;
const COLUMNS: u8 = 2;

/// A step of a history. Numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A call writes one row, or two.
    Call {
        row: u8,
        other: u8,
        column: u8,
        deletes: bool,
    },
    /// Somebody else writes a row.
    Other {
        row: u8,
        deletes: bool,
    },
    /// The store writes calls to disk.
    Save,
    /// The device hears of all commits.
    Hear,
    Send,
    /// The set reaches the store.
    Arrive,
    /// The answer reaches the device.
    Answer,
    /// The store takes the abort of a set that is being closed.
    Close,
    Resolve {
        keep: u8,
    },
    Restart,
}

type State = BTreeMap<u8, Row>;

pub struct World {
    pub rows: RowSync,
    broken: Broken,
    scheme: Scheme,
    storage: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The rows of the store.
    store: State,
    clock: u64,
    /// The confirmed rows at the device.
    confirmed: State,
    position: u64,
    next_counter: u64,
    /// The set that was sent: its counter, writes, and what it read.
    flying: Option<(Counter, ChangeSet, u64)>,
    /// The outcome of the open set at the store.
    outcome: Option<Outcome>,
    last_change: BTreeMap<u8, u64>,
    /// The rows whose writes the store refuses.
    refuses: BTreeSet<u8>,
    unsaved: BTreeSet<Counter>,
    ended: BTreeMap<Counter, How>,
    /// The rows that each call wrote.
    wrote: BTreeMap<Counter, BTreeSet<u8>>,
    calls: BTreeSet<Counter>,
    /// The server's rows that the device has read, by row.
    read: BTreeMap<u8, Vec<Row>>,
    /// All values that the store ever had.
    stored: BTreeSet<i64>,
    /// The value of each call's write, by row.
    values: BTreeMap<(Counter, u8), i64>,
    /// The values that a later write of the same device covers.
    covered: BTreeSet<i64>,
    last_value: BTreeMap<(u8, u8), i64>,
}

#[derive(Clone, Debug)]
enum Outcome {
    Committed(u64),
    Conflict(u64),
    Refused,
}

pub fn table() -> TableId {
    TableId::of("t")
}

pub fn key(row: u8) -> RowKey {
    RowKey::new(&[Value::Int(row.into())]).expect("short")
}

fn number(key: &RowKey) -> u8 {
    match key.values().expect("a key")[..] {
        [Value::Int(number)] => number as u8,
        _ => unreachable!("keys are numbers"),
    }
}

fn column(number: u8) -> ColumnId {
    ColumnId(7 + u32::from(number % COLUMNS))
}

impl World {
    pub fn new(scheme: Scheme, broken: Broken) -> World {
        let mut rows = RowSync::new(table(), scheme);
        rows.break_for_tests(broken);
        World {
            rows,
            broken,
            scheme,
            storage: BTreeMap::new(),
            store: State::new(),
            clock: 1,
            confirmed: State::new(),
            position: 0,
            next_counter: 1,
            flying: None,
            outcome: None,
            last_change: BTreeMap::new(),
            refuses: BTreeSet::from([3]),
            unsaved: BTreeSet::new(),
            ended: BTreeMap::new(),
            wrote: BTreeMap::new(),
            calls: BTreeSet::new(),
            read: BTreeMap::new(),
            stored: BTreeSet::new(),
            values: BTreeMap::new(),
            covered: BTreeSet::new(),
            last_value: BTreeMap::new(),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_u64(self.position)
    }

    fn counter(&mut self) -> Counter {
        self.next_counter += 1;
        Counter(self.next_counter)
    }

    /// Takes one step and checks all invariants.
    pub fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Call { row, other, column, deletes } => self.call(row % ROWS, other % ROWS, column, deletes),
            Step::Other { row, deletes } => self.other(row % ROWS, deletes),
            Step::Save => self.save(),
            Step::Hear => return self.hear().and_then(|()| self.check()),
            Step::Send => self.send(),
            Step::Arrive => return self.arrive().and_then(|()| self.check()),
            Step::Answer => self.answer(),
            Step::Close => return self.close().and_then(|()| self.check()),
            Step::Resolve { keep } => return self.resolve(keep).and_then(|()| self.check()),
            Step::Restart => self.restart(),
        }
        self.check()
    }

    fn call(&mut self, row: u8, other: u8, own: u8, deletes: bool) {
        let call = self.counter();
        let mut writes = Vec::new();
        for row in BTreeSet::from([row, other]) {
            let shown = self.shown(row);
            // Also a row that only this device saw, as after a deletion of its own: a base is a state, whoever made it.
            self.read.entry(row).or_default().push(shown.clone());
            self.note_read(row);
            let at = Cell { table: table(), row: key(row), column: column(own) };
            let life = |operation| Write { cell: Cell::row(table(), key(row)), operation };
            if deletes && shown.exists() {
                writes.push(life(Operation::Delete));
                (0..COLUMNS).for_each(|own| self.cover(row, own));
                continue;
            }
            if !shown.exists() {
                writes.push(life(Operation::Create));
                (0..COLUMNS).for_each(|own| self.cover(row, own));
            }
            let value = (call.0 * 16 + u64::from(row)) as i64;
            self.cover(row, own);
            self.last_value.insert((row, own % COLUMNS), value);
            self.values.insert((call, row), value);
            writes.push(Write { cell: at, operation: Operation::Put(Value::Int(value)) });
        }
        let shown: BTreeMap<RowKey, Row> = (0..ROWS).map(|row| (key(row), self.shown(row))).collect();
        self.rows.keep(call, &writes, |key| shown[key].clone(), &BTreeMap::new()).expect("few and small");
        self.calls.insert(call);
        self.unsaved.insert(call);
        self.wrote.insert(call, BTreeSet::from([row, other]));
    }

    /// A later write of this device stands over the value that was written here before.
    fn cover(&mut self, row: u8, own: u8) {
        self.covered.extend(self.last_value.remove(&(row, own % COLUMNS)));
    }

    fn note_read(&mut self, row: u8) {
        let confirmed = self.confirmed.get(&row).cloned().unwrap_or_default();
        self.read.entry(row).or_default().push(confirmed);
    }

    fn shown(&self, row: u8) -> Row {
        let confirmed = confirmed(&self.confirmed, &key(row));
        let own = self.rows.shown(&key(row), Which::All, confirmed);
        own.unwrap_or_else(|| self.confirmed.get(&row).cloned().unwrap_or_default())
    }

    fn other(&mut self, row: u8, deletes: bool) {
        self.clock += 1;
        let mut next = self.store.get(&row).cloned().unwrap_or_default();
        if deletes {
            next = Row::default();
        } else {
            if !next.exists() {
                next.apply(ColumnId::ROW, &Operation::Create).expect("a life");
            }
            let value = Value::Int(-(self.clock as i64));
            next.apply(column(0), &self.put(value)).expect("a scalar");
        }
        self.put_row(row, next);
    }

    fn put(&self, value: Value) -> Operation {
        match self.scheme {
            Scheme::Causal => Operation::Put(value),
            Scheme::Eventual => Operation::Assign(value),
        }
    }

    fn put_row(&mut self, row: u8, next: Row) {
        for (_, state) in next.cells() {
            if let CellState::Scalar(Value::Int(value)) | CellState::Register(Value::Int(value)) = state {
                self.stored.insert(*value);
            }
        }
        self.last_change.insert(row, self.clock);
        if next.exists() {
            self.store.insert(row, next)
        } else {
            self.store.remove(&row)
        };
    }

    fn persist(&mut self) {
        for change in self.rows.take_changes() {
            match change.value {
                Some(value) => drop(self.storage.insert(change.key, value)),
                None => drop(self.storage.remove(&change.key)),
            }
        }
    }

    fn save(&mut self) {
        self.persist();
        std::mem::take(&mut self.unsaved).into_iter().for_each(|call| self.rows.saved(call));
    }

    fn hear(&mut self) -> Result<(), String> {
        self.confirmed = self.store.clone();
        self.position = self.clock;
        let state = self.confirmed.clone();
        let endings = self.rows.advance(self.now(), |key| confirmed(&state, key));
        self.end(endings)?;
        self.check_waiting()
    }

    /// A stored call that is neither sent nor due shares a group with a conflict.
    fn check_waiting(&self) -> Result<(), String> {
        let as_it_is = |_: &RowKey, _, blob: &Arc<Blob>| Some(blob.clone());
        let due = self.rows.due(self.now(), |key| confirmed(&self.confirmed, key), as_it_is);
        let waits = self.rows.calls().next().is_some() && self.unsaved.is_empty() && self.rows.open_set().is_none();
        let conflicts = self.rows.conflicts(self.now(), |key| confirmed(&self.confirmed, key));
        if waits && due.is_none() && conflicts.is_empty() {
            return Err("calls wait for nothing".into());
        }
        Ok(())
    }

    fn send(&mut self) {
        let state = &self.confirmed;
        let as_it_is = |_: &RowKey, _, blob: &Arc<Blob>| Some(blob.clone());
        let Some(set) = self.rows.due(self.now(), |key| confirmed(state, key), as_it_is) else { return };
        let counter = self.counter();
        self.rows.send(counter, set.clone());
        self.save();
        self.flying = Some((counter, set, self.position));
    }

    /// The store decides as optimistic concurrency control does: each range that was read is unchanged since.
    fn arrive(&mut self) -> Result<(), String> {
        let Some((_, set, at)) = self.flying.clone() else { return Ok(()) };
        if self.outcome.is_some() {
            return Ok(());
        }
        let rows: BTreeSet<u8> = set.writes.iter().map(|write| number(&write.cell.row)).collect();
        let reads = set.reads.iter().filter_map(|read| match read {
            Read::Range { table: _, range } => (0..ROWS).find(|row| *range == KeyRange::one(&key(*row))),
            Read::Cell { .. } | Read::Query(_) => None,
        });
        let reads: BTreeSet<u8> = reads.collect();
        let changed = |row: &u8| self.last_change.get(row).is_some_and(|change| *change > at);
        let lives = |row: &u8| self.store.contains_key(row) != self.confirmed_at(set.clone(), *row);
        let conflicts = match self.scheme {
            Scheme::Causal => reads.iter().any(changed) || !rows.is_subset(&reads),
            Scheme::Eventual => rows.iter().any(lives),
        };
        self.outcome = Some(if rows.iter().any(|row| self.refuses.contains(row)) {
            Outcome::Refused
        } else if conflicts {
            Outcome::Conflict(self.clock)
        } else {
            self.commit(&set)?;
            Outcome::Committed(self.clock)
        });
        Ok(())
    }

    /// Whether the set takes it that the row is there.
    fn confirmed_at(&self, set: ChangeSet, row: u8) -> bool {
        let creates =
            |write: &Write| write.cell == Cell::row(table(), key(row)) && write.operation == Operation::Create;
        !set.writes.iter().any(creates)
    }

    fn commit(&mut self, set: &ChangeSet) -> Result<(), String> {
        self.clock += 1;
        let mut next: BTreeMap<u8, Row> = BTreeMap::new();
        for write in &set.writes {
            let row = number(&write.cell.row);
            let before = self.store.get(&row).cloned().unwrap_or_default();
            let seen = self.read.get(&row).is_some_and(|seen| seen.contains(&before));
            if self.scheme == Scheme::Causal && !seen && !next.contains_key(&row) {
                return Err(format!("row {row} is committed over {before:?}, which nobody here had read"));
            }
            let own = next.entry(row).or_insert(before);
            own.apply(write.cell.column, &write.operation).map_err(|error| error.to_string())?;
        }
        for (row, next) in next {
            // The device has written it itself.
            self.read.entry(row).or_default().push(next.clone());
            self.put_row(row, next);
        }
        Ok(())
    }

    fn answer(&mut self) {
        let Some(outcome) = self.outcome.clone() else { return };
        if self.flying.take().is_none() || self.rows.closing().is_some() {
            return;
        }
        match outcome {
            Outcome::Committed(at) => {
                self.rows.committed(Timestamp::from_u64(at));
                self.outcome = None;
            }
            Outcome::Conflict(told) => self.rows.conflict(Timestamp::from_u64(told)),
            Outcome::Refused => self.rows.refused("a row is refused".into()),
        }
    }

    /// The abort's answer: that a copy was committed after all, or that none will be.
    fn close(&mut self) -> Result<(), String> {
        if self.rows.closing().is_none() {
            return Ok(());
        }
        self.flying = None;
        match self.outcome.take() {
            Some(Outcome::Committed(at)) => self.rows.committed(Timestamp::from_u64(at)),
            Some(Outcome::Conflict(_) | Outcome::Refused) | None => {
                let endings = self.rows.closed();
                self.end(endings)?;
            }
        }
        Ok(())
    }

    fn resolve(&mut self, keep: u8) -> Result<(), String> {
        let state = self.confirmed.clone();
        let conflicts = self.rows.conflicts(self.now(), |key| confirmed(&state, key));
        let by = self.counter();
        let choices: Vec<Choice> = conflicts
            .iter()
            .map(|conflict| Choice {
                key: conflict.key.clone(),
                server: conflict.server_version,
                keep: match (keep.wrapping_add(number(&conflict.key))) % 3 {
                    0 => Keep::Local,
                    1 => Keep::Server,
                    _ => Keep::Values(Cells::from([(column(0), Value::Int(by.0 as i64 * 16))])),
                },
            })
            .collect();
        for choice in &choices {
            self.note_read(number(&choice.key));
        }
        let resolved = self.rows.resolve(by, &choices, self.now(), |key| confirmed(&state, key));
        let Ok(Resolved { endings, is_kept }) = resolved else {
            // A broken crate lists conflicts of rows that are in a set.
            return if self.broken == Broken::Nothing { Err(format!("{resolved:?}")) } else { Ok(()) };
        };
        if is_kept {
            self.unsaved.insert(by);
            self.calls.insert(by);
            let ended = endings.iter().filter_map(|ending| self.wrote.get(&ending.call)).flatten().copied();
            let chosen = choices.iter().map(|choice| number(&choice.key));
            let rows: BTreeSet<u8> = chosen.chain(ended).collect();
            self.wrote.insert(by, rows);
        }
        self.end(endings)
    }

    /// A new life of the app, from storage. Nothing is different.
    fn restart(&mut self) {
        if self.broken == Broken::FoldWhatWasSent {
            // Storage does not even know what to do with it.
            return;
        }
        self.save();
        let before = (self.rows.clone(), self.rows.conflicts(self.now(), |key| confirmed(&self.confirmed, key)));
        let entries = self.storage.iter().map(|(key, value)| (&key[..], &value[..]));
        let mut rows = RowSync::restore(table(), self.scheme, entries).expect("its own storage");
        rows.break_for_tests(self.broken);
        for row in (0..ROWS).map(key) {
            let shown = |rows: &RowSync| rows.shown(&row, Which::All, confirmed(&self.confirmed, &row));
            assert_eq!(shown(&rows), shown(&before.0), "a restart changes nothing");
        }
        let conflicts = rows.conflicts(self.now(), |key| confirmed(&self.confirmed, key));
        assert_eq!(conflicts, before.1, "a restart changes no conflict");
        assert!(rows.calls().eq(before.0.calls()), "a restart changes no call");
        self.rows = rows;
        // The answer is lost with the connection.
        self.flying = None;
    }

    fn end(&mut self, endings: Vec<Ending>) -> Result<(), String> {
        for Ending { call, how } in endings {
            if let How::Refused(_) = &how {
                let wrote = |row: &u8| self.values.contains_key(&(call, *row));
                let is_innocent = self.scheme == Scheme::Causal && !self.shares_refused(call);
                if is_innocent {
                    let rows: Vec<u8> = (0..ROWS).filter(wrote).collect();
                    return Err(format!(
                        "{call:?} of rows {rows:?} is refused, which shares no row with what is refused"
                    ));
                }
            }
            if let Some(before) = self.ended.insert(call, how.clone()) {
                return Err(format!("{call:?} ended twice: {before:?} and {how:?}"));
            }
        }
        Ok(())
    }

    /// Whether calls join its rows to a row that the store refuses.
    fn shares_refused(&self, call: Counter) -> bool {
        let of = |call: Counter| self.wrote.get(&call).cloned().unwrap_or_default();
        let mut rows = of(call);
        loop {
            let joined = self.wrote.values().filter(|own| !own.is_disjoint(&rows)).flatten().copied();
            let all: BTreeSet<u8> = joined.chain(rows.iter().copied()).collect();
            if all == rows {
                return !rows.is_disjoint(&self.refuses);
            }
            rows = all;
        }
    }

    fn check(&mut self) -> Result<(), String> {
        if self.broken == Broken::Nothing {
            self.rows.validate();
        }
        self.check_calls()?;
        self.check_conflicts()?;
        self.check_shown()
    }

    /// A call is kept or has ended, and what is confirmed was in the store.
    fn check_calls(&self) -> Result<(), String> {
        let kept: BTreeSet<Counter> = self.rows.calls().collect();
        for call in &self.calls {
            if kept.contains(call) == self.ended.contains_key(call) {
                return Err(format!("{call:?} is kept and has ended, or neither"));
            }
        }
        for ((call, row), value) in &self.values {
            let is_confirmed = matches!(self.ended.get(call), Some(How::Confirmed(_)));
            if is_confirmed && !self.stored.contains(value) && !self.covered.contains(value) {
                return Err(format!("{call:?} is confirmed, and its write of row {row} never was in the store"));
            }
        }
        Ok(())
    }

    /// A conflict is shown exactly while a kept base is another row, and none for a row whose set has no outcome.
    fn check_conflicts(&self) -> Result<(), String> {
        let conflicts = self.rows.conflicts(self.now(), |key| confirmed(&self.confirmed, key));
        for Conflict { key, server, calls, base, .. } in conflicts {
            let server = server.unwrap_or_default();
            if calls.iter().any(|call| self.rows.is_sent(*call)) {
                return Err(format!("a conflict of {key:?} is shown before the set has an outcome"));
            }
            if base == Base::Row(server) {
                return Err(format!("a conflict of {key:?} is shown, and nobody else has written it"));
            }
        }
        Ok(())
    }

    /// A value that is kept and not covered is shown.
    fn check_shown(&self) -> Result<(), String> {
        for ((call, row), value) in &self.values {
            let is_kept = self.rows.calls().any(|kept| kept == *call) && !self.covered.contains(value);
            let has = |row: &Row| {
                row.cells().any(|(_, state)| matches!(state, CellState::Scalar(Value::Int(own)) if own == value))
            };
            let is_resolved = self.ended.values().any(|how| *how == How::Overruled || matches!(how, How::Refused(_)));
            if self.scheme == Scheme::Causal && is_kept && !is_resolved && !has(&self.shown(*row)) {
                return Err(format!("{call:?} is kept, and its write of row {row} is not shown"));
            }
        }
        Ok(())
    }

    /// Everything is heard, resolved and sent: then no call is left.
    pub fn rest(&mut self) -> Result<(), String> {
        for _ in 0..60 {
            if self.rows.calls().next().is_none() && self.rows.open_set().is_none() {
                break;
            }
            let steps = [
                Step::Save,
                Step::Hear,
                Step::Send,
                Step::Arrive,
                Step::Answer,
                Step::Close,
                Step::Hear,
                Step::Resolve { keep: 0 },
            ];
            for step in steps {
                self.step(step)?;
            }
        }
        match self.rows.calls().next() {
            Some(call) => Err(format!("{call:?} never ends")),
            None if !self.rows.entries().is_empty() || self.rows.keys().next().is_some() => {
                Err("entries are left".into())
            }
            None => Ok(()),
        }
    }
}

fn confirmed<'a>(state: &'a State, key: &RowKey) -> Confirmed<'a> {
    state.get(&number(key)).map_or(Confirmed::Absent, Confirmed::There)
}
