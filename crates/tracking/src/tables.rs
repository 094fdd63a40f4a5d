//! The tables, and how names of objects and nodes are keys of their rows. All are the system's: no app names them.

use iolite_values::{
    Bucket, Cell, CellState, ColumnId, CoordinatorId, Interest, KeyRange, NodeId, NodeLife, NodeName, ObjectName,
    Operation, Row, RowKey, TableId, Value, Write,
};

/// A row for each object, under its bucket, its class and its id. A backup holds it.
pub const OBJECTS_TABLE: &str = "_objects";
/// A row for each node. No backup holds it: nodes register anew.
pub const NODES_TABLE: &str = "_nodes";

/// A row for each bucket of objects. No backup holds it.
pub const BUCKETS_TABLE: &str = "_buckets";

/// How the key of a server's row begins, and that of a device's.
const SERVER: &str = "gateway";
const DEVICE: &str = "device";

/// A row that cannot be understood: a newer Iolite wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The place of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub table: TableId,
    pub key: RowKey,
}

impl Place {
    pub fn of_object(object: &ObjectName) -> Place {
        let bucket = Value::Int(Bucket::of(object).number().into());
        let values = [bucket, Value::from(object.class()), Value::from(object.id())];
        Place { table: TableId::of(OBJECTS_TABLE), key: RowKey::new(&values).expect("a name is short") }
    }

    pub fn of_node(name: NodeName) -> Place {
        let values = match name {
            NodeName::Server(gateway) => [Value::from(SERVER), Value::Int(gateway.number().into())],
            NodeName::Device(id) => [Value::from(DEVICE), Value::Id(id)],
        };
        Place { table: TableId::of(NODES_TABLE), key: RowKey::new(&values).expect("a name is short") }
    }

    pub fn cell(&self, column: &str) -> Cell {
        Cell { table: self.table, row: self.key.clone(), column: ColumnId::of(column) }
    }

    /// A new row. The earlier one that stood here is gone, with all its cells.
    pub fn create(&self, earlier: Option<&Row>) -> Vec<Write> {
        let of_life = |operation| Write { cell: Cell::row(self.table, self.key.clone()), operation };
        // A store takes the creation of a row that exists for a conflict.
        let deletion = earlier.map(|_| of_life(Operation::Delete));
        deletion.into_iter().chain([of_life(Operation::Create)]).collect()
    }

    pub fn put(&self, column: &str, value: Value) -> Write {
        Write { cell: self.cell(column), operation: Operation::Put(value) }
    }

    pub fn put_number(&self, column: &str, number: u64) -> Write {
        self.put(column, Value::Int(number as i64))
    }
}

/// The object whose row has this key.
pub fn object_name(key: &RowKey) -> Option<ObjectName> {
    match <[Value; 3]>::try_from(key.values().ok()?).ok()? {
        [Value::Int(_bucket), Value::String(class), Value::String(id)] => ObjectName::new(&class, &id).ok(),
        _ => None,
    }
}

/// The node whose row has this key.
pub fn node_name(key: &RowKey) -> Option<NodeName> {
    match <[Value; 2]>::try_from(key.values().ok()?).ok()? {
        [Value::String(kind), Value::Int(number)] if &*kind == SERVER => {
            u16::try_from(number).ok().and_then(CoordinatorId::new).map(NodeName::Server)
        }
        [Value::String(kind), Value::Id(id)] if &*kind == DEVICE => Some(NodeName::Device(id)),
        _ => None,
    }
}

/// A node as `NAME#LIFE`.
pub fn node_of_text(text: &str) -> Option<NodeId> {
    let (name, life) = text.split_once('#')?;
    Some(NodeId { name: name.parse().ok()?, life: NodeLife(life.parse().ok()?) })
}

/// The rows of all objects of a bucket.
pub fn objects_of(bucket: Bucket) -> Interest {
    let range = KeyRange::prefix(&[Value::Int(bucket.number().into())]).expect("a number is short");
    Interest::Range { table: TableId::of(OBJECTS_TABLE), range }
}

pub fn all_buckets() -> Interest {
    Interest::Range { table: TableId::of(BUCKETS_TABLE), range: KeyRange::all() }
}

/// The rows of all servers.
pub fn all_servers() -> Interest {
    let range = KeyRange::prefix(&[Value::from(SERVER)]).expect("a word is short");
    Interest::Range { table: TableId::of(NODES_TABLE), range }
}

pub fn number(row: &Row, column: &str) -> Result<u64, Unreadable> {
    let Value::Int(number) = value(row, column)? else { return Err(Unreadable) };
    Ok(*number as u64)
}

/// A number that has begun at 0: older rows lack it.
pub fn count(row: &Row, column: &str) -> Result<u64, Unreadable> {
    if row.cell(ColumnId::of(column)).is_none() { Ok(0) } else { number(row, column) }
}

pub fn flag(row: &Row, column: &str) -> Result<bool, Unreadable> {
    let Value::Bool(flag) = value(row, column)? else { return Err(Unreadable) };
    Ok(*flag)
}

pub fn text<'a>(row: &'a Row, column: &str) -> Result<&'a str, Unreadable> {
    let Value::String(text) = value(row, column)? else { return Err(Unreadable) };
    Ok(text)
}

/// Bytes of which there may be none: then the row lacks them.
pub fn bytes<'a>(row: &'a Row, column: &str) -> Result<&'a [u8], Unreadable> {
    if row.cell(ColumnId::of(column)).is_none() {
        return Ok(&[]);
    }
    let Value::Bytes(bytes) = value(row, column)? else { return Err(Unreadable) };
    Ok(bytes)
}

fn value<'a>(row: &'a Row, column: &str) -> Result<&'a Value, Unreadable> {
    let Some(CellState::Scalar(value)) = row.cell(ColumnId::of(column)) else { return Err(Unreadable) };
    Ok(value)
}
