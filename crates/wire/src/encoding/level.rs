//! The level of a transaction. The strict one, by far the most frequent, is an absent field.

use iolite_values::Level;

use crate::DecodeError;

pub(crate) fn write_level(level: Level) -> u32 {
    match level {
        Level::Strict => 0,
        Level::Serializable => 1,
        Level::Snapshot => 2,
        Level::ReadCommitted => 3,
    }
}

pub(crate) fn read_level(level: u32) -> Result<Level, DecodeError> {
    match level {
        0 => Ok(Level::Strict),
        1 => Ok(Level::Serializable),
        2 => Ok(Level::Snapshot),
        3 => Ok(Level::ReadCommitted),
        _ => Err(DecodeError::malformed("a level that is not known here")),
    }
}
