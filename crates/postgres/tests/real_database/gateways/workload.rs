//! What clients do: transfers, read-modify-writes, commuting adds, lists, maps, rows that come and go, sums over ranges; at any level at which what
//! is known of the data stays true.

use iolite_store::{ReadLimit, ReadReply, Reply, Request, RowAt};
use iolite_values::{
    Cell, CellState, ColumnId, Decision, Element, Interest, KeyRange, Level, ListOrder, Operation, Read, RowKey,
    TableId, Timestamp, Value, Write,
};

use super::history::{History, Seen};
use super::random::Random;
use crate::gateway::Gateway;

pub const ACCOUNTS: TableId = TableId(1);
pub const COUNTERS: TableId = TableId(2);
pub const LISTS: TableId = TableId(3);
pub const TOKENS: TableId = TableId(4);

const VALUE: ColumnId = ColumnId(1);
const OTHER: ColumnId = ColumnId(2);
const MAP: ColumnId = ColumnId(3);

const ROOMS: u64 = 2;
const ACCOUNTS_A_ROOM: u64 = 4;
const OPENING_BALANCE: i64 = 100;
/// A room holds no more tokens than this: each who adds one has counted them.
const TOKENS_MAX: usize = 5;
/// This one has fewer, so nobody has to have counted them right.
const LOBBY: i64 = ROOMS as i64;

#[derive(Clone, Copy, Debug)]
pub enum Task {
    Transfer {
        from: RowAddress,
        to: RowAddress,
        amount: i64,
    },
    Add {
        counter: i64,
        amount: i64,
    },
    /// Reads the counter, and writes down what it was.
    Note {
        counter: i64,
    },
    /// Adds to a number without an operation for it.
    Increment {
        counter: i64,
    },
    Append {
        list: i64,
        order: ListOrder,
    },
    /// Replaces the last element that it saw.
    Replace {
        list: i64,
    },
    /// Puts an entry of a map without looking.
    Enter {
        list: i64,
        entry: &'static str,
    },
    /// Sums up a room and counts that it did.
    Audit {
        room: i64,
    },
    Claim {
        room: i64,
        token: i64,
    },
    Release {
        room: i64,
        token: i64,
    },
    /// Puts something into a token that is there.
    Mark {
        room: i64,
        token: i64,
    },
    /// Reads a counter and gives up.
    GiveUp {
        counter: i64,
    },
}

type RowAddress = (i64, i64);

/// Writes that make the accounts.
pub fn opening() -> Vec<Write> {
    let accounts = (0..ROOMS as i64).flat_map(|room| (0..ACCOUNTS_A_ROOM as i64).map(move |number| (room, number)));
    let opened = |address| {
        let put = Operation::Put(Value::Int(OPENING_BALANCE));
        [life(ACCOUNTS, address, Operation::Create), write(ACCOUNTS, address, VALUE, put)]
    };
    accounts.flat_map(opened).collect()
}

impl Task {
    pub fn draw(random: &mut Random) -> Task {
        let mut account = || (random.below(ROOMS) as i64, random.below(ACCOUNTS_A_ROOM) as i64);
        let (from, to) = (account(), account());
        let (counter, list) = (random.below(3) as i64, random.below(2) as i64);
        let room = random.below(2 * ROOMS).min(ROOMS) as i64;
        let token = random.below(if room == LOBBY { 2 } else { 9 }) as i64;
        let entry = ["a", "b"][random.below(2) as usize];
        match random.below(100) {
            0..25 if from != to => Task::Transfer { from, to, amount: random.below(9) as i64 + 1 },
            0..40 => Task::Add { counter, amount: random.below(9) as i64 - 4 },
            40..45 => Task::Enter { list, entry },
            45..53 => Task::Note { counter },
            53..63 => Task::Increment { counter },
            63..68 => Task::Append { list, order: ListOrder::Strict },
            68..73 => Task::Append { list, order: ListOrder::Commit },
            73..78 => Task::Replace { list },
            78..83 => Task::Audit { room: room % ROOMS as i64 },
            83..90 => Task::Claim { room, token },
            90..95 => Task::Release { room, token },
            95..98 => Task::Mark { room, token },
            _ => Task::GiveUp { counter },
        }
    }

    pub fn level(self, random: &mut Random) -> Level {
        let levels = [Level::Strict, Level::Strict, Level::Serializable, Level::Snapshot, Level::ReadCommitted];
        levels[random.below(levels.len() as u64) as usize].min(self.weakest())
    }

    /// Below this, what the checks know of its data would not stay true.
    fn weakest(self) -> Level {
        match self {
            // It writes all that it reads, so that no amount is lost.
            Task::Transfer { .. } => Level::Snapshot,
            // It counts rows that it does not write.
            Task::Claim { room, .. } if room != LOBBY => Level::Strict,
            Task::Claim { .. }
            | Task::Add { .. }
            | Task::Note { .. }
            | Task::Increment { .. }
            | Task::Append { .. }
            | Task::Replace { .. }
            | Task::Enter { .. }
            | Task::Audit { .. }
            | Task::Release { .. }
            | Task::Mark { .. }
            | Task::GiveUp { .. } => Level::ReadCommitted,
        }
    }

    /// Runs as a client would, on one snapshot.
    pub async fn run(self, view: &View<'_>) -> (Vec<Read>, Decision) {
        match self {
            Task::Transfer { from, to, amount } => transfer(view, from, to, amount).await,
            Task::Add { counter, amount } => {
                (Vec::new(), Decision::Commit(vec![write(COUNTERS, (counter, 0), VALUE, Operation::Add(amount))]))
            }
            Task::Note { counter } => note(view, counter).await,
            Task::Increment { counter } => {
                let now = number(view.cell(cell(COUNTERS, (counter, 0), OTHER)).await);
                let put = write(COUNTERS, (counter, 0), OTHER, Operation::Put(Value::Int(now + 1)));
                (vec![whole(COUNTERS, (counter, 0), OTHER)], Decision::Commit(vec![put]))
            }
            Task::Append { list, order } => {
                let column = if order == ListOrder::Strict { VALUE } else { OTHER };
                let append = Operation::Append { value: Value::Int(1), order };
                (Vec::new(), Decision::Commit(vec![write(LISTS, (list, 0), column, append)]))
            }
            Task::Replace { list } => replace(view, list).await,
            Task::Enter { list, entry } => {
                let put = Operation::PutEntry { key: entry.into(), value: Value::Int(1) };
                (Vec::new(), Decision::Commit(vec![write(LISTS, (list, 0), MAP, put)]))
            }
            Task::Audit { room } => audit(view, room).await,
            Task::Claim { room, token } => claim(view, room, token).await,
            Task::Release { room, token } => {
                (Vec::new(), Decision::Commit(vec![life(TOKENS, (room, token), Operation::Delete)]))
            }
            Task::Mark { room, token } => mark(view, (room, token)).await,
            Task::GiveUp { counter } => {
                (vec![whole(COUNTERS, (counter, 0), VALUE)], Decision::Abort("changed its mind".into()))
            }
        }
    }
}

/// A store's rows at one resolved timestamp.
pub struct View<'a> {
    pub gateway: &'a Gateway,
    pub history: &'a History,
    pub at: Timestamp,
}

impl View<'_> {
    async fn cell(&self, cell: Cell) -> Option<CellState> {
        let column = cell.column;
        let rows = self.rows(Interest::Cell(cell)).await;
        rows.first().and_then(|row| row.row.cell(column).cloned())
    }

    pub async fn rows(&self, interest: Interest) -> Vec<RowAt> {
        let request = Request::ReadAt { interest: interest.clone(), at: self.at, limit: ReadLimit::NONE };
        match self.gateway.ask(request).await {
            Reply::ReadAt(Ok(ReadReply { at, rows, is_cut: _ })) => {
                self.history.saw(Seen { interest, at, rows: rows.clone() });
                rows
            }
            other => {
                self.history.violate(format!("a read at {:?} was answered with {other:?}", self.at));
                Vec::new()
            }
        }
    }
}

async fn transfer(view: &View<'_>, from: RowAddress, to: RowAddress, amount: i64) -> (Vec<Read>, Decision) {
    let source = number(view.cell(cell(ACCOUNTS, from, VALUE)).await);
    let target = number(view.cell(cell(ACCOUNTS, to, VALUE)).await);
    let reads = vec![whole(ACCOUNTS, from, VALUE), whole(ACCOUNTS, to, VALUE)];
    let put = |address, balance| write(ACCOUNTS, address, VALUE, Operation::Put(Value::Int(balance)));
    (reads, Decision::Commit(vec![put(from, source - amount), put(to, target + amount)]))
}

async fn note(view: &View<'_>, counter: i64) -> (Vec<Read>, Decision) {
    let now = match view.cell(cell(COUNTERS, (counter, 0), VALUE)).await {
        Some(CellState::Counter(now)) => now,
        _ => 0,
    };
    let note = write(COUNTERS, (counter, 1), VALUE, Operation::Put(Value::Int(now)));
    (vec![whole(COUNTERS, (counter, 0), VALUE)], Decision::Commit(vec![note]))
}

async fn replace(view: &View<'_>, list: i64) -> (Vec<Read>, Decision) {
    let length = match view.cell(cell(LISTS, (list, 0), OTHER)).await {
        Some(CellState::List(list)) => list.len(),
        _ => 0,
    };
    let Some(index) = u32::try_from(length).ok().and_then(|length| length.checked_sub(1)) else {
        return (Vec::new(), Decision::Commit(Vec::new()));
    };
    let set = write(LISTS, (list, 0), OTHER, Operation::SetAt { index, value: Value::Int(2) });
    let read = Read::Cell { cell: cell(LISTS, (list, 0), OTHER), element: Element::Index(index) };
    (vec![read], Decision::Commit(vec![set]))
}

async fn audit(view: &View<'_>, room: i64) -> (Vec<Read>, Decision) {
    // One room's part may differ; what all rooms hold together may not, and is looked at, too.
    let all = view.rows(Interest::Range { table: ACCOUNTS, range: KeyRange::all() }).await;
    let sum: i64 = all.iter().map(|row| number(row.row.cell(VALUE).cloned())).sum();
    if sum != (ROOMS * ACCOUNTS_A_ROOM) as i64 * OPENING_BALANCE {
        view.history.violate(format!("at {:?} the accounts hold {sum}", view.at));
    }
    let range = room_of(room);
    let read = Read::Range { table: ACCOUNTS, range };
    (vec![read], Decision::Commit(vec![write(COUNTERS, (9, room), VALUE, Operation::Add(1))]))
}

async fn claim(view: &View<'_>, room: i64, token: i64) -> (Vec<Read>, Decision) {
    let range = room_of(room);
    let tokens = view.rows(Interest::Range { table: TOKENS, range: range.clone() }).await;
    if tokens.len() > TOKENS_MAX {
        view.history.violate(format!("at {:?} room {room} holds {} tokens", view.at, tokens.len()));
    }
    let read = Read::Range { table: TOKENS, range };
    if tokens.len() >= TOKENS_MAX {
        return (vec![read], Decision::Abort("full".into()));
    }
    let is_claimed = tokens.iter().any(|own| own.key == key((room, token)));
    let create = (!is_claimed).then(|| life(TOKENS, (room, token), Operation::Create));
    (vec![read], Decision::Commit(create.into_iter().collect()))
}

async fn mark(view: &View<'_>, token: RowAddress) -> (Vec<Read>, Decision) {
    let life = Cell::row(TOKENS, key(token));
    let is_there = view.rows(Interest::Cell(life.clone())).await.iter().any(|row| row.row.exists());
    let put = is_there.then(|| write(TOKENS, token, VALUE, Operation::Put(Value::Int(1))));
    (vec![Read::Cell { cell: life, element: Element::Whole }], Decision::Commit(put.into_iter().collect()))
}

fn room_of(room: i64) -> KeyRange {
    KeyRange::prefix(&[Value::Int(room)]).expect("an int is a key")
}

fn number(state: Option<CellState>) -> i64 {
    match state {
        Some(CellState::Scalar(Value::Int(number))) => number,
        _ => 0,
    }
}

fn key((first, second): RowAddress) -> RowKey {
    RowKey::new(&[Value::Int(first), Value::Int(second)]).expect("ints are a key")
}

fn cell(table: TableId, address: RowAddress, column: ColumnId) -> Cell {
    Cell { table, row: key(address), column }
}

fn whole(table: TableId, address: RowAddress, column: ColumnId) -> Read {
    Read::Cell { cell: cell(table, address, column), element: Element::Whole }
}

fn write(table: TableId, address: RowAddress, column: ColumnId, operation: Operation) -> Write {
    Write { cell: cell(table, address, column), operation }
}

fn life(table: TableId, address: RowAddress, operation: Operation) -> Write {
    Write { cell: Cell::row(table, key(address)), operation }
}
