//! The rows of objects, and what each ask makes of one.
//!
//! Invariants: the epoch under a name only rises, by one a change, also over a removal and a new beginning. An object begins anew only if its owner is over,
//! by a commit with which a sign of life of that node is in conflict. So is a move with a mark of the new owner. A memory changes only from what its
//! writer took it for, and neither with the epoch nor with the places.

use iolite_store::RowAt;
use iolite_values::{Cell, ColumnId, DeviceRight, NodeId, ObjectEpoch, ObjectName, Operation, Row, Value, Write};
use iolite_wire::objects::{Begin, Declared, NotRun, Placed, TrackAnswer};

use crate::interface::Told;
use crate::limits::MEMORY_BYTES_MAX;
use crate::nodes::{self, LifeState};
use crate::rows::{Rows, Undecided};
use crate::tables::{Place, Unreadable, bytes, node_of_text, number, object_name, text};
use crate::tasks::Step;

/// The column that every change of a row writes, but for that of its memory; and every ask reads.
const EPOCH: &str = "epoch";
const VERSION: &str = "version";
const MANAGERS: &str = "managers";
const DEVICES: &str = "devices";
const PLACES: &str = "places";
/// The memory of the object's coordinators. Nothing: it is empty.
const MEMORY: &str = "memory";

/// The state of an object's name.
enum Standing {
    Nothing,
    /// The object of this epoch was removed. Its row stays, so that the next one gets a higher epoch.
    Removed(ObjectEpoch),
    There(Placed),
}

pub fn find(place: &Place, rows: &Rows) -> Result<Step<Told>, Undecided> {
    let answer = match read(rows.get(place)?)? {
        // Nobody may begin it anew.
        Standing::There(placed) if placed.declared.is_kept_for_good() => TrackAnswer::Found(placed),
        Standing::There(placed) => match nodes::life_state(rows, owner(&placed))? {
            LifeState::There | LifeState::Lost { serves: false } => TrackAnswer::Found(placed),
            LifeState::Lost { serves: true } => TrackAnswer::Lost,
            LifeState::Ended => TrackAnswer::Unknown,
        },
        Standing::Nothing | Standing::Removed(_) => TrackAnswer::Unknown,
    };
    Ok(Step::Tell(Told::Track(answer)))
}

pub fn begin(place: &Place, rows: &Rows, begin: &Begin, at: NodeId) -> Result<Step<Told>, Undecided> {
    let row = rows.get(place)?;
    let last = match read(row)? {
        Standing::There(placed) => {
            if !is_over(&placed, rows)? {
                return Ok(Step::Tell(Told::Track(TrackAnswer::Found(placed))));
            }
            placed.epoch
        }
        Standing::Removed(epoch) => epoch,
        Standing::Nothing => ObjectEpoch(0),
    };
    let placed = Placed { declared: begin.declared.clone(), epoch: last.next(), places: vec![at] };
    let mut writes = place.create(row);
    let Declared { version, managers, devices } = &placed.declared;
    writes.extend([
        place.put_number(VERSION, (*version).into()),
        place.put(MANAGERS, Value::string(managers)),
        place.put(DEVICES, Value::string(right_name(*devices))),
    ]);
    writes.extend(write_places(place, placed.epoch, &placed.places));
    Ok(Step::Change(writes, Told::Track(TrackAnswer::Begun(placed))))
}

/// # Panics
/// When the object is to go nowhere: that is a removal.
pub fn change_places(
    place: &Place,
    rows: &Rows,
    from: ObjectEpoch,
    places: &[NodeId],
) -> Result<Step<Told>, Undecided> {
    let to = *places.first().expect("an object moves to a node");
    Ok(match read(rows.get(place)?)? {
        Standing::Nothing | Standing::Removed(_) => Step::Tell(Told::Track(TrackAnswer::Unknown)),
        Standing::There(placed) if placed.epoch == from => {
            let may_own = match nodes::life_state(rows, to)? {
                LifeState::There => true,
                // It is not heard of, but nobody else has the object.
                LifeState::Lost { serves: _ } => to == owner(&placed),
                LifeState::Ended => false,
            };
            if !may_own {
                return Ok(Step::Tell(Told::Track(TrackAnswer::Refused(NotRun::Unreachable))));
            }
            let moved = Placed { epoch: from.next(), places: places.to_vec(), ..placed };
            Step::Change(write_places(place, moved.epoch, places), Told::Moved(moved))
        }
        Standing::There(placed) => Step::Tell(Told::Stands(placed)),
    })
}

/// The same, if the owner is over.
pub fn take(place: &Place, rows: &Rows, from: ObjectEpoch, at: NodeId) -> Result<Step<Told>, Undecided> {
    if let Standing::There(placed) = read(rows.get(place)?)?
        && !is_over(&placed, rows)?
    {
        return Ok(Step::Tell(Told::Stands(placed)));
    }
    change_places(place, rows, from, &[at])
}

pub fn remove(place: &Place, rows: &Rows, from: ObjectEpoch) -> Result<Step<Told>, Undecided> {
    let row = rows.get(place)?;
    Ok(match read(row)? {
        Standing::Nothing | Standing::Removed(_) => Step::Tell(Told::Track(TrackAnswer::Unknown)),
        Standing::There(placed) if placed.epoch == from => {
            let mut writes = place.create(row);
            writes.extend(write_places(place, from.next(), &[]));
            Step::Change(writes, Told::Removed)
        }
        Standing::There(placed) => Step::Tell(Told::Stands(placed)),
    })
}

/// The objects of a bucket that are there. A row that a newer Iolite wrote is passed over.
pub fn list(rows: &[RowAt]) -> Step<Told> {
    let listed = rows.iter().filter_map(|row| match read(Some(&row.row)) {
        Ok(Standing::There(placed)) => Some((object_name(&row.key)?, placed)),
        Ok(Standing::Nothing | Standing::Removed(_)) | Err(Unreadable) => None,
    });
    Step::TellAsRead(Told::Listed(listed.collect()))
}

pub fn recall(place: &Place, rows: &Rows) -> Result<Step<Told>, Undecided> {
    let row = rows.get(place)?;
    let told = match read(row)? {
        Standing::Nothing | Standing::Removed(_) => Told::Track(TrackAnswer::Unknown),
        Standing::There(placed) => {
            let (is_over, memory) = (is_over(&placed, rows)?, memory_of(row)?.to_vec());
            Told::Recalled { placed, is_over, memory }
        }
    };
    Ok(Step::Tell(told))
}

pub fn remember(
    place: &Place,
    rows: &Rows,
    from: ObjectEpoch,
    was: &[u8],
    memory: &[u8],
) -> Result<Step<Told>, Undecided> {
    if memory.len() > MEMORY_BYTES_MAX {
        let limit = format!("a memory has at most {MEMORY_BYTES_MAX} bytes, not {}", memory.len());
        return Ok(Step::Tell(Told::Track(TrackAnswer::Refused(NotRun::TooLarge(limit)))));
    }
    let row = rows.get(place)?;
    // An object that has begun anew has nothing of what was remembered of the last one, and an empty memory as that may have had.
    let is_this = matches!(read(row)?, Standing::There(placed) if placed.epoch == from);
    if !is_this || memory_of(row)? != was {
        return recall(place, rows);
    }
    Ok(if memory == was {
        Step::Tell(Told::Remembered)
    } else {
        Step::Change(vec![place.put(MEMORY, Value::bytes(memory))], Told::Remembered)
    })
}

/// The cell of an object's row on which its epoch and places rest. A row that is made anew changes all of its cells.
pub fn guards(object: &ObjectName) -> Vec<Cell> {
    vec![Place::of_object(object).cell(EPOCH)]
}

/// The cells on which its memory rests too.
pub fn memory_guards(object: &ObjectName) -> Vec<Cell> {
    [EPOCH, MEMORY].map(|column| Place::of_object(object).cell(column)).to_vec()
}

/// The object with managers that begins by a write, and these managers.
pub fn begun(write: &Write) -> Option<(ObjectName, &str)> {
    let Operation::Put(Value::String(managers)) = &write.operation else { return None };
    if write.cell.column != ColumnId::of(MANAGERS) || managers.is_empty() {
        return None;
    }
    Some((object_name(&write.cell.row)?, managers))
}

/// Whether an object begins anew if somebody begins it now.
fn is_over(placed: &Placed, rows: &Rows) -> Result<bool, Undecided> {
    if placed.declared.is_kept_for_good() {
        return Ok(false);
    }
    Ok(match nodes::life_state(rows, owner(placed))? {
        LifeState::Ended | LifeState::Lost { serves: true } => true,
        LifeState::There | LifeState::Lost { serves: false } => false,
    })
}

fn memory_of(row: Option<&Row>) -> Result<&[u8], Unreadable> {
    row.map_or(Ok(&[]), |row| bytes(row, MEMORY))
}

fn owner(placed: &Placed) -> NodeId {
    *placed.places.first().expect("an object that is there has a place")
}

fn write_places(place: &Place, epoch: ObjectEpoch, places: &[NodeId]) -> Vec<Write> {
    vec![place.put_number(EPOCH, epoch.0), place.put(PLACES, Value::string(places_text(places)))]
}

fn read(row: Option<&Row>) -> Result<Standing, Unreadable> {
    let Some(row) = row else { return Ok(Standing::Nothing) };
    let (epoch, places) = (ObjectEpoch(number(row, EPOCH)?), read_places(text(row, PLACES)?)?);
    if places.is_empty() {
        return Ok(Standing::Removed(epoch));
    }
    let version = number(row, VERSION)?.try_into().map_err(|_| Unreadable)?;
    let (managers, devices) = (text(row, MANAGERS)?.to_owned(), right(text(row, DEVICES)?)?);
    Ok(Standing::There(Placed { declared: Declared { version, managers, devices }, epoch, places }))
}

/// Places as `NAME#LIFE NAME#LIFE`, the owner first.
fn places_text(places: &[NodeId]) -> String {
    places.iter().map(NodeId::to_string).collect::<Vec<_>>().join(" ")
}

fn read_places(text: &str) -> Result<Vec<NodeId>, Unreadable> {
    text.split_whitespace().map(|place| node_of_text(place).ok_or(Unreadable)).collect()
}

/// The word for a right, as it stands above a class.
pub fn right_name(right: DeviceRight) -> &'static str {
    match right {
        DeviceRight::Call => "call",
        DeviceRight::Read => "read",
        DeviceRight::Hold => "hold",
    }
}

fn right(name: &str) -> Result<DeviceRight, Unreadable> {
    [DeviceRight::Call, DeviceRight::Read, DeviceRight::Hold]
        .into_iter()
        .find(|right| right_name(*right) == name)
        .ok_or(Unreadable)
}
