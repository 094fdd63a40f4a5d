//! The rows of objects and nodes, as the store's commits make them.
//!
//! Invariants: an epoch grows by one with each change of its row; an object begins anew only if its owner is over; a row is removed only if its object is gone.

use std::collections::BTreeMap;

use iolite_tracking::{NODES_TABLE, OBJECTS_TABLE};
use iolite_values::{
    CellState, ColumnId, CoordinatorId, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, Row, RowKey,
    StoreIncarnation, TableId, Value,
};

use super::happened::ObjectEvent;
use super::store::Changed;
use super::world::World;
use crate::checker::Invariant;
use crate::history::Moment;

#[derive(Debug, Default)]
pub struct Rows {
    pub objects: BTreeMap<(StoreIncarnation, ObjectName), Vec<ObjectRow>>,
    nodes: BTreeMap<(StoreIncarnation, NodeName), NodeRow>,
}

/// A row of an object, from then on.
#[derive(Clone, Debug)]
pub struct ObjectRow {
    pub at: Moment,
    pub epoch: ObjectEpoch,
    /// Empty: the object was removed.
    pub places: Vec<NodeId>,
    /// The object began with this row.
    pub is_begun: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeRow {
    life: u64,
    lost: u64,
    serves: bool,
    lapses: u64,
    /// The server of a device, and the process that it was.
    at: u64,
    at_life: u64,
}

/// Why an owner is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Ended,
    Lost,
}

impl Rows {
    /// The row of an object as it is now.
    pub fn last(&self, store: StoreIncarnation, object: &ObjectName) -> Option<&ObjectRow> {
        self.objects.get(&(store, object.clone()))?.last()
    }

    /// The row in which the object of this epoch began.
    pub fn begun(&self, store: StoreIncarnation, object: &ObjectName, epoch: ObjectEpoch) -> Option<&ObjectRow> {
        let rows = self.objects.get(&(store, object.clone()))?;
        rows.iter().rev().find(|row| row.is_begun && row.epoch <= epoch)
    }

    /// The life of a node, by the rows of now.
    pub fn life(&self, store: StoreIncarnation, name: NodeName) -> u64 {
        self.nodes.get(&(store, name)).map_or(0, |row| row.life)
    }

    /// Whether a life of a node is over by the rows of now.
    fn over(&self, store: StoreIncarnation, node: NodeId) -> Option<Over> {
        let Some(row) = self.nodes.get(&(store, node.name)).filter(|row| row.life == node.life.0) else {
            return Some(Over::Ended);
        };
        let serves = row.serves || matches!(node.name, NodeName::Server(_));
        (row.lost == row.life && serves).then_some(Over::Lost)
    }
}

impl World {
    /// Whether an object begins anew although this node, which is gone, owns it.
    pub fn is_replaced(&self, node: NodeId) -> bool {
        let Some(row) = self.rows.nodes.get(&(self.store.id, node.name)).filter(|row| row.life == node.life.0) else {
            return true;
        };
        // Only the server marks a device at which it was. If that has ended since, nobody does.
        let server = (row.at as usize).checked_sub(1).and_then(|server| self.servers.get(server));
        let is_watched = server.is_some_and(|own| own.host.life == row.at_life);
        row.serves && (is_watched || row.lost == row.life)
    }

    /// Looks at the rows that the store has changed.
    pub fn watch_rows(&mut self) {
        for changed in self.store.take_changed() {
            if changed.table == TableId::of(OBJECTS_TABLE) {
                self.object_changed(&changed);
            } else if changed.table == TableId::of(NODES_TABLE) {
                self.node_changed(&changed);
            }
        }
    }

    fn object_changed(&mut self, changed: &Changed) {
        let object = object_of(&changed.key);
        let epoch = ObjectEpoch(number(&changed.after, "epoch").expect("it has one"));
        let places = places(&changed.after);
        let is_begun = changed.is_created && !places.is_empty();
        let row = ObjectRow { at: self.moment, epoch, places, is_begun };
        self.note("store", "has", (&object, &row));
        let key = (self.store.id, object.clone());
        let before = self.rows.objects.get(&key).and_then(|rows| rows.last()).cloned();
        if before.as_ref().is_some_and(|before| (before.epoch, &before.places) == (epoch, &row.places) && !is_begun) {
            return self.happened(ObjectEvent::Remembered);
        }
        if let Some(before) = &before {
            if epoch != before.epoch.next() {
                self.broke(
                    Invariant::Epochs,
                    format!("the epoch of {object} goes from {:?} to {epoch:?}", before.epoch),
                );
            }
            self.judge_change(&object, before, &row);
        } else {
            self.happened(ObjectEvent::Began);
        }
        self.judge_place(&object, before.as_ref(), &row);
        self.rows.objects.entry(key).or_default().push(row);
    }

    fn judge_change(&mut self, object: &ObjectName, before: &ObjectRow, row: &ObjectRow) {
        let (from, to) = (before.places.first().copied(), row.places.first().copied());
        match (from, to) {
            (Some(from), Some(_)) if row.is_begun => match self.rows.over(self.store.id, from) {
                Some(Over::Ended) => self.happened(ObjectEvent::BeganAnew),
                Some(Over::Lost) => self.happened(ObjectEvent::TakenFromLost),
                None => self.broke(Invariant::KeptWrites, format!("{object} begins anew, and {from} is there")),
            },
            (Some(from), Some(to)) if from == to => self.happened(ObjectEvent::TakenBack),
            (Some(_), Some(to)) => {
                self.happened(ObjectEvent::Moved);
                if let NodeName::Device(id) = to.name
                    && self.device_of(id).is_some_and(|device| !self.devices[device].serves)
                {
                    self.happened(ObjectEvent::MovedToUser);
                }
            }
            (Some(from), None) => self.judge_removal(object, from, before.epoch),
            (None, _) => self.happened(ObjectEvent::Began),
        }
    }

    /// A row goes: then its owner has no such object.
    fn judge_removal(&mut self, object: &ObjectName, from: NodeId, epoch: ObjectEpoch) {
        self.happened(ObjectEvent::Removed);
        let Some(at) = self.is_known_node(from).filter(|at| self.host(*at).store == Some(self.store.id)) else {
            return;
        };
        let now = self.now(at).instant;
        let serving = self.kernel(at).map(|kernel| kernel.serving_at(now)).unwrap_or_default();
        if serving.contains(&(object.clone(), epoch)) {
            self.broke(Invariant::KeptWrites, format!("{object} is removed, and {from} serves it in {epoch:?}"));
        }
    }

    fn node_changed(&mut self, changed: &Changed) {
        let name = node_of(&changed.key);
        let of = |column: &str| number(&changed.after, column).unwrap_or(0);
        let serves = matches!(cell(&changed.after, "serves"), Some(Value::Bool(true)));
        let at_life = (of("at") as usize).checked_sub(1).map_or(0, |server| self.servers[server].host.life);
        let (life, lost, lapses, at) = (of("life"), of("lost"), of("lapses"), of("at"));
        let row = NodeRow { life, lost, serves, lapses, at, at_life };
        self.note("store", "has", (name, row));
        let before = self.rows.nodes.insert((self.store.id, name), row).unwrap_or_default();
        if row.life < before.life || row.life == before.life && row.lapses < before.lapses {
            self.broke(Invariant::Epochs, format!("the row of {name} goes from {before:?} to {row:?}"));
        }
        if let NodeName::Device(id) = name
            && let Some(device) = self.device_of(id)
        {
            self.displace(device, row.life);
        }
        if row.life == before.life && row.lapses > before.lapses {
            self.happened(match name {
                NodeName::Server(_) => ObjectEvent::ServerMarked,
                NodeName::Device(_) => ObjectEvent::DeviceMarked,
            });
        }
    }
}

fn cell<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    match row.cell(ColumnId::of(column))? {
        CellState::Scalar(value) => Some(value),
        other => panic!("tracking writes scalars where {other:?} is"),
    }
}

fn number(row: &Row, column: &str) -> Option<u64> {
    match cell(row, column)? {
        Value::Int(number) => Some(*number as u64),
        other => panic!("{column} is a number, and not {other:?}"),
    }
}

fn places(row: &Row) -> Vec<NodeId> {
    let Some(Value::String(text)) = cell(row, "places") else { panic!("an object has places") };
    let node = |text: &str| {
        let (name, life) = text.split_once('#')?;
        Some(NodeId { name: name.parse().ok()?, life: NodeLife(life.parse().ok()?) })
    };
    text.split_whitespace().map(|text| node(text).expect("a node")).collect()
}

fn parts<const COUNT: usize>(key: &RowKey) -> [Value; COUNT] {
    key.values().ok().and_then(|values| values.try_into().ok()).expect("a key of so many values")
}

fn object_of(key: &RowKey) -> ObjectName {
    let [Value::Int(_bucket), Value::String(class), Value::String(id)] = parts(key) else {
        panic!("an object has a bucket, a class and an id")
    };
    ObjectName::new(&class, &id).expect("a name")
}

fn node_of(key: &RowKey) -> NodeName {
    match parts(key) {
        [Value::String(_), Value::Int(number)] => {
            NodeName::Server(CoordinatorId::new(number as u16).expect("a small number"))
        }
        [Value::String(_), Value::Id(id)] => NodeName::Device(id),
        other => panic!("{other:?} is no node"),
    }
}
