//! The storage of a device, which all tabs of a client share: batches are stored in the order in which they were given, each whole.

use std::collections::{BTreeMap, VecDeque};

use iolite_client::{OUTBOX, StorageChange, TabId};
use iolite_machine::PersistId;

use crate::random::Random;

pub type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Default)]
pub struct Device {
    pub entries: Entries,
    jobs: VecDeque<(Writer, Job)>,
    /// What those give later who were told that a batch failed: that one, and what they gave after it.
    again: BTreeMap<Writer, VecDeque<Job>>,
}

/// Who gave something to the storage, and is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// A life of the tab that leads.
    Leader(u64),
    Tab(TabId),
}

#[derive(Debug)]
pub enum Job {
    Batch(PersistId, Vec<StorageChange>),
    ReadOutbox,
}

pub enum Done {
    Stored(PersistId),
    Outbox(Vec<(Vec<u8>, Vec<u8>)>),
}

impl Device {
    pub fn give(&mut self, writer: Writer, job: Job) {
        match self.again.get_mut(&writer) {
            Some(waiting) => waiting.push_back(job),
            None => self.jobs.push_back((writer, job)),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.has_no_jobs() && self.outbox().is_empty()
    }

    pub fn has_only_outbox(&self) -> bool {
        self.has_no_jobs() && !self.outbox().is_empty()
    }

    fn has_no_jobs(&self) -> bool {
        self.jobs.is_empty() && self.again.is_empty()
    }

    /// Finishes the oldest job.
    pub fn next(&mut self) -> Option<(Writer, Done)> {
        let (writer, job) = self.jobs.pop_front()?;
        let done = match job {
            Job::Batch(id, changes) => {
                self.apply(changes);
                Done::Stored(id)
            }
            Job::ReadOutbox => Done::Outbox(self.outbox()),
        };
        Some((writer, done))
    }

    /// Stores the oldest batch, whose writer is told that it failed. Nothing, if something else comes next.
    pub fn store_unheard(&mut self) -> Option<Writer> {
        let Some((writer, Job::Batch(_, changes))) = self.jobs.front() else { return None };
        let (writer, changes) = (*writer, changes.clone());
        self.apply(changes);
        let (own, others) = std::mem::take(&mut self.jobs).into_iter().partition(|(other, _)| *other == writer);
        self.jobs = others;
        let own: VecDeque<(Writer, Job)> = own;
        self.again.insert(writer, own.into_iter().map(|(_, job)| job).collect());
        Some(writer)
    }

    /// What was told to have failed is given again. Returns how much is.
    pub fn try_again(&mut self, writer: Writer) -> usize {
        let again = self.again.remove(&writer).unwrap_or_default();
        let jobs = again.len();
        self.jobs.extend(again.into_iter().map(|job| (writer, job)));
        jobs
    }

    /// What was told to have failed is given up, with all that was given after it.
    pub fn give_up(&mut self, writer: Writer) {
        self.again.remove(&writer);
    }

    /// A tab is gone: what it gave is stored up to somewhere, and then no more.
    pub fn lose(&mut self, gone: Writer, random: &mut Random) {
        self.give_up(gone);
        let own = self.jobs.iter().filter(|(writer, _)| *writer == gone).count() as u64;
        let mut kept = random.below(own + 1);
        // The storage works in order, so what others gave before is stored too; they are told in their time.
        let mut told_later = VecDeque::new();
        while kept > 0
            && let Some((writer, job)) = self.jobs.pop_front()
        {
            kept -= u64::from(writer == gone);
            let Job::Batch(id, changes) = job else {
                told_later.push_back((writer, job));
                continue;
            };
            self.apply(changes);
            told_later.push_back((writer, Job::Batch(id, Vec::new())));
        }
        told_later.append(&mut self.jobs);
        self.jobs = told_later;
        self.jobs.retain(|(writer, _)| *writer != gone);
    }

    /// Finishes what one tab gave, and what others gave before; they are told in their time.
    pub fn flush(&mut self, of: Writer) {
        let Some(last) = self.jobs.iter().rposition(|(writer, _)| *writer == of) else { return };
        for place in 0..=last {
            if let Job::Batch(_, changes) = &mut self.jobs[place].1 {
                let changes = std::mem::take(changes);
                self.apply(changes);
            }
        }
        self.jobs.retain(|(writer, _)| *writer != of);
    }

    fn apply(&mut self, changes: Vec<StorageChange>) {
        for change in changes {
            match change {
                StorageChange::Put { key, value } => drop(self.entries.insert(key, value)),
                StorageChange::Delete { key } => drop(self.entries.remove(&key)),
            }
        }
    }

    fn outbox(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let of_outbox = self.entries.iter().filter(|(key, _)| key.first() == Some(&OUTBOX));
        of_outbox.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}
