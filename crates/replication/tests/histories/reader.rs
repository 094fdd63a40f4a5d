//! A transaction that only reads: validated at once or read by read, and moved to a later snapshot when a read has changed.

use std::collections::VecDeque;

use iolite_store::ReadReply;
use iolite_values::{Read, Timestamp, Transaction, TransactionId};

use super::client::Submission;

/// Reads that were called valid.
#[derive(Clone, Debug)]
pub struct Validated {
    pub snapshot: Timestamp,
    pub reads: Vec<Read>,
    pub seen: Vec<ReadReply>,
    pub asked_at_step: u64,
    pub told_at_step: u64,
    pub has_moved: bool,
}

/// A read, and what it saw.
type Seen = (Read, ReadReply);

#[derive(Clone)]
pub struct Reader {
    /// With the reads that are asked about.
    pub transaction: Transaction,
    since: u64,
    asked: Vec<Seen>,
    valid: Vec<Seen>,
    left: VecDeque<Seen>,
    /// A later snapshot, at which those that are valid are to be true as well.
    moves_to: Option<Timestamp>,
}

impl Reader {
    /// Asks about all of the transaction's reads in one part, or read by read.
    pub fn new(transaction: Transaction, seen: Vec<ReadReply>, since: u64, one_by_one: bool) -> Reader {
        let mut left: VecDeque<Seen> = transaction.reads.iter().cloned().zip(seen).collect();
        let first = if one_by_one { left.len().min(1) } else { left.len() };
        let asked = left.drain(..first).collect();
        let mut reader = Reader { transaction, since, asked, valid: Vec::new(), left, moves_to: None };
        reader.transaction.reads = reader.reads();
        reader
    }

    fn reads(&self) -> Vec<Read> {
        self.asked.iter().map(|(read, _)| read.clone()).collect()
    }

    pub fn submission(&self, step: u64) -> Submission {
        let seen = self.asked.iter().map(|(_, seen)| seen.clone()).collect();
        Submission { transaction: self.transaction.clone(), seen, submitted_at_step: step }
    }

    /// What was asked about is valid. All that was, if nothing is left to be asked about.
    pub fn on_valid(&mut self, step: u64) -> Option<Validated> {
        self.valid.append(&mut self.asked);
        let (reads, seen) = self.valid.iter().cloned().unzip();
        self.left.is_empty().then(|| Validated {
            snapshot: self.moves_to.unwrap_or(self.transaction.snapshot),
            reads,
            seen,
            asked_at_step: self.since,
            told_at_step: step,
            has_moved: self.moves_to.is_some(),
        })
    }

    /// Asks about the next read. Under another name, for the store may have had to commit the part before.
    pub fn go_on(&mut self, id: TransactionId) {
        self.asked.extend(self.left.pop_front());
        (self.transaction.id, self.transaction.reads) = (id, self.reads());
    }

    /// Whether it is worth while to ask about the others once more, at a later snapshot.
    pub fn can_move(&self) -> bool {
        self.moves_to.is_none() && !self.valid.is_empty()
    }

    /// Gives up what has changed and what comes after.
    pub fn move_to(&mut self, snapshot: Timestamp, id: TransactionId) {
        self.moves_to = Some(snapshot);
        self.left.clear();
        self.asked = std::mem::take(&mut self.valid);
        (self.transaction.id, self.transaction.reads) = (id, self.reads());
    }
}
