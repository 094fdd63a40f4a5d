//! The store: it comes, its outbox is read, and its feed goes on.
//!
//! Invariant: the outbox's end and the rows about peers are read as of one moment, and every commit of the feed after it is taken once.

use iolite_store::{Event, ReadLimit, ReadReply, Request, Segment, TooOld};
use iolite_values::{Direction, StoreIncarnation, Timestamp};

use super::own::{Purpose, Which};
use super::running::{Outbox, Running};
use super::{Centres, Stage};
use crate::interface::{LinkOutput, Output};
use crate::rows::Rows;
use crate::tables;
use crate::tail::Tail;
use crate::trimming::Trimming;

/// The store is there, and its outbox is being read.
#[derive(Debug)]
pub(super) struct Reading {
    store: StoreIncarnation,
    /// As of which it is read.
    at: Timestamp,
    first: Option<ReadReply>,
    pages: Option<ReadReply>,
    rows: Option<ReadReply>,
    /// The feed since.
    segments: Vec<Segment>,
}

impl Centres {
    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Ready { store, resolved } => self.on_ready(store, resolved),
            Event::Reply(number, reply) => self.on_reply(number, reply),
            Event::Feed(segment) => match &mut self.stage {
                Stage::Away => {}
                Stage::Reading(reading) => reading.segments.push(segment),
                Stage::Running(running) => running.on_segment(segment),
            },
        }
    }

    /// The store is there, perhaps with another history than before.
    fn on_ready(&mut self, store: StoreIncarnation, resolved: Timestamp) {
        if let Stage::Running(running) = &self.stage {
            self.forgotten.extend(running.commits.askers());
        }
        let links: Vec<_> = self.links.keys().copied().collect();
        for link in links {
            self.links.remove(&link);
            let reason = "the store has started again".to_owned();
            self.emit(Output::Link(LinkOutput::Close { link, reason }));
        }
        self.purposes.clear();
        self.early.clear();
        self.names.forget_open();
        self.holding = None;
        let reading = Reading { store, at: resolved, first: None, pages: None, rows: None, segments: Vec::new() };
        self.stage = Stage::Reading(Box::new(reading));
        self.read_outbox(resolved);
    }

    fn read_outbox(&mut self, at: Timestamp) {
        let last = ReadLimit { rows: 1, bytes: usize::MAX, direction: Direction::Descending };
        let first = ReadLimit { rows: 0, bytes: usize::MAX, direction: Direction::Ascending };
        self.ask(Purpose::Read(Which::FirstPage), Request::ReadAt { interest: tables::all_pages(), at, limit: first });
        self.ask(Purpose::Read(Which::LastPages), Request::ReadAt { interest: tables::all_pages(), at, limit: last });
        let all = ReadLimit::NONE;
        self.ask(Purpose::Read(Which::Rows), Request::ReadAt { interest: tables::all_centres(), at, limit: all });
    }

    pub(super) fn on_read(&mut self, which: Which, reply: Result<ReadReply, TooOld>) {
        let Stage::Reading(reading) = &mut self.stage else { return };
        let Ok(reply) = reply else {
            // The store forgot that moment meanwhile. What has been fed since is in a later one.
            let at = reading.segments.last().map_or(reading.at, |segment| segment.to);
            (reading.at, reading.first, reading.pages, reading.rows) = (at, None, None, None);
            reading.segments.clear();
            self.purposes.retain(|_, own| !matches!(own, Purpose::Read(_)));
            return self.read_outbox(at);
        };
        let place = match which {
            Which::FirstPage => &mut reading.first,
            Which::LastPages => &mut reading.pages,
            Which::Rows => &mut reading.rows,
        };
        *place = Some(reply);
        self.run_if_read();
    }

    fn run_if_read(&mut self) {
        let Stage::Reading(reading) = &mut self.stage else { return };
        let (Some(first), Some(pages), Some(rows)) = (&reading.first, &mut reading.pages, &mut reading.rows) else {
            return;
        };
        let (store, at) = (reading.store, reading.at);
        let segments = std::mem::take(&mut reading.segments);
        pages.rows.reverse();
        let (tail, rows) = (Tail::of(&pages.rows), Rows::of(std::mem::take(&mut rows.rows)));
        let read = Outbox { trimming: Trimming::new(first.rows.first(), &tail), tail, rows };
        let mut running = Running::new(&self.settings, self.now.instant, store, at, read);
        segments.into_iter().for_each(|segment| running.on_segment(segment));
        self.stage = Stage::Running(Box::new(running));
        self.follow_all();
    }
}
