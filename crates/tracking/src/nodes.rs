//! The rows of nodes: how a node gets a life, renews its lease, and is marked as lost.
//!
//! Invariants: a life is given to one process. A node that names the life in its row keeps it; any other gets the next one. A mark names the life that is
//! lost, and goes when the node is heard of again. Renewals are counted over all lives. Marks are counted in a life (its *lapses*), and that number never
//! falls while the life lasts. The row names the last connection of a device: an earlier one neither registers it nor marks it.

use iolite_values::{Cell, ColumnId, CoordinatorId, NodeId, NodeLife, NodeName, Operation, Row, Value, Write};
use iolite_wire::objects::OfferedClass;

use crate::interface::Told;
use crate::leases::Silent;
use crate::objects::right_name;
use crate::rows::{Rows, Undecided};
use crate::tables::{Place, Unreadable, count, flag, number};
use crate::tasks::{Done, Step};

pub const LIFE: &str = "life";
/// Counts the renewals of a server's lease.
pub const RENEWED: &str = "renewed";
/// The life that is lost. 0 or nothing: none is.
const LOST: &str = "lost";
/// Counts the marks of the life. Nothing: there was none.
const LAPSES: &str = "lapses";
const SERVES: &str = "serves";
const AT: &str = "at";
/// The number of the last connection. Nothing: an earlier Iolite wrote the row, and did not count.
const CONNECTION: &str = "connection";
/// Where other servers find a server. Nothing: they do not.
pub const ADDRESS: &str = "address";
const CLASSES: &str = "classes";

/// A node that comes, as [`crate::Ask::Register`] says it.
pub struct Coming<'a> {
    pub name: NodeName,
    pub known: NodeLife,
    pub serves: bool,
    pub at: CoordinatorId,
    pub connection: u64,
    pub address: &'a str,
    pub classes: &'a [OfferedClass],
}

/// The state of one life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeState {
    There,
    /// Marked as lost. `serves`: the node is a server, or a device that is part of the service.
    Lost {
        serves: bool,
    },
    /// Another life is registered, or none.
    Ended,
}

impl Coming<'_> {
    pub fn register(&self, place: &Place, rows: &Rows) -> Result<Step<Done>, Undecided> {
        let row = rows.get(place)?;
        let was = row.map_or(Ok(0), |row| number(row, LIFE))?;
        // A node that comes back on another connection has what it held.
        let same_life = row.filter(|_| was != 0 && self.known == NodeLife(was));
        if same_life.map_or(Ok(0), |row| count(row, CONNECTION))? > self.connection {
            return Ok(Step::Tell(Done::Told(Told::Elsewhere)));
        }
        let life = NodeLife(if same_life.is_some() { was } else { was + 1 });
        let lapses = same_life.map_or(Ok(0), |row| count(row, LAPSES))?;
        let mut writes = place.create(row);
        writes.extend([
            place.put_number(LIFE, life.0),
            place.put(SERVES, Value::Bool(self.serves)),
            place.put_number(AT, self.at.number().into()),
            place.put_number(CONNECTION, self.connection),
            place.put_number(LAPSES, lapses),
        ]);
        if let NodeName::Server(_) = self.name {
            // It goes on over lives: who watches tells a lease by it.
            let renewed = row.map_or(Ok(0), |row| number(row, RENEWED).map(|renewed| renewed + 1))?;
            writes.push(place.put_number(RENEWED, renewed));
            if !self.address.is_empty() {
                writes.push(place.put(ADDRESS, Value::string(self.address)));
            }
        }
        writes.extend(self.classes.iter().map(|class| write_class(place, class)));
        Ok(Step::Change(writes, Done::Told(Told::Registered(NodeId { name: self.name, life }, lapses))))
    }
}

/// The state of a life, by the row of its node.
pub fn life_state(rows: &Rows, node: NodeId) -> Result<LifeState, Undecided> {
    let Some(row) = rows.get(&Place::of_node(node.name))? else { return Ok(LifeState::Ended) };
    if number(row, LIFE)? != node.life.0 {
        return Ok(LifeState::Ended);
    }
    if !is_lost(row) {
        return Ok(LifeState::There);
    }
    let serves = match node.name {
        NodeName::Server(_) => true,
        NodeName::Device(_) => flag(row, SERVES)?,
    };
    Ok(LifeState::Lost { serves })
}

/// The cells of a node's row on which the state of its life rests. A registration makes the row anew, which changes all of its cells.
pub fn life_guards(place: &Place) -> Vec<Cell> {
    [LIFE, LOST, SERVES].map(|column| place.cell(column)).to_vec()
}

/// The cells on which a registration rests: no mark and no renewal has happened since.
pub fn registration_guards(place: &Place) -> Vec<Cell> {
    [LIFE, LOST, RENEWED].map(|column| place.cell(column)).to_vec()
}

/// The server that a device was last connected to.
pub fn server_of(place: &Place, rows: &Rows, device: NodeId) -> Result<Step<Done>, Undecided> {
    let row = match life_state(rows, device)? {
        LifeState::There => rows.get(place)?,
        LifeState::Lost { serves: _ } | LifeState::Ended => None,
    };
    Ok(Step::Tell(Done::Told(Told::At(row.map(server).transpose()?))))
}

fn server(row: &Row) -> Result<CoordinatorId, Unreadable> {
    u16::try_from(number(row, AT)?).ok().and_then(CoordinatorId::new).ok_or(Unreadable)
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
pub fn renew(place: &Place, rows: &Rows, node: NodeId) -> Result<Step<Done>, Undecided> {
    let Some(row) = rows.get(place)?.filter(|row| number(row, LIFE) == Ok(node.life.0)) else {
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
pub fn lose_silent(place: &Place, rows: &Rows, silent: Silent) -> Result<Step<Done>, Undecided> {
    let is_silent = |row: &&Row| {
        let is_same = number(row, LIFE) == Ok(silent.node.life.0) && number(row, RENEWED) == Ok(silent.renewed);
        is_same && !is_lost(row)
    };
    Ok(match rows.get(place)?.filter(is_silent) {
        Some(row) => Step::Change(mark(place, row, silent.node.life)?, Done::Over),
        None => Step::Tell(Done::Over),
    })
}

/// A device is marked as lost, unless it has come back on another connection.
pub fn lose_device(
    place: &Place,
    rows: &Rows,
    life: NodeLife,
    at: CoordinatorId,
    connection: u64,
) -> Result<Step<Done>, Undecided> {
    let is_here = |row: &&Row| {
        let is_at = number(row, AT) == Ok(at.number().into()) && count(row, CONNECTION) == Ok(connection);
        is_at && number(row, LIFE) == Ok(life.0)
    };
    Ok(match rows.get(place)?.filter(is_here) {
        Some(row) if is_lost(row) => Step::Tell(Done::Told(Told::Lost)),
        Some(row) => Step::Change(mark(place, row, life)?, Done::Told(Told::Lost)),
        None => Step::Tell(Done::Told(Told::Elsewhere)),
    })
}

fn mark(place: &Place, row: &Row, life: NodeLife) -> Result<Vec<Write>, Unreadable> {
    Ok(vec![place.put_number(LOST, life.0), place.put_number(LAPSES, count(row, LAPSES)? + 1)])
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
