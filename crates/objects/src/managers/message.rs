//! Messages between the components of a manager, as bytes.

use iolite_wire::limits::OBJECT_BYTES;
use iolite_wire::objects::{CallFailure, NotRun};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The bytes of a message.
pub fn write<T: Serialize>(message: &T) -> Vec<u8> {
    // The errors of postcard are not said: their texts would be a kilobyte of the module.
    let written = postcard::to_allocvec(message);
    written.unwrap_or_else(|_| unreachable!("a message of a manager can be written: it has no types that cannot"))
}

/// A message that is not too large to be sent.
///
/// # Errors
/// [`NotRun::TooLarge`].
pub fn fit(message: Vec<u8>) -> Result<Vec<u8>, NotRun> {
    let (has, limit) = (message.len(), OBJECT_BYTES);
    if has <= limit.most {
        return Ok(message);
    }
    Err(NotRun::TooLarge(format!("a manager would send {has} bytes, and may send {limit}")))
}

/// A reply, at a proxy.
///
/// # Errors
/// The owner runs another version.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CallFailure> {
    read_or_refuse(bytes).map_err(CallFailure::NotRun)
}

/// A message, where it is refused if it is none.
///
/// # Errors
/// [`NotRun::BadArguments`].
pub fn read_or_refuse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, NotRun> {
    postcard::from_bytes(bytes).map_err(|_| NotRun::BadArguments("no message of this manager".to_owned()))
}
