//! Blobs at a client: the link to `/blobs`, the uploads that submissions wait for, and the downloads that readers ask for.
//!
//! Invariants:
//! - a mutation that names a tree is sent when all chunks of it are sealed, on a snapshot at or above the seal; what is sent names the lease, and what
//!   is kept here waits for one, so that it can go under another;
//! - after a conflict the seal is asked for again before the next attempt: a lease that is over shows as a conflict only;
//! - the link is there only while there is work for it and a session with the same gateway.
//!
//! Source: Simba (Perkins 2015, section 3.3); leases and seals are Iolite's: docs/decisions/0028-leases-are-rows.md.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use iolite_blobs::{
    ClientInput, ClientOutput, Download, DownloadNumber, DownloadOutput, Part, Upload, UploadError, UploadNumber,
    UploadOutput, blob_of_cell,
};
use iolite_machine::{Backoff, Instant, Now};
use iolite_values::{Blob, Cell, Chunks, Counter, Decision, LeaseName, Operation, Timestamp, Value, Write};
use iolite_wire::blobs::{BlobRefusal, BlobReply};
use iolite_wire::message::{Goodbye, GoodbyeReason, Submit};

use super::Client;

use crate::interface::{BlobInput, BlobOutput, Output};
use crate::queue::{Entry, Stage};

pub(super) struct Blobs {
    /// Whether the schema has blobs. Without, nothing here costs anything.
    is_used: bool,
    machine: iolite_blobs::Client,
    link: BlobLink,
    /// The token that its hello said.
    token: String,
    /// Before this no link is made.
    retry: Option<Instant>,
    backoff: Backoff,
    /// When what waits for the stores is to try again.
    again: Option<Instant>,
    pauses: Backoff,
    uploads: BTreeMap<Counter, Uploading>,
    downloads: BTreeSet<DownloadNumber>,
    last_upload: u64,
    last_download: u16,
    /// Why nothing is sent, for people.
    waits: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlobLink {
    None,
    Connecting {
        give_up: Instant,
    },
    Open,
    /// The gateway has sent it away for good: not before there is another session.
    Refused,
}

/// The upload of all blobs of one mutation.
struct Uploading {
    number: UploadNumber,
    parts: Vec<Part>,
    lease: Option<(LeaseName, Timestamp)>,
    /// The blobs with their lease, and when they were sealed. None: they are not yet, or it is in doubt.
    sealed: Option<(Timestamp, BTreeMap<Blob, Blob>)>,
}

/// A step for a mutation that is next in its lane.
enum Wanted {
    Upload(Counter, Vec<Part>),
    Refuse(Counter, String),
}

impl Blobs {
    const RETRY_FIRST: Duration = Duration::from_millis(100);
    const RETRY_LAST: Duration = Duration::from_secs(30);
    const LINK_WITHIN: Duration = Duration::from_secs(10);

    pub(super) fn new(seed: u64, is_used: bool) -> Blobs {
        let backoff = |of: u64| Backoff::new(Blobs::RETRY_FIRST, Blobs::RETRY_LAST, seed ^ of);
        Blobs {
            is_used,
            machine: iolite_blobs::Client::new(),
            link: BlobLink::None,
            token: String::new(),
            retry: None,
            backoff: backoff(0x626c_6f62),
            again: None,
            pauses: backoff(0x7061_7573),
            uploads: BTreeMap::new(),
            downloads: BTreeSet::new(),
            last_upload: 0,
            last_download: 0,
            waits: None,
        }
    }

    fn has_work(&self) -> bool {
        !self.downloads.is_empty() || self.uploads.values().any(|own| own.sealed.is_none())
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let give_up = match self.link {
            BlobLink::Connecting { give_up } => Some(give_up),
            BlobLink::None | BlobLink::Open | BlobLink::Refused => None,
        };
        let retry = self.retry.filter(|_| self.link == BlobLink::None && self.has_work());
        [give_up, retry, self.again].into_iter().flatten().min()
    }

    /// Whether a mutation may be sent as of `at`, as far as its blobs are concerned.
    pub(super) fn is_ready(&self, entry: &Entry, at: Timestamp) -> bool {
        matches!(self.may_send(entry, at, |_| None), MaySend::Yes)
    }

    /// The same, and what is to be done for it. `blob_of` is the blob that a cell has in the confirmed state.
    fn may_send(&self, entry: &Entry, at: Timestamp, blob_of: impl Fn(&Cell) -> Option<Blob>) -> MaySend {
        // What was sent once is sent again as it was.
        if !self.is_used || !matches!(entry.stage, Stage::Saved) {
            return MaySend::Yes;
        }
        let trees: Vec<(&Cell, &Blob)> = entry.writes_to_send().iter().filter_map(tree_in).collect();
        if trees.is_empty() {
            return MaySend::Yes;
        }
        if trees.iter().any(|(_, blob)| !blob.waits_for_lease()) {
            return MaySend::Never("a blob of one row is not put into another: put its content again".into());
        }
        match self.uploads.get(&entry.counter()) {
            Some(Uploading { sealed: Some((sealed_at, blobs)), .. })
                if trees.iter().all(|(_, blob)| blobs.contains_key(*blob)) =>
            {
                if *sealed_at <= at {
                    MaySend::Yes
                } else {
                    MaySend::Later
                }
            }
            Some(own) if trees.iter().all(|(_, blob)| own.parts.iter().any(|part| part.blob == **blob)) => {
                MaySend::Later
            }
            Some(_) | None => {
                let part = |(cell, blob): &(&Cell, &Blob)| {
                    let before = blob_of(cell);
                    let from = before.is_some_and(|before| shares(blob, &before)).then(|| (*cell).clone());
                    Part { blob: (*blob).clone(), from }
                };
                let mut parts: Vec<Part> = trees.iter().map(part).collect();
                parts.sort_by(|one, other| one.blob.cmp(&other.blob));
                parts.dedup_by(|one, other| one.blob == other.blob);
                MaySend::Upload(parts)
            }
        }
    }

    /// Names the leases in what is sent.
    pub(super) fn name_leases(&self, submit: &mut Submit) {
        let Some(Uploading { sealed: Some((_, blobs)), .. }) = self.uploads.get(&submit.counter) else { return };
        let Decision::Commit(writes) = &mut submit.decision else { return };
        for write in writes.iter_mut() {
            if let Operation::Put(value) | Operation::Assign(value) = &mut write.operation
                && let Value::Blob(blob) = value
                && let Some(leased) = blobs.get(&**blob)
            {
                *value = leased.clone().into();
            }
        }
    }
}

/// Whether a mutation may be sent, as far as its blobs are concerned.
enum MaySend {
    Yes,
    /// The upload is under way, or the state is not as far yet.
    Later,
    Upload(Vec<Part>),
    Never(String),
}

impl Client {
    /// Begins to fetch the chunks of these bytes of the blob that a cell names, as far as they are not on the device.
    /// Ends with [`BlobOutput::Fetched`].
    pub fn fetch(&mut self, cell: &Cell, blob: &Blob, bytes: Range<u64>) -> DownloadNumber {
        let own = &mut self.blobs;
        loop {
            own.last_download = own.last_download.wrapping_add(1);
            if !own.downloads.contains(&DownloadNumber(own.last_download)) {
                break;
            }
        }
        let number = DownloadNumber(own.last_download);
        own.downloads.insert(number);
        let download = Download::new(number, cell.clone(), blob, bytes, None);
        own.machine.handle(ClientInput::Download(number, Box::new(download)));
        self.take_blob_outputs();
        number
    }

    /// Gives up a fetch. Nothing is told of it from now on.
    pub fn stop_fetching(&mut self, download: DownloadNumber) {
        self.blobs.downloads.remove(&download);
        self.blobs.machine.handle(ClientInput::StopDownload(download));
        self.take_blob_outputs();
    }

    /// Why calls with blobs are not sent, and blobs not fetched, at the moment. `None`: nothing waits for anything but the network.
    pub fn blobs_wait(&self) -> Option<String> {
        self.blobs.waits.clone().filter(|_| self.blobs.has_work())
    }

    pub(super) fn on_blobs(&mut self, now: Now, input: BlobInput) {
        match input {
            BlobInput::Linked => self.on_blobs_linked(),
            BlobInput::LinkLost => self.on_blobs_lost(now.instant, None),
            BlobInput::Frame(frame) if self.blobs.link == BlobLink::Open => match BlobReply::decode(&frame) {
                Ok(reply) => {
                    if matches!(reply, BlobReply::Welcome(_)) {
                        self.blobs.backoff.reset();
                    }
                    self.blobs.machine.handle(ClientInput::Reply(reply));
                }
                Err(_) => {
                    self.outputs.push_back(Output::Blobs(BlobOutput::Disconnect));
                    self.on_blobs_lost(now.instant, None);
                }
            },
            BlobInput::Frame(_) => {}
            BlobInput::Loaded { upload, chunk, content } => {
                self.blobs.machine.handle(ClientInput::Loaded(upload, chunk, content));
            }
            BlobInput::Looked { download, chunk, content } => {
                self.blobs.machine.handle(ClientInput::Looked(download, chunk, content));
            }
        }
        self.take_blob_outputs();
    }

    pub(super) fn on_blobs_due(&mut self, now: Instant) {
        if let BlobLink::Connecting { give_up } = self.blobs.link
            && give_up <= now
        {
            self.outputs.push_back(Output::Blobs(BlobOutput::Disconnect));
            self.on_blobs_lost(now, None);
        }
        if self.blobs.again.take_if(|again| *again <= now).is_some() {
            self.blobs.machine.handle(ClientInput::Again);
            self.take_blob_outputs();
        }
        self.blobs.retry.take_if(|retry| *retry <= now);
    }

    fn on_blobs_linked(&mut self) {
        match self.blobs.link {
            BlobLink::Connecting { .. } => {}
            BlobLink::Open => return,
            BlobLink::None | BlobLink::Refused => {
                return self.outputs.push_back(Output::Blobs(BlobOutput::Disconnect));
            }
        }
        self.blobs.link = BlobLink::Open;
        let (client, token) = (self.identity.device, self.tokens.text().unwrap_or_default().to_owned());
        self.blobs.token.clone_from(&token);
        self.blobs.machine.handle(ClientInput::Connected { client, token });
    }

    fn on_blobs_lost(&mut self, now: Instant, retry_after: Option<Duration>) {
        if matches!(self.blobs.link, BlobLink::Connecting { .. } | BlobLink::Open) {
            self.blobs.link = BlobLink::None;
            let pause = self.blobs.backoff.next_pause();
            self.blobs.retry = Some(now + retry_after.map_or(pause, |wanted| wanted.max(pause)));
            self.blobs.machine.handle(ClientInput::Lost);
        }
    }

    /// The session is gone, and with it the gateway that the link was to.
    pub(super) fn drop_blob_link(&mut self) {
        match self.blobs.link {
            BlobLink::None => {}
            BlobLink::Refused => self.blobs.link = BlobLink::None,
            BlobLink::Connecting { .. } | BlobLink::Open => {
                self.outputs.push_back(Output::Blobs(BlobOutput::Disconnect));
                self.blobs.link = BlobLink::None;
                self.blobs.machine.handle(ClientInput::Lost);
                self.take_blob_outputs();
            }
        }
        self.blobs.retry = None;
    }

    /// There is another token: a link that was refused is tried again.
    pub(super) fn try_blobs_again(&mut self) {
        if self.blobs.link == BlobLink::Refused {
            self.blobs.link = BlobLink::None;
        }
    }

    /// Leases and seals of the history before are no more.
    pub(super) fn blobs_history_lost(&mut self) {
        for (_, own) in std::mem::take(&mut self.blobs.uploads) {
            self.blobs.machine.handle(ClientInput::StopUpload(own.number));
        }
        self.take_blob_outputs();
    }

    /// Makes the link that there is work for.
    pub(super) fn link_blobs(&mut self) -> bool {
        let is_due = self.blobs.link == BlobLink::None && self.blobs.retry.is_none() && self.blobs.has_work();
        if !is_due || !self.session.is_open() || !self.identity.is_stored(self.disk.done) {
            return false;
        }
        self.blobs.link = BlobLink::Connecting { give_up: self.session.told() + Blobs::LINK_WITHIN };
        self.outputs.push_back(Output::Blobs(BlobOutput::Connect(self.session.gateway())));
        true
    }

    /// The upload of a mutation is looked at again before it is sent once more.
    pub(super) fn doubt_seal(&mut self, counter: Counter) {
        let Some(own) = self.blobs.uploads.get_mut(&counter) else { return };
        if own.sealed.take().is_none() {
            return;
        }
        let parts = own.parts.clone();
        let upload = match own.lease {
            Some((lease, at)) => Upload::resume(parts, lease, at),
            None => Upload::new(parts),
        };
        self.blobs.last_upload += 1;
        own.number = UploadNumber(self.blobs.last_upload);
        self.blobs.machine.handle(ClientInput::Upload(own.number, Box::new(upload)));
        self.take_blob_outputs();
    }

    /// Begins the uploads that submissions wait for, ends those that nobody waits for, and refuses what can never be sent.
    pub(super) fn upload(&mut self) -> bool {
        if !self.blobs.is_used || !self.session.is_open() {
            return false;
        }
        self.stop_uploads();
        let wanted = self.wanted_uploads();
        let is_any = !wanted.is_empty();
        for wanted in wanted {
            match wanted {
                Wanted::Upload(counter, parts) => self.begin_upload(counter, parts),
                Wanted::Refuse(counter, reason) => self.give_up(counter, &reason),
            }
        }
        is_any
    }

    fn wanted_uploads(&self) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        let blob_of = |cell: &Cell| {
            let state = self.cache.row(cell.table, &cell.row)?.cell(cell.column)?;
            blob_of_cell(state).cloned()
        };
        for entry in self.queue.next_of_lanes(self.cache.at(), &self.schema) {
            match self.blobs.may_send(entry, self.cache.at(), blob_of) {
                MaySend::Yes | MaySend::Later => {}
                MaySend::Upload(parts) => wanted.push(Wanted::Upload(entry.counter(), parts)),
                MaySend::Never(reason) => wanted.push(Wanted::Refuse(entry.counter(), reason)),
            }
        }
        wanted
    }

    fn begin_upload(&mut self, counter: Counter, parts: Vec<Part>) {
        self.blobs.last_upload += 1;
        let number = UploadNumber(self.blobs.last_upload);
        let own = Uploading { number, parts: parts.clone(), lease: None, sealed: None };
        if let Some(earlier) = self.blobs.uploads.insert(counter, own) {
            self.blobs.machine.handle(ClientInput::StopUpload(earlier.number));
        }
        self.blobs.machine.handle(ClientInput::Upload(number, Box::new(Upload::new(parts))));
        self.take_blob_outputs();
    }

    /// The upload of a change set that is closed serves the next one. Its seal is looked at again.
    pub(super) fn carry_upload(&mut self, from: Counter, to: Counter) {
        let is_left = self.queue.entry(from).is_none();
        if let Some(own) = is_left.then(|| self.blobs.uploads.remove(&from)).flatten() {
            self.blobs.uploads.insert(to, own);
            self.doubt_seal(to);
        }
    }

    fn stop_uploads(&mut self) {
        let is_over = |counter: &Counter| match self.queue.entry(*counter).map(|entry| &entry.stage) {
            None => !self.rows.may_need_upload_of(*counter),
            Some(Stage::Committed { .. }) => true,
            Some(Stage::Called | Stage::Saving(_) | Stage::Saved | Stage::Submitted(_) | Stage::Unanswered(_)) => false,
        };
        let over: Vec<Counter> = self.blobs.uploads.keys().copied().filter(is_over).collect();
        for counter in over {
            if let Some(own) = self.blobs.uploads.remove(&counter) {
                self.blobs.machine.handle(ClientInput::StopUpload(own.number));
            }
        }
    }

    fn take_blob_outputs(&mut self) {
        while let Some(output) = self.blobs.machine.poll() {
            match output {
                ClientOutput::Send(request) => {
                    if let Ok(frame) = request.encode() {
                        self.outputs.push_back(Output::Blobs(BlobOutput::Send(frame)));
                    }
                }
                ClientOutput::Upload(number, output) => self.on_upload_output(number, output),
                ClientOutput::Download(number, output) => self.on_download_output(number, output),
                ClientOutput::Goodbye(goodbye) => self.on_blobs_goodbye(&goodbye),
            }
        }
    }

    fn on_upload_output(&mut self, number: UploadNumber, output: UploadOutput) {
        let of = self.blobs.uploads.iter().find(|(_, own)| own.number == number).map(|(counter, _)| *counter);
        let Some(counter) = of else { return };
        let Some(own) = self.blobs.uploads.get_mut(&counter) else { return };
        match output {
            UploadOutput::Load(chunk) => {
                self.outputs.push_back(Output::Blobs(BlobOutput::Load { upload: number, chunk }));
            }
            UploadOutput::Leased(lease, at) => own.lease = Some((lease, at)),
            UploadOutput::Sealed { at, blobs, .. } => {
                let waiting = own.parts.iter().map(|part| part.blob.clone());
                own.sealed = Some((at, waiting.zip(blobs).collect()));
                self.blobs.waits = None;
                self.blobs.pauses.reset();
            }
            UploadOutput::Waits(refusal) => self.wait_for_stores(match refusal {
                BlobRefusal::StoreFull => "the server's store of blobs is full: its operator has to make room",
                BlobRefusal::TooManyLeases => "this device has as many uploads under way as it may have",
                BlobRefusal::UserFull => {
                    "this user has stored as many bytes of blobs as the server lets a user store: its operator has to allow more"
                }
                BlobRefusal::Unavailable => "the server's store of blobs cannot be reached at the moment",
            }),
            UploadOutput::Ended(error) => {
                self.blobs.uploads.remove(&counter);
                let is_conflict = matches!(error, UploadError::CellChanged { .. }) && self.conflict_over_blob(counter);
                if !is_conflict {
                    self.give_up(counter, &said(&error));
                }
            }
            UploadOutput::Send(_) => {}
        }
    }

    fn on_download_output(&mut self, number: DownloadNumber, output: DownloadOutput) {
        let output = match output {
            DownloadOutput::Look(chunk) => BlobOutput::Look { download: number, chunk },
            DownloadOutput::Keep(chunk) => BlobOutput::Keep { chunk: chunk.id, content: chunk.content },
            DownloadOutput::Waits => {
                return self.wait_for_stores("the server's store of blobs cannot be reached at the moment");
            }
            DownloadOutput::Done => self.fetched(number, Ok(())),
            DownloadOutput::Ended(error) => self.fetched(number, Err(error.to_string())),
            DownloadOutput::Send(_) => return,
        };
        self.outputs.push_back(Output::Blobs(output));
    }

    fn fetched(&mut self, download: DownloadNumber, result: Result<(), String>) -> BlobOutput {
        self.blobs.downloads.remove(&download);
        BlobOutput::Fetched { download, result }
    }

    fn wait_for_stores(&mut self, why: &str) {
        self.blobs.waits = Some(why.to_owned());
        let pause = self.blobs.pauses.next_pause();
        self.blobs.again.get_or_insert(self.session.told() + pause);
    }

    fn on_blobs_goodbye(&mut self, goodbye: &Goodbye) {
        self.outputs.push_back(Output::Blobs(BlobOutput::Disconnect));
        self.on_blobs_lost(self.session.told(), goodbye.retry_after);
        if self.blobs.has_work() {
            self.blobs.waits = Some(goodbye.message.clone());
        }
        match goodbye.reason {
            // The session has a newer token than this link, which said its own in its hello.
            GoodbyeReason::Unauthorized | GoodbyeReason::OtherUser
                if self.tokens.to_say(self.session.told()).is_some_and(|token| token != self.blobs.token) => {}
            GoodbyeReason::Unauthorized
            | GoodbyeReason::OtherUser
            | GoodbyeReason::Version
            | GoodbyeReason::Schema
            | GoodbyeReason::Protocol => {
                self.blobs.link = BlobLink::Refused;
            }
            GoodbyeReason::Limit | GoodbyeReason::Slow | GoodbyeReason::Replaced | GoodbyeReason::Unavailable => {}
        }
    }
}

/// A write of a blob that does not lie in its cell.
fn tree_in(write: &Write) -> Option<(&Cell, &Blob)> {
    let (Operation::Put(Value::Blob(blob)) | Operation::Assign(Value::Blob(blob))) = &write.operation else {
        return None;
    };
    matches!(blob.chunks(), Chunks::Tree(_)).then_some((&write.cell, blob))
}

/// Whether a new tree has chunks of the blob that a cell has now.
fn shares(new: &Blob, before: &Blob) -> bool {
    let (Chunks::Tree(new), Chunks::Tree(before)) = (new.chunks(), before.chunks()) else { return false };
    !new.leases().is_empty() && new.leases().iter().all(|lease| before.leases().contains(lease))
}

fn said(error: &UploadError) -> String {
    match error {
        UploadError::CellChanged { .. } => {
            "the row that a changed blob was made from has another blob by now: make the change on that one".into()
        }
        UploadError::NotHere(_) | UploadError::Damaged(_) | UploadError::NothingToSend { .. } => error.to_string(),
    }
}
