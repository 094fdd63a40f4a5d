//! One disk of a node: its map of extents, its queue, what is on it, and what it has done.
//!
//! Invariant: an operation starts when the one before it on its channel ends by the model, however late the host calls; so a host whose timers
//! are late by a little does not let the disk fall behind. A write is there for reads from the moment at which it ends, not before.

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::Instant;
use serde::{Deserialize, Serialize};

use super::allocation::{DiskAlloc, Owner};
use super::model::{Head, Model, Scheduler, Service};
use super::reconcile::{AllocationError, ExtentMap, reconcile};
use crate::engine::Content;
use crate::quantity::{Bytes, Span};

/// The number of a disk operation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    Read,
    /// `is_durable`: it ends when it is on the platter, whatever the cache.
    Write {
        content: Content,
        is_durable: bool,
    },
    /// Values that stand one behind the other, each with its offset, in one durable write.
    WriteMany {
        contents: Vec<(u64, Content)>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    pub ticket: Ticket,
    pub owner: Owner,
    /// An offset into the owner's own bytes.
    pub offset: u64,
    pub length: u64,
    pub transfer: Transfer,
}

/// An operation that ended, with what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskDone {
    pub ticket: Ticket,
    pub content: Option<Content>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounts {
    pub reads: u64,
    pub writes: u64,
    pub seeks: u64,
    pub busy: Span,
    pub seeking: Span,
    pub rotating: Span,
    /// The most operations that waited or were served at once.
    pub deepest: usize,
}

#[derive(Debug)]
struct Waiting {
    request: DiskRequest,
    since: Instant,
    /// The disk's cache took it and answered; what is left is to write it.
    is_cached: bool,
}

#[derive(Debug)]
pub struct Device {
    model: Model,
    scheduler: Scheduler,
    capacity: Bytes,
    map: ExtentMap,
    head: Head,
    reads: VecDeque<Waiting>,
    writes: VecDeque<Waiting>,
    /// Reads that overtook the oldest write.
    overtook: u32,
    /// Operations by the time at which they end, and their order among equals.
    served: BTreeMap<(Instant, u64), Waiting>,
    /// Since when each idle channel has been so.
    idle: Vec<Instant>,
    cached: u64,
    started: u64,
    contents: BTreeMap<(Owner, u64), Content>,
    done: VecDeque<DiskDone>,
    counts: DiskCounts,
}

impl Device {
    /// A disk with these requests for parts of it. Until [`Device::use_model`] it takes no time.
    pub fn new(number: usize, capacity: Bytes, requests: &[&DiskAlloc]) -> Result<Device, AllocationError> {
        Ok(Device {
            model: Model::Free,
            scheduler: Scheduler::InOrder,
            capacity,
            map: reconcile(number, capacity, requests)?,
            head: Head::default(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            overtook: 0,
            served: BTreeMap::new(),
            idle: vec![Instant::default()],
            cached: 0,
            started: 0,
            contents: BTreeMap::new(),
            done: VecDeque::new(),
            counts: DiskCounts::default(),
        })
    }

    /// From here on operations take their time, and are counted.
    ///
    /// # Panics
    /// When operations are under way.
    pub fn use_model(&mut self, model: Model, scheduler: Scheduler) {
        assert!(self.served.is_empty() && self.done.is_empty(), "what is there before a run is there when it starts");
        self.idle = vec![Instant::default(); model.channels().min(4096)];
        (self.model, self.scheduler, self.counts) = (model, scheduler, DiskCounts::default());
    }

    pub fn submit(&mut self, now: Instant, request: DiskRequest) {
        if matches!(self.model, Model::Free) {
            self.apply(request);
            return;
        }
        let is_cached = match &request.transfer {
            Transfer::Read | Transfer::Write { is_durable: true, .. } | Transfer::WriteMany { .. } => false,
            Transfer::Write { is_durable: false, .. } => self.cached + request.length <= self.model.write_cache().0,
        };
        if is_cached {
            self.cached += request.length;
            self.apply(request.clone());
        }
        let waiting = Waiting { request, since: now, is_cached };
        match waiting.request.transfer {
            Transfer::Read => self.reads.push_back(waiting),
            Transfer::Write { .. } | Transfer::WriteMany { .. } => self.writes.push_back(waiting),
        }
        let waits = self.reads.len() + self.writes.len() + self.served.len();
        self.counts.deepest = self.counts.deepest.max(waits);
        self.start_what_can();
    }

    /// When the next operation ends.
    pub fn deadline(&self) -> Option<Instant> {
        self.served.first_key_value().map(|((end, _), _)| *end)
    }

    /// Ends what ends by `now`. A call that comes early does nothing.
    pub fn on_deadline(&mut self, now: Instant) {
        while let Some(entry) = self.served.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((end, _), served) = entry.remove_entry();
            self.idle.push(end);
            match served.is_cached {
                true => self.cached -= served.request.length,
                false => self.apply(served.request),
            }
            self.start_what_can();
        }
    }

    pub fn poll(&mut self) -> Option<DiskDone> {
        self.done.pop_front()
    }

    pub fn counts(&self) -> DiskCounts {
        self.counts
    }

    pub fn map(&self) -> &ExtentMap {
        &self.map
    }

    fn start_what_can(&mut self) {
        while !self.idle.is_empty() {
            let Some(waiting) = self.next() else { return };
            let free_since = self.idle.pop().expect("a channel is idle");
            let start = waiting.since.max(free_since);
            let request = &waiting.request;
            let pieces = self.map.pieces(&request.owner, request.offset, request.length);
            let is_write = !matches!(request.transfer, Transfer::Read);
            let service = self.model.service(start, self.capacity, &mut self.head, is_write, &pieces);
            self.count(is_write, service);
            self.started += 1;
            self.served.insert((start + service.whole(), self.started), waiting);
        }
    }

    fn count(&mut self, is_write: bool, service: Service) {
        let counts = &mut self.counts;
        *(if is_write { &mut counts.writes } else { &mut counts.reads }) += 1;
        counts.seeks += u64::from(!service.seek.is_zero());
        counts.busy += service.whole();
        counts.seeking += service.seek;
        counts.rotating += service.rotation;
    }

    fn next(&mut self) -> Option<Waiting> {
        let read_first = match (self.reads.front(), self.writes.front(), self.scheduler) {
            (None, None, _) => return None,
            (Some(_), None, _) => true,
            (None, Some(_), _) => false,
            (Some(read), Some(write), Scheduler::InOrder) => {
                (read.since, read.request.ticket) < (write.since, write.request.ticket)
            }
            (Some(_), Some(_), Scheduler::ReadsFirst) => self.overtook < 2,
        };
        if read_first {
            self.overtook = if self.writes.is_empty() { 0 } else { self.overtook + 1 };
            return self.reads.pop_front();
        }
        self.overtook = 0;
        self.writes.pop_front()
    }

    fn apply(&mut self, request: DiskRequest) {
        let content = match request.transfer {
            Transfer::Read => {
                let unwritten = Content { digest: 0, length: request.length };
                Some(*self.contents.get(&(request.owner, request.offset)).unwrap_or(&unwritten))
            }
            Transfer::Write { content, .. } => {
                self.contents.insert((request.owner, request.offset), content);
                None
            }
            Transfer::WriteMany { contents } => {
                let place = |(offset, content)| ((request.owner.clone(), offset), content);
                self.contents.extend(contents.into_iter().map(place));
                None
            }
        };
        self.done.push_back(DiskDone { ticket: request.ticket, content });
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocation::Shape;
    use super::super::model::tests::rotating;
    use super::*;
    use crate::disk::model::Rotating;

    fn device(model: Model, scheduler: Scheduler) -> Device {
        let request = DiskAlloc { disk: 0, owner: owner(), shape: Shape::piece(Bytes(100 << 30)) };
        let mut device = Device::new(0, Bytes(500_000_000_000), &[&request]).expect("it fits");
        device.use_model(model, scheduler);
        device
    }

    fn owner() -> Owner {
        Owner("log".to_owned())
    }

    fn read(ticket: u64, offset: u64) -> DiskRequest {
        DiskRequest { ticket: Ticket(ticket), owner: owner(), offset, length: 4096, transfer: Transfer::Read }
    }

    fn write(ticket: u64, offset: u64, is_durable: bool) -> DiskRequest {
        let content = Content { digest: ticket, length: 4096 };
        DiskRequest { transfer: Transfer::Write { content, is_durable }, ..read(ticket, offset) }
    }

    /// Tickets in the order in which they end, with what was read.
    fn run(device: &mut Device) -> Vec<(u64, Option<u64>)> {
        let mut ended = Vec::new();
        loop {
            ended.extend(
                std::iter::from_fn(|| device.poll())
                    .map(|done| (done.ticket.0, done.content.map(|content| content.digest))),
            );
            let Some(end) = device.deadline() else { return ended };
            device.on_deadline(end);
        }
    }

    #[test]
    fn reads_overtake_two_to_a_write() {
        let mut disk = device(Model::Rotating(rotating()), Scheduler::ReadsFirst);
        let requests = [write(0, 0, true), write(1, 4096, true), read(2, 0), read(3, 0), read(4, 0), read(5, 0)];
        requests.into_iter().for_each(|request| disk.submit(Instant::default(), request));
        let order: Vec<u64> = run(&mut disk).into_iter().map(|(ticket, _)| ticket).collect();
        assert_eq!(order, [0, 2, 3, 1, 4, 5]);
        assert_eq!((disk.counts().reads, disk.counts().writes, disk.counts().deepest), (4, 2, 6));
    }

    #[test]
    fn what_is_not_written_yet_is_not_read() {
        let mut disk = device(Model::Rotating(rotating()), Scheduler::ReadsFirst);
        let requests = [read(0, 0), write(1, 4096, true), read(2, 4096), read(3, 0)];
        requests.into_iter().for_each(|request| disk.submit(Instant::default(), request));
        assert_eq!(run(&mut disk), [(0, Some(0)), (2, Some(0)), (3, Some(0)), (1, None)]);
        disk.submit(Instant::from_nanos(u64::MAX / 2), read(4, 4096));
        assert_eq!(run(&mut disk), [(4, Some(1))]);
    }

    #[test]
    fn a_late_host_does_not_let_the_disk_fall_behind() {
        let requests = || [read(0, 0), read(1, 50 << 30), read(2, 7 << 30)];
        let mut prompt = device(Model::Rotating(rotating()), Scheduler::InOrder);
        requests().into_iter().for_each(|request| prompt.submit(Instant::default(), request));
        let mut late = device(Model::Rotating(rotating()), Scheduler::InOrder);
        requests().into_iter().for_each(|request| late.submit(Instant::default(), request));
        run(&mut prompt);
        late.on_deadline(Instant::from_nanos(1_000_000_000));
        assert_eq!(late.counts(), prompt.counts());
        assert_eq!(late.deadline(), None);
    }

    #[test]
    fn a_cache_takes_writes_at_once_until_it_is_full_and_none_that_must_be_durable() {
        let model = Rotating { write_cache: Bytes(8192), ..rotating() };
        let mut disk = device(Model::Rotating(model), Scheduler::InOrder);
        (0..3).for_each(|ticket| disk.submit(Instant::default(), write(ticket, ticket * 4096, false)));
        disk.submit(Instant::default(), write(3, 3 * 4096, true));
        let at_once: Vec<u64> = std::iter::from_fn(|| disk.poll()).map(|done| done.ticket.0).collect();
        assert_eq!(at_once, [0, 1]);
        assert_eq!(run(&mut disk).into_iter().map(|(ticket, _)| ticket).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn flash_serves_on_its_channels_at_once() {
        let flash = super::super::model::Flash {
            read: Span::from_micros(100),
            write: Span::from_micros(30),
            transfer: Bytes(1_000_000_000),
            channels: 4,
        };
        let mut disk = device(Model::Flash(flash), Scheduler::InOrder);
        (0..8).for_each(|ticket| disk.submit(Instant::default(), read(ticket, ticket * 4096)));
        disk.on_deadline(Instant::from_nanos(105_000));
        assert_eq!(std::iter::from_fn(|| disk.poll()).count(), 4);
        disk.on_deadline(Instant::from_nanos(210_000));
        assert_eq!(std::iter::from_fn(|| disk.poll()).count(), 4);
    }
}
