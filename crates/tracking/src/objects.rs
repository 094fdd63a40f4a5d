//! The rows of objects, and what each ask makes of one.
//!
//! Invariants: the epoch under a name only rises, by one a change, also over a removal and a new beginning. An object begins anew only if its owner is over,
//! by a commit with which a sign of life of that node is in conflict. So is a move with a mark of the new owner.

use iolite_values::{DeviceRight, NodeId, ObjectEpoch, Row, Value, Write};
use iolite_wire::objects::{Begin, Declared, NotRun, Placed, TrackAnswer};

use crate::interface::Told;
use crate::nodes::{self, LifeState};
use crate::rows::{Rows, Undecided};
use crate::tables::{Place, Unreadable, node_of_text, number, text};
use crate::tasks::Step;

/// The column that every change of a row writes, and every ask reads.
pub const EPOCH: &str = "epoch";
const VERSION: &str = "version";
const MANAGERS: &str = "managers";
const DEVICES: &str = "devices";
const PLACES: &str = "places";

/// The state of an object's name.
enum Standing {
    Nothing,
    /// The object of this epoch was removed. Its row stays, so that the next one gets a higher epoch.
    Removed(ObjectEpoch),
    There(Placed),
}

pub fn find(place: &Place, rows: &Rows) -> Result<Step<Told>, Undecided> {
    let answer = match read(rows.get(place)?)? {
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
        Standing::There(placed) => match nodes::life_state(rows, owner(&placed))? {
            LifeState::Ended | LifeState::Lost { serves: true } => placed.epoch,
            LifeState::There | LifeState::Lost { serves: false } => {
                return Ok(Step::Tell(Told::Track(TrackAnswer::Found(placed))));
            }
        },
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
