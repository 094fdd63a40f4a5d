//! The reactive transactions of the app. Each tells what it saw in words, so that the checker can tell what it should have seen.

use iolite_values::{KeyRange, TableId, Value};

use super::chairs::OfRoom;
use super::handle::{Handle, Stop, between, cell, row_key};
use super::levels::Weak;
use super::mutators::{game, int};
use super::pages::page;
use super::questions::{come_to, in_state_from, of_few, of_ranks, ordered, with_tag_or_of};
use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// All accounts: their sum never changes.
    Bank,
    /// One counter and one number.
    Pair { key: i64 },
    /// A thing with all its columns.
    Thing { key: i64 },
    /// A number that says which thing to look at: the read set changes between runs.
    Pointer { key: i64 },
    /// The last two seats of a group, and whether one tag is there.
    Seats { group: i64 },
    /// A part of a group, with the row that ends it and a cell of the row that begins it: interests that overlap.
    Window { group: i64, low: i64, high: i64, limit: Option<usize>, reverse: bool },
    /// Some accounts, one of them by itself, and a balance.
    Ledger { low: i64, high: i64, limit: Option<usize>, reverse: bool },
    /// Jobs of a state with at least a rank: an index of two columns.
    Queue { state: i64, least: i64, limit: Option<usize>, reverse: bool },
    /// Jobs from one rank to before another that are not in a state: an index, and a condition that it has not.
    Ranks { low: i64, high: i64, but: i64, limit: Option<usize>, reverse: bool },
    /// Things of a few owners or of nobody, and those with a tag that are somebody's: rows that are there without being created, and no index.
    Owners { owner: i64, tag: i64, limit: Option<usize>, reverse: bool },
    /// Counters that have come so far: what moves in the index is only added to.
    Busy { least: i64, limit: Option<usize>, reverse: bool },
    /// All of the tables whose isolation is weaker, and a cell of one: what is seen is of one moment all the same.
    Weak { key: i64 },
    /// Something of the table with the delivered view.
    Chairs(OfRoom),
    /// A game: its rounds, and its sum.
    Game,
    /// What a text says.
    Page { key: i64 },
    /// All rows of the app whose tables sync.
    Rows,
    /// All rows of the app whose tables merge.
    Centres,
    /// All rows that everybody may read, of the app that has users with rights.
    Rights,
}

impl Watcher {
    pub fn random(random: &mut Random) -> Watcher {
        let key = random.below(super::KEYS as u64) as i64;
        let (one, other) = (random.below(8) as i64, random.below(8) as i64);
        let (low, high) = (one.min(other), one.max(other) + 1);
        let limit = if random.chance(500) { Some(random.between(1, 3) as usize) } else { None };
        let reverse = random.chance(500);
        match random.below(18) {
            0 => Watcher::Bank,
            1 => Watcher::Pair { key },
            2 => Watcher::Thing { key },
            3 => Watcher::Pointer { key },
            4 => Watcher::Seats { group: key },
            5..=7 => Watcher::Window { group: key, low, high, limit, reverse },
            8..=10 => Watcher::Queue { state: low % super::STATES, least: other % 4, limit, reverse },
            11 | 12 => Watcher::Ranks { low, high, but: one % super::STATES, limit, reverse },
            13 => Watcher::Owners { owner: low % 3, tag: other % 4, limit, reverse },
            14 => Watcher::Busy { least: one * one, limit, reverse },
            15 => Watcher::Weak { key },
            _ => Watcher::Ledger { low: low / 2, high: high / 2, limit, reverse },
        }
    }

    /// The tables that it reads.
    pub fn tables(self) -> impl Iterator<Item = TableId> {
        let names: &[&str] = match self {
            Watcher::Bank | Watcher::Ledger { .. } => &["accounts"],
            Watcher::Pair { .. } => &["hits", "numbers"],
            Watcher::Thing { .. } | Watcher::Owners { .. } => &["things"],
            Watcher::Pointer { .. } => &["numbers", "things"],
            Watcher::Seats { .. } => &["seats", "things"],
            Watcher::Window { .. } => &["seats"],
            Watcher::Queue { .. } | Watcher::Ranks { .. } => &["jobs"],
            Watcher::Weak { .. } => &["shelves", "scores"],
            Watcher::Busy { .. } | Watcher::Game => &["hits"],
            Watcher::Chairs(_) => &["chairs"],
            Watcher::Page { .. } => &["pages"],
            Watcher::Rows => &["notes", "stars", "tasks"],
            Watcher::Centres => &["people", "wall"],
            Watcher::Rights => &["rooms", "members", "messages"],
        };
        names.iter().map(|name| TableId::of(name))
    }

    /// Whether it reads a text and nothing else: nobody creates, deletes or queries one, so whoever sees it knows all of it.
    pub fn reads_texts(self) -> bool {
        matches!(self, Watcher::Page { .. })
    }

    /// # Errors
    /// [`Stop::Missing`].
    pub fn run(self, tx: &mut dyn Handle) -> Result<String, Stop> {
        match self {
            Watcher::Bank => {
                let rows = tx.range(TableId::of("accounts"), &KeyRange::all(), None, false)?;
                Ok(format!("{rows:?}"))
            }
            Watcher::Pair { key } => {
                let hits = tx.cell(&cell("hits", &[key], "value"))?;
                let number = tx.cell(&cell("numbers", &[key], "value"))?;
                Ok(format!("{hits:?} {number:?}"))
            }
            Watcher::Thing { key } => {
                let row = tx.row(TableId::of("things"), &row_key(&[key]))?;
                Ok(format!("{row:?}"))
            }
            Watcher::Pointer { key } => {
                let number = tx.cell(&cell("numbers", &[key], "value"))?;
                let target = int(number.as_ref()).unwrap_or(0) % super::KEYS;
                let log = tx.cell(&cell("things", &[target], "log"))?;
                let first = tx.element(&cell("things", &[target], "notes"), 0)?;
                Ok(format!("{target} {log:?} {first:?}"))
            }
            Watcher::Seats { group } => {
                let range = KeyRange::prefix(&[Value::Int(group)]).expect("an integer is a key");
                let seats = tx.range(TableId::of("seats"), &range, Some(2), true)?;
                let tag = tx.contains(&cell("things", &[group], "tags"), &Value::Int(1))?;
                Ok(format!("{seats:?} {tag}"))
            }
            Watcher::Window { group, low, high, limit, reverse } => {
                overlapping(tx, ["seats", "moves"], &[group, low], &[group, high], limit, reverse)
            }
            Watcher::Queue { state, least, limit, reverse } => {
                let question = ordered(in_state_from(state, least), "rank", reverse, limit);
                Ok(format!("{:?}", tx.ask(TableId::of("jobs"), &question)?))
            }
            Watcher::Ranks { low, high, but, limit, reverse } => {
                let question = ordered(of_ranks(low, high, but), "rank", reverse, limit);
                Ok(format!("{:?}", tx.ask(TableId::of("jobs"), &question)?))
            }
            Watcher::Owners { owner, tag, limit, reverse } => {
                let few = tx.ask(TableId::of("things"), &ordered(of_few(owner), "owner", reverse, limit))?;
                let tagged = tx.ask(TableId::of("things"), &with_tag_or_of(tag, owner))?;
                Ok(format!("{few:?} {tagged:?}"))
            }
            Watcher::Busy { least, limit, reverse } => {
                let question = ordered(come_to(least), "value", reverse, limit);
                Ok(format!("{:?}", tx.ask(TableId::of("hits"), &question)?))
            }
            Watcher::Weak { key } => {
                let first = tx.cell(&cell("scores", &[key], "label"))?;
                let [shelves, scores] = Weak::ALL.map(|weak| tx.range(weak.table(), &KeyRange::all(), None, false));
                Ok(format!("{first:?} {:?} {:?}", shelves?, scores?))
            }
            Watcher::Chairs(what) => what.run(tx),
            Watcher::Game => {
                let [turn, sum] = game();
                let [turn, sum] = [tx.cell(&turn)?, tx.cell(&sum)?].map(|state| int(state.as_ref()).unwrap_or(0));
                Ok(format!("{turn} {sum}"))
            }
            Watcher::Page { key } => tx.text(&page(key)),
            Watcher::Rows => crate::rows::app::look(tx),
            Watcher::Centres => crate::centres::app::look(tx).map(|own| format!("{own:?}")),
            Watcher::Rights => crate::rights::app::look(tx),
            Watcher::Ledger { low, high, limit, reverse } => {
                overlapping(tx, ["accounts", "balance"], &[low], &[high], limit, reverse)
            }
        }
    }
}

/// The rows from one key to before another, the row at that one, and a cell of the first one.
fn overlapping(
    tx: &mut dyn Handle,
    [table, column]: [&str; 2],
    low: &[i64],
    high: &[i64],
    limit: Option<usize>,
    reverse: bool,
) -> Result<String, Stop> {
    let rows = tx.range(TableId::of(table), &between(low, high), limit, reverse)?;
    let last = tx.row(TableId::of(table), &row_key(high))?;
    let first = tx.cell(&cell(table, low, column))?;
    Ok(format!("{rows:?} {last:?} {first:?}"))
}
