//! Checksums: of files, and of what a table or all completion records hold, however they are cut into files.

use iolite_replication::CompletionRow;
use iolite_store::CompletionDecision;
use sha2::{Digest as _, Sha256};

/// In hexadecimal digits.
pub fn checksum(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Of records in their order.
#[derive(Clone, Default)]
pub struct Digest {
    hash: Sha256,
    records: u64,
}

impl Digest {
    pub fn add(&mut self, record: &[u8]) {
        self.hash.update((record.len() as u64).to_le_bytes());
        self.hash.update(record);
        self.records += 1;
    }

    /// When a transaction committed is another time in a restored store, and no part of it.
    pub fn add_completion(&mut self, row: &CompletionRow) {
        let mut record = Vec::new();
        match row {
            CompletionRow::Client { client, acknowledged } => {
                record.extend(client.0.to_bytes());
                record.extend(acknowledged.0.to_le_bytes());
            }
            CompletionRow::Outcome { client, counter, completion } => {
                record.extend(client.0.to_bytes());
                record.extend(counter.0.to_le_bytes());
                record.extend(completion.attempt.0.to_le_bytes());
                record.push(match completion.decision {
                    CompletionDecision::Committed => 1,
                    CompletionDecision::Aborted => 0,
                });
            }
        }
        self.add(&record);
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    pub fn finish(self) -> String {
        hexadecimal(&self.hash.finalize())
    }
}
