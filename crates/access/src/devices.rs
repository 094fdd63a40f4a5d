//! The rows of `_access` that say whose a device is, and from which devices a user writes.
//!
//! Invariants: a device belongs to the first user who writes from it, for good. So no two users make one mark of tables that merge, though one of them
//! has learnt the other's device id. A user writes from so many devices, of which one that was not seen today makes room for another.
//!
//! | Key | Columns |
//! |---|---|
//! | `"device"`, the id that the device drew | `subject`, the digest of its user |
//! | `"user"`, the digest of a subject | `devices`, bytes: 16 for each id and 4 for the day on which it last began to write |

use std::collections::BTreeMap;

use iolite_machine::WallTime;
use iolite_values::{
    Cell, CellState, ColumnId, Element, Id, Interest, KeyRange, Operation, Read, Row, RowKey, Value, Write,
};

use crate::{AccessError, AccessRows};

/// Devices from which a user writes.
pub const DEVICES_MAX: usize = 32;
/// Days without a session that begins to write, after which a device makes room for another one. It comes back when there is room, as the same device. So a
/// day is enough: a person who signs out often begins many devices.
pub const DEVICE_AWAY_DAYS: u32 = 1;

const DEVICE: &str = "device";
const USER: &str = "user";
const SUBJECT: &str = "subject";
const DEVICES: &str = "devices";
const ENTRY_BYTES: usize = 20;
const DAY_MICROS: u64 = 24 * 3600 * 1_000_000;

/// A device and the user who writes from it, with what their rows say.
#[derive(Clone, Debug)]
pub struct UserDevice {
    device: Id,
    subject: Id,
    owner: Option<Id>,
    has_user_row: bool,
    /// The devices of the user, and the day on which each was last seen.
    devices: BTreeMap<Id, u32>,
}

/// The answer for a user who writes from a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// All of it is in the rows.
    Known,
    /// Once this is committed.
    By(Vec<Read>, Vec<Write>),
}

impl UserDevice {
    /// A device and a user of whom nothing is known yet. `subject`: the digest of the user.
    pub fn new(device: Id, subject: Id) -> UserDevice {
        UserDevice { device, subject, owner: None, has_user_row: false, devices: BTreeMap::new() }
    }

    /// The rows that are to be read.
    pub fn interests(&self) -> [Interest; 2] {
        [self.device_key(), self.user_key()]
            .map(|key| Interest::Range { table: AccessRows::table(), range: KeyRange::one(&key) })
    }

    /// Takes one of these rows.
    pub fn restore(&mut self, key: &RowKey, row: &Row) {
        if !row.exists() {
            return;
        }
        if *key == self.device_key() {
            self.owner = match row.cell(ColumnId::of(SUBJECT)) {
                Some(CellState::Scalar(Value::Id(subject))) => Some(*subject),
                Some(_) | None => None,
            };
        } else if *key == self.user_key() {
            self.has_user_row = true;
            if let Some(CellState::Scalar(Value::Bytes(devices))) = row.cell(ColumnId::of(DEVICES)) {
                self.devices = devices.chunks_exact(ENTRY_BYTES).filter_map(entry).collect();
            }
        }
    }

    /// Whether the user may write from the device.
    ///
    /// # Errors
    /// [`AccessError::OthersDevice`] and [`AccessError::TooManyDevices`].
    pub fn admit(&self, now: WallTime) -> Result<Admitted, AccessError> {
        if self.owner.is_some_and(|owner| owner != self.subject) {
            return Err(AccessError::OthersDevice);
        }
        let today = u32::try_from(now.as_micros() / DAY_MICROS).unwrap_or(u32::MAX);
        let seen = self.devices.get(&self.device).copied();
        if self.owner.is_some() && seen.is_some_and(|day| day >= today) {
            return Ok(Admitted::Known);
        }
        let mut devices = self.devices.clone();
        if seen.is_none() && devices.len() >= DEVICES_MAX {
            let longest = devices.iter().map(|(device, day)| (*day, *device)).min();
            let away = longest.filter(|(day, _)| day.saturating_add(DEVICE_AWAY_DAYS) <= today);
            let Some((_, device)) = away else { return Err(AccessError::TooManyDevices) };
            devices.remove(&device);
        }
        devices.insert(self.device, today);
        Ok(self.writes(&devices))
    }

    fn writes(&self, devices: &BTreeMap<Id, u32>) -> Admitted {
        let table = AccessRows::table();
        let cell = |row: RowKey, column| Cell { table, row, column };
        let (device, user) = (self.device_key(), self.user_key());
        let read = |cell: Cell| Read::Cell { cell, element: Element::Whole };
        let create = |row: RowKey| Write { cell: Cell::row(table, row), operation: Operation::Create };
        let put = |row: RowKey, column, value| Write {
            cell: cell(row, ColumnId::of(column)),
            operation: Operation::Put(value),
        };
        let reads = vec![
            read(Cell::row(table, device.clone())),
            read(cell(device.clone(), ColumnId::of(SUBJECT))),
            read(cell(user.clone(), ColumnId::of(DEVICES))),
        ];
        let mut writes = Vec::new();
        if self.owner.is_none() {
            writes.extend([create(device.clone()), put(device, SUBJECT, Value::Id(self.subject))]);
        }
        if !self.has_user_row {
            writes.push(create(user.clone()));
        }
        let bytes: Vec<u8> =
            devices.iter().flat_map(|(id, day)| id.to_bytes().into_iter().chain(day.to_be_bytes())).collect();
        writes.push(put(user, DEVICES, Value::bytes(bytes)));
        Admitted::By(reads, writes)
    }

    fn device_key(&self) -> RowKey {
        key(DEVICE, self.device)
    }

    fn user_key(&self) -> RowKey {
        key(USER, self.subject)
    }
}

fn key(kind: &str, id: Id) -> RowKey {
    RowKey::new(&[Value::string(kind), Value::Id(id)]).expect("a short key")
}

fn entry(bytes: &[u8]) -> Option<(Id, u32)> {
    let (id, day) = bytes.split_first_chunk()?;
    Some((Id::from_bytes(*id), u32::from_be_bytes(day.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Id = Id::from_u128(1);
    const BOB: Id = Id::from_u128(2);

    #[derive(Default)]
    struct Store(BTreeMap<RowKey, Row>);

    impl Store {
        /// A user writes from a device on a day. Whether a row was written for that.
        fn write(&mut self, subject: Id, device: u128, day: u64) -> Result<bool, AccessError> {
            let mut own = UserDevice::new(Id::from_u128(device), subject);
            for (key, row) in &self.0 {
                own.restore(key, row);
            }
            let Admitted::By(reads, writes) = own.admit(WallTime::from_micros(day * DAY_MICROS + 5))? else {
                return Ok(false);
            };
            let is_read = |write: &Write| {
                reads.iter().map(Read::interest).any(|read| read.includes(&write.cell))
                    || write.cell == Cell::row(AccessRows::table(), own.user_key())
            };
            assert!(writes.iter().all(is_read), "what is changed was looked at");
            for write in writes {
                let row = self.0.entry(write.cell.row.clone()).or_default();
                row.apply(write.cell.column, &write.operation).expect("of its type");
            }
            Ok(true)
        }
    }

    #[test]
    fn a_device_belongs_to_the_first_user_who_writes_from_it() {
        let mut store = Store::default();
        assert_eq!(store.write(ANN, 7, 100), Ok(true));
        assert_eq!(store.write(ANN, 7, 100), Ok(false), "once a day");
        assert_eq!(store.write(ANN, 7, 99), Ok(false), "a clock that is behind changes nothing");
        assert_eq!(store.write(BOB, 7, 1000), Err(AccessError::OthersDevice));
        assert_eq!(store.write(BOB, 8, 1000), Ok(true));
        assert_eq!(store.write(ANN, 7, 1000), Ok(true));
    }

    #[test]
    fn a_user_has_so_many_devices_and_one_that_was_away_for_a_day_makes_room() {
        let mut store = Store::default();
        for device in 0..DEVICES_MAX {
            let day = if device == 3 { 129 } else { 130 };
            assert_eq!(store.write(ANN, device as u128, day), Ok(true));
        }
        assert_eq!(store.write(ANN, 90, 129), Err(AccessError::TooManyDevices));
        assert_eq!(store.write(BOB, 90, 129), Ok(true), "each user for themselves");
        assert_eq!(store.write(ANN, 91, 130), Ok(true), "one makes room");
        assert_eq!(store.write(ANN, 92, 130), Err(AccessError::TooManyDevices));
        assert_eq!(store.write(ANN, 3, 130), Err(AccessError::TooManyDevices), "which has none now");
        assert_eq!(store.write(BOB, 3, 131), Err(AccessError::OthersDevice), "and stays who it is");
        assert_eq!(store.write(ANN, 4, 131), Ok(true), "the others go on");
        assert_eq!(store.write(ANN, 3, 131), Ok(true), "later there is room for it again");
    }
}
