//! The author and the seed of an entry.
//!
//! Invariant: nothing here leads back to a client's id. Other people read entries, and who knows the id of a client could speak for it.

use iolite_values::{ClientId, Counter, Id, LogId};
use sha2::{Digest, Sha256};

/// The author of an entry, for all who read it: equal for all entries of one client.
pub fn origin_of(client: ClientId) -> Id {
    Id::from_bytes(digest("origin", &[&client.0.to_bytes()]))
}

/// The seed of a call's operation: another one for each call of each client.
pub fn seed_of(client: ClientId, counter: Counter) -> [u8; 16] {
    digest("seed", &[&client.0.to_bytes(), &counter.0.to_be_bytes()])
}

/// The seed of the operation that a log begins with: the same at every member.
pub fn initial_seed(log: &LogId) -> [u8; 16] {
    digest("initial", &[log.name.as_bytes(), &[0], log.instance.as_bytes()])
}

fn digest(purpose: &str, parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    hasher.update(b"iolite log ");
    hasher.update(purpose.as_bytes());
    hasher.update([0]);
    for part in parts {
        hasher.update(part);
    }
    let whole = hasher.finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&whole[..16]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_calls_and_logs_are_told_apart() {
        let client = |id| ClientId(Id::from_u128(id));
        assert_eq!(origin_of(client(1)), origin_of(client(1)));
        assert_ne!(origin_of(client(1)), origin_of(client(2)));
        assert_ne!(origin_of(client(1)).to_bytes(), client(1).0.to_bytes());
        assert_ne!(seed_of(client(1), Counter(1)), seed_of(client(1), Counter(2)));
        assert_ne!(seed_of(client(1), Counter(1)), seed_of(client(2), Counter(1)));
        let log = |name: &str| LogId::new(name, &iolite_values::Value::Int(1)).expect("short");
        assert_ne!(initial_seed(&log("a")), initial_seed(&log("b")));
    }
}
