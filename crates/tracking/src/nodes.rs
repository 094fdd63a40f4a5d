//! The rows of nodes: how a node gets a life, renews its lease, and is marked as lost.
//!
//! Invariants: a life is given to one process. A node that names the life in its row keeps it; any other gets the next one. A mark names the life that is
//! lost, and goes when the node is heard of again. Renewals are counted over all lives.

use iolite_values::{Cell, ColumnId, CoordinatorId, NodeId, NodeLife, NodeName, Operation, Row, Value, Write};
use iolite_wire::objects::OfferedClass;

use crate::interface::Told;
use crate::leases::Silent;
use crate::objects::right_name;
use crate::tables::{Place, Unreadable, number};
use crate::tasks::{Done, Step};

pub const LIFE: &str = "life";
/// Counts the renewals of a server's lease.
pub const RENEWED: &str = "renewed";
/// The life that is lost. 0 or nothing: none is.
const LOST: &str = "lost";
const SERVES: &str = "serves";
const AT: &str = "at";
const CLASSES: &str = "classes";

/// A node that comes, as [`crate::Ask::Register`] says it.
pub struct Coming<'a> {
    pub name: NodeName,
    pub known: NodeLife,
    pub serves: bool,
    pub at: CoordinatorId,
    pub classes: &'a [OfferedClass],
}

impl Coming<'_> {
    pub fn register(&self, place: &Place, row: Option<&Row>) -> Result<Step<Done>, Unreadable> {
        let was = row.map_or(Ok(0), |row| number(row, LIFE))?;
        // A node that comes back on another connection has what it held.
        let comes_back = was != 0 && self.known == NodeLife(was);
        let life = NodeLife(if comes_back { was } else { was + 1 });
        let mut writes = place.create(row);
        writes.extend([
            place.put_number(LIFE, life.0),
            place.put(SERVES, Value::Bool(self.serves)),
            place.put_number(AT, self.at.number().into()),
        ]);
        if let NodeName::Server(_) = self.name {
            // It goes on over lives: who watches tells a lease by it.
            let renewed = row.map_or(Ok(0), |row| number(row, RENEWED).map(|renewed| renewed + 1))?;
            writes.push(place.put_number(RENEWED, renewed));
        }
        writes.extend(self.classes.iter().map(|class| write_class(place, class)));
        Ok(Step::Change(writes, Done::Told(Told::Registered(NodeId { name: self.name, life }))))
    }
}

/// The cells of a server's row on which a renewal and a mark rest: neither has happened since.
pub fn lease_guards(place: &Place) -> Vec<Cell> {
    vec![place.cell(RENEWED), place.cell(LOST)]
}

/// The cell that a mark writes, and the renewal that takes it away.
pub fn mark_cell(place: &Place) -> Cell {
    place.cell(LOST)
}

/// A server renews its lease, in the life that it has.
pub fn renew(place: &Place, row: Option<&Row>, node: NodeId) -> Result<Step<Done>, Unreadable> {
    let Some(row) = row.filter(|row| number(row, LIFE) == Ok(node.life.0)) else {
        // Another process has its number.
        return Ok(Step::Tell(Done::Over));
    };
    let mut writes = vec![place.put_number(RENEWED, number(row, RENEWED)? + 1)];
    if is_lost(row) {
        writes.push(place.put_number(LOST, 0));
    }
    Ok(Step::Change(writes, Done::Renewed))
}

/// A server is marked as lost, unless it was heard of.
pub fn lose_silent(place: &Place, row: Option<&Row>, silent: Silent) -> Result<Step<Done>, Unreadable> {
    let is_silent = |row: &&Row| {
        let is_same = number(row, LIFE) == Ok(silent.node.life.0) && number(row, RENEWED) == Ok(silent.renewed);
        is_same && !is_lost(row)
    };
    Ok(match row.filter(is_silent) {
        Some(_) => Step::Change(vec![mark(place, silent.node.life)], Done::Over),
        None => Step::Tell(Done::Over),
    })
}

/// A device is marked as lost, unless it has come back elsewhere.
pub fn lose_device(
    place: &Place,
    row: Option<&Row>,
    life: NodeLife,
    at: CoordinatorId,
) -> Result<Step<Done>, Unreadable> {
    let is_here = |row: &&Row| number(row, LIFE) == Ok(life.0) && number(row, AT) == Ok(at.number().into());
    Ok(match row.filter(is_here) {
        Some(row) if is_lost(row) => Step::Tell(Done::Told(Told::Lost)),
        Some(_) => Step::Change(vec![mark(place, life)], Done::Told(Told::Lost)),
        None => Step::Tell(Done::Told(Told::Elsewhere)),
    })
}

fn mark(place: &Place, life: NodeLife) -> Write {
    place.put_number(LOST, life.0)
}

/// The node that a write marks as lost.
pub fn marked_lost(name: NodeName, write: &Write) -> Option<NodeId> {
    let Operation::Put(Value::Int(life)) = &write.operation else { return None };
    let is_mark = write.cell.column == ColumnId::of(LOST) && *life != 0;
    is_mark.then_some(NodeId { name, life: NodeLife(*life as u64) })
}

/// The life before the one that a write gives a node.
pub fn ended_life(name: NodeName, write: &Write) -> Option<NodeId> {
    let Operation::Put(Value::Int(life)) = &write.operation else { return None };
    let has_earlier = write.cell.column == ColumnId::of(LIFE) && *life > 1;
    has_earlier.then(|| NodeId { name, life: NodeLife(*life as u64 - 1) })
}

pub fn is_lost(row: &Row) -> bool {
    number(row, LOST).is_ok_and(|lost| lost != 0 && Ok(lost) == number(row, LIFE))
}

/// The node whose row this is, in its life.
pub fn node(name: NodeName, row: &Row) -> Option<NodeId> {
    number(row, LIFE).ok().map(|life| NodeId { name, life: NodeLife(life) })
}

/// An entry for each class: `VERSION DEVICES MANAGERS` under its name.
fn write_class(place: &Place, class: &OfferedClass) -> Write {
    let (declared, key) = (&class.declared, class.name.as_str().into());
    let line = format!("{} {} {}", declared.version, right_name(declared.devices), declared.managers);
    Write { cell: place.cell(CLASSES), operation: Operation::PutEntry { key, value: Value::string(line) } }
}
