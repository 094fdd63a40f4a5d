//! Values: 64 bytes that say how often they were incremented and who wrote them.

/// Who wrote a value: one attempt of one client's transaction, or whoever loaded the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer(u64);

/// A value of every system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Increments since it was last overwritten unread.
    pub count: u64,
    pub writer: Writer,
}

const BYTES: usize = 64;
const CLIENT_SHIFT: u32 = 48;

impl Writer {
    pub const LOADER: Writer = Writer(0);

    /// # Panics
    /// After 2^48 attempts.
    pub fn of(client: u16, attempt: u64) -> Writer {
        assert!(client > 0 && attempt >> CLIENT_SHIFT == 0, "no writer is {client}.{attempt}");
        Writer(u64::from(client) << CLIENT_SHIFT | attempt)
    }
}

impl Value {
    pub const LOADED: Value = Value { count: 0, writer: Writer::LOADER };

    pub fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [b'.'; BYTES];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.writer.0.to_le_bytes());
        bytes
    }

    /// `None` for bytes that no client writes.
    pub fn read(bytes: &[u8]) -> Option<Value> {
        let (count, rest) = bytes.split_first_chunk()?;
        let (writer, rest) = rest.split_first_chunk()?;
        let padded = rest.len() == BYTES - 16 && rest.iter().all(|byte| *byte == b'.');
        padded.then(|| Value { count: u64::from_le_bytes(*count), writer: Writer(u64::from_le_bytes(*writer)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_other_bytes_are_none() {
        let value = Value { count: 7, writer: Writer::of(3, 9) };
        let bytes = value.bytes();
        assert_eq!(Value::read(&bytes), Some(value));
        assert_eq!(Value::read(&bytes[1..]), None);
        assert_eq!(Value::read(&[0; BYTES]), None);
    }
}
