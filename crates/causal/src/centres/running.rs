//! The data centre at work: what the feed, the store and the peers bring is put to use.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_store::{CommitReply, ReadLimit, Reply, Request, RequestId, Segment};
use iolite_values::{
    Attempt, ClientId, Decision, Direction, Operation, StoreIncarnation, Timestamp, Transaction, TransactionId,
};
use iolite_wire::centres::{CentreName, FromCentre, OutboxEntry, Place, ShippedTransaction, Taken};

use super::own::Purpose;
use super::{Asker, Centres, Stage};
use crate::clock::Clocks;
use crate::commits::{Causal, Commits, Judged};
use crate::interface::{Broken, LinkId, LinkOutput, Output, Settings};
use crate::marks::Marks;
use crate::rows::{Column, Rows};
use crate::serving::{Next, Recent, Serving};
use crate::tables;
use crate::tail::Tail;
use crate::taking::{Start, Taking};
use crate::trimming::Trimming;
use crate::visible::{Passed, Visible};

/// Bytes of pages that are read at once for a peer. The page that passes it is read still. More than the largest page has, so that the one behind it is read
/// with it: a page is closed at 128 KiB, and its last entry may have 256 KiB.
const PAGES_BYTES: usize = 1 << 20;

/// Everything that is known once the outbox was read.
#[derive(Debug)]
pub(super) struct Running {
    pub store: StoreIncarnation,
    /// Through where the feed has come.
    pub position: Timestamp,
    pub tail: Tail,
    pub commits: Commits<RequestId>,
    pub visible: Visible,
    pub clocks: Clocks,
    pub rows: Rows,
    pub recent: Recent,
    pub taking: BTreeMap<CentreName, Taking>,
    pub serving: BTreeMap<LinkId, Serving>,
    pub marks: Marks,
    pub trimming: Trimming,
}

/// The outbox as it was read when the store came.
#[derive(Debug)]
pub(super) struct Outbox {
    pub tail: Tail,
    pub trimming: Trimming,
    pub rows: Rows,
}

/// A commit that the gateway's side has asked for.
#[derive(Debug)]
pub(super) struct Submitted {
    pub transaction: Transaction,
    pub floor: Timestamp,
    pub within: Option<Duration>,
}

/// Whether a transaction goes to the other data centres.
pub(super) fn is_causal(transaction: &Transaction) -> bool {
    transaction.writes().iter().any(|write| matches!(write.operation, Operation::Merge(_)))
}

impl Running {
    pub fn new(settings: &Settings, now: Instant, store: StoreIncarnation, at: Timestamp, read: Outbox) -> Running {
        let Outbox { tail, trimming, rows } = read;
        let last = tail.last();
        let k = if settings.broken == Broken::ShowBeforeDurable { 1 } else { settings.k };
        let mut visible = Visible::new(k, at, tail.last_transaction());
        let mut taking = BTreeMap::new();
        for peer in &settings.peers {
            visible.applied(peer, rows.place(peer, Column::Applied));
            taking.insert(peer.clone(), Taking::new(rows.place(peer, Column::Taken)));
        }
        let taken = |peer: &&CentreName| rows.place(peer, Column::Taken) > Place::START;
        let marks = Marks::new(now, settings.peers.iter().filter(taken).cloned().collect());
        let (commits, recent, serving) = (Commits::new(at, last), Recent::new(last), BTreeMap::new());
        let clocks = Clocks::new(settings.name.clone(), &settings.peers, tail.last_transaction());
        Running { store, position: at, tail, commits, visible, clocks, rows, recent, taking, serving, marks, trimming }
    }

    /// The feed goes on.
    pub fn on_segment(&mut self, segment: Segment) {
        let mut rows_changed = false;
        for commit in &segment.commits {
            if let Some((place, entry)) = self.tail.fold(commit) {
                let transaction = match OutboxEntry::decode(&entry) {
                    Ok(OutboxEntry::Transaction(shipped)) => {
                        self.visible.entry(place, commit.at, shipped.taken);
                        Some(shipped.transaction)
                    }
                    // Nothing is shown by a mark.
                    Ok(OutboxEntry::Seen(_)) => None,
                    // One of a later version counts as this data centre's own, which is shown later rather than earlier.
                    Err(_) => {
                        self.visible.entry(place, commit.at, None);
                        None
                    }
                };
                self.trimming.added(place, entry.len());
                self.commits.entry(commit.at, place);
                self.recent.push(place, entry, transaction);
            }
            rows_changed |= self.rows.fold(commit);
        }
        if rows_changed {
            for (peer, taking) in &mut self.taking {
                self.visible.applied(peer, self.rows.place(peer, Column::Applied));
                // Another gateway of this data centre may be further.
                taking.raise(self.rows.place(peer, Column::Taken));
            }
        }
        self.position = segment.to;
        self.commits.note(&segment.commits);
        self.visible.hold(segment);
    }
}

impl Running {
    /// Entries that are in K data centres count as seen by clients.
    fn show_in_k(&mut self) {
        for (place, taken) in self.visible.take_in_k() {
            self.clocks.show(place, taken.as_ref());
        }
    }
}

impl Centres {
    /// Takes a commit of the gateway's side.
    pub(super) fn on_commit(&mut self, number: RequestId, submitted: Submitted) {
        let Stage::Running(running) = &mut self.stage else {
            // Whoever asked hears that the store has started again, and asks once more.
            self.forgotten.insert(number);
            return;
        };
        let Submitted { transaction, floor, within } = submitted;
        let (id, attempt) = (transaction.id, transaction.attempt);
        let judged = Judged { reads: transaction.reads, at: transaction.snapshot };
        let Decision::Commit(effects) = transaction.decision else { return };
        let after = running.commits.place_at(floor, running.tail.last());
        let shipped = ShippedTransaction { transaction: id, after, taken: None, writes: effects };
        let (at, entry) = (judged.at, OutboxEntry::Transaction(shipped));
        if let Err(refusal) = running.commits.begin(number, Causal { id, attempt, entry, floor, within, judged }) {
            return self.on_reply(number, Reply::Refused(refusal));
        }
        match running.visible.unseen_after(at) {
            Ok(unseen) => running.commits.note(unseen),
            Err(at_least) => running.commits.note_unknown(number, at_least),
        }
    }

    /// Does what can be done now.
    pub(super) fn work(&mut self) {
        if !matches!(self.stage, Stage::Running(_)) {
            return;
        }
        self.ask_early();
        self.take();
        self.mark();
        self.trim();
        self.submit_due();
        self.serve();
        self.write_rows();
        self.tell_lost();
        self.pass_on();
    }

    fn take(&mut self) {
        let ignores_after = self.settings.broken == Broken::ApplySideBySide;
        let Stage::Running(running) = &mut self.stage else { return };
        let (mut starts, mut marks) = (Vec::new(), Vec::new());
        for (peer, taking) in &mut running.taking {
            let fed = taking.fed(running.position);
            if !fed.transactions.is_empty() {
                running.marks.owe(peer);
            }
            let differ = fed.transactions.iter().filter(|own| running.recent.differs(own)).count();
            taking.found_differing(differ as u64);
            marks.extend(fed.marks);
            // Also of a peer that is gone: nobody will tell it again after a restart.
            let store = taking.known_store().or_else(|| running.rows.store(peer));
            if store.is_some() {
                running.rows.want(peer, Column::Taken, taking.through(), store);
            }
            starts.extend(taking.start(running.position, ignores_after).into_iter().map(|start| (peer.clone(), start)));
            if let Some((link, through)) = taking.tell(running.rows.place(peer, Column::Taken)) {
                let message = FromCentre::Applied { through };
                self.outputs.push_back(Output::Link(LinkOutput::Send { link, message }));
            }
        }
        for (peer, start) in starts {
            self.take_one(peer, start);
        }
        for seen in marks {
            self.on_mark(seen);
        }
    }

    fn take_one(&mut self, peer: CentreName, start: Start) {
        let Start { place, entry, floor } = start;
        let number = self.number(Purpose::Take(peer.clone(), place));
        let id = self.name_of(entry.transaction);
        let Stage::Running(running) = &mut self.stage else { return };
        let (after, taken) = (running.tail.last(), Some(Taken { from: peer, place }));
        let shipped = ShippedTransaction { transaction: id, after, taken, writes: entry.writes };
        let entry = OutboxEntry::Transaction(shipped);
        let causal = Causal { id, attempt: Attempt(1), entry, floor, within: None, judged: Judged::default() };
        if let Err(refusal) = running.commits.begin(number, causal) {
            self.on_reply(number, Reply::Refused(refusal));
        }
    }

    /// The id under which an entry of a peer is committed: its client's own.
    fn name_of(&mut self, transaction: TransactionId) -> TransactionId {
        if self.settings.broken != Broken::NameAnew {
            return transaction;
        }
        let client: ClientId = self.settings.client;
        TransactionId { client, counter: self.names.next() }
    }

    fn submit_due(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        for (number, at_least) in running.commits.take_changed() {
            self.on_reply(number, Reply::Commit(CommitReply::Conflict { at_least }));
        }
        let Stage::Running(running) = &mut self.stage else { return };
        for number in running.commits.due(running.position) {
            if let Some(request) = running.commits.submit(number, &running.tail, running.position) {
                self.outputs.push_back(Output::Request(number, request));
            }
        }
    }

    fn serve(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        let mut reads = Vec::new();
        for (link, serving) in &mut running.serving {
            if self.settings.broken == Broken::ShipFromHistory {
                serving.skip_to(running.recent.after());
            }
            loop {
                match serving.next(&running.recent, running.tail.last()) {
                    Next::Send(entries) => {
                        let message = FromCentre::Entries(entries);
                        self.outputs.push_back(Output::Link(LinkOutput::Send { link: *link, message }));
                    }
                    Next::Read(page) => reads.push((*link, page)),
                    Next::Nothing => break,
                }
            }
        }
        let at = running.position;
        for (link, page) in reads {
            let limit = ReadLimit { rows: usize::MAX, bytes: PAGES_BYTES, direction: Direction::Ascending };
            self.ask(Purpose::Pages(link), Request::ReadAt { interest: tables::pages_from(page), at, limit });
        }
    }

    fn write_rows(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        for due in running.rows.due(running.position) {
            self.write_row(due);
        }
    }

    /// Shows the feed through what is in K data centres. A lost data centre shows nothing more.
    fn pass_on(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        if self.lost.is_some() {
            running.visible.show_nothing();
            return running.show_in_k();
        }
        let store = running.store;
        let mut passed = VecDeque::new();
        while let Some(next) = running.visible.pass() {
            passed.push_back(next);
        }
        if let Some(Passed::Anew(resolved)) = passed.front().cloned() {
            passed.pop_front();
            running.clocks.say_again();
            self.outputs.push_back(Output::Event(iolite_store::Event::Ready { store, resolved }));
        }
        // Whoever is told of the feed is told before how far that is.
        self.tell_news();
        for next in passed {
            let event = match next {
                Passed::Segment(segment) => iolite_store::Event::Feed(segment),
                Passed::Anew(resolved) => iolite_store::Event::Ready { store, resolved },
            };
            self.outputs.push_back(Output::Event(event));
        }
    }

    fn tell_news(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        running.show_in_k();
        running.clocks.has_own(running.tail.last());
        for (peer, taking) in &running.taking {
            running.clocks.has(peer, taking.through());
        }
        if let Some(news) = running.clocks.news(running.position) {
            self.outputs.push_back(Output::News(news));
        }
    }

    /// Whether a number is of a request that still waits for its reply.
    pub(super) fn asker(&mut self, number: RequestId) -> Option<Asker> {
        self.asking.answered(number)
    }
}
