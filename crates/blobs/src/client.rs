//! The client's side of one connection to `/blobs`: its uploads, one after the other, and its downloads beside them.
//!
//! Invariants: all of a client's machines together keep to the bounds of a connection, whatever their number; a reply reaches the machine that asked.
//! The machines outlive a connection, and go on with the next one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_values::{ChunkId, ClientId};
use iolite_wire::blobs::{BLOB_PROTOCOL_VERSION, BlobHello, BlobReply, BlobRequest};
use iolite_wire::message::Goodbye;

use crate::download::{Download, DownloadInput, DownloadNumber, DownloadOutput};
use crate::limits::GETS_OPEN_MAX;
use crate::upload::{Upload, UploadInput, UploadOutput};

/// The number of an upload, which its host chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UploadNumber(pub u64);

/// An input of a client's side of `/blobs`.
#[derive(Debug)]
pub enum ClientInput {
    /// There is a connection. The token is that of the client's session.
    Connected {
        client: ClientId,
        token: String,
    },
    /// There is none any more.
    Lost,
    Reply(BlobReply),
    Upload(UploadNumber, Box<Upload>),
    Download(DownloadNumber, Box<Download>),
    /// A chunk that an upload was to have loaded.
    Loaded(UploadNumber, ChunkId, Option<Vec<u8>>),
    /// A chunk that a download has looked for.
    Looked(DownloadNumber, ChunkId, Option<Vec<u8>>),
    /// All that waits for the stores is to try again.
    Again,
    /// The upload is not wanted any more.
    StopUpload(UploadNumber),
    StopDownload(DownloadNumber),
}

/// An output, which the host carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientOutput {
    Send(BlobRequest),
    /// An output of an upload that is no message.
    Upload(UploadNumber, UploadOutput),
    /// An output of a download that is no message.
    Download(DownloadNumber, DownloadOutput),
    /// The gateway has ended the connection: connect again when it says, or not at all.
    Goodbye(Goodbye),
}

/// All that moves chunks at a client.
#[derive(Debug, Default)]
pub struct Client {
    is_open: bool,
    /// The first one is under way.
    uploads: VecDeque<(UploadNumber, Upload)>,
    downloads: BTreeMap<DownloadNumber, Download>,
    /// `Get`s that wait until others are answered.
    gets: VecDeque<BlobRequest>,
    open_gets: BTreeSet<u32>,
    outputs: VecDeque<ClientOutput>,
}

impl Client {
    pub fn new() -> Client {
        Client::default()
    }

    pub fn handle(&mut self, input: ClientInput) {
        match input {
            ClientInput::Connected { client, token } => self.greet(client, token),
            ClientInput::Lost => self.on_lost(),
            ClientInput::Reply(reply) => self.on_reply(reply),
            ClientInput::Upload(number, upload) => self.on_upload(number, *upload),
            ClientInput::Download(number, download) => self.on_download(number, *download),
            ClientInput::Loaded(number, id, content) => {
                if let Some((_, upload)) = self.uploads.iter_mut().find(|(own, _)| *own == number) {
                    upload.handle(UploadInput::Loaded(id, content));
                }
            }
            ClientInput::Looked(number, id, content) => self.tell(number, DownloadInput::Looked(id, content)),
            ClientInput::Again => self.again(),
            ClientInput::StopUpload(number) => self.stop_upload(number),
            ClientInput::StopDownload(number) => drop(self.downloads.remove(&number)),
        }
        self.collect();
    }

    pub fn poll(&mut self) -> Option<ClientOutput> {
        self.outputs.pop_front()
    }

    fn greet(&mut self, client: ClientId, token: String) {
        let (oldest_version, newest_version) = (BLOB_PROTOCOL_VERSION, BLOB_PROTOCOL_VERSION);
        let hello = BlobHello { oldest_version, newest_version, token, client };
        self.outputs.push_back(ClientOutput::Send(BlobRequest::Hello(hello)));
    }

    fn on_lost(&mut self) {
        self.is_open = false;
        self.gets.clear();
        self.open_gets.clear();
        // Nothing that was meant for this connection is sent on the next one.
        self.outputs.retain(|output| !matches!(output, ClientOutput::Send(_)));
        if let Some((_, upload)) = self.uploads.front_mut() {
            upload.handle(UploadInput::LinkLost);
        }
        self.tell_all(&DownloadInput::LinkLost);
    }

    fn on_reply(&mut self, reply: BlobReply) {
        match reply {
            BlobReply::Welcome(_) => self.on_open(),
            BlobReply::Goodbye(goodbye) => {
                self.on_lost();
                self.outputs.push_back(ClientOutput::Goodbye(goodbye));
            }
            BlobReply::Chunk(request, _) | BlobReply::Gone(request) | BlobReply::Unavailable(request) => {
                self.open_gets.remove(&request);
                self.tell(DownloadNumber::of(request), DownloadInput::Reply(reply));
            }
            BlobReply::Leased(_)
            | BlobReply::Refused(_)
            | BlobReply::HaveReply(_)
            | BlobReply::Stored(_)
            | BlobReply::Sealed(_)
            | BlobReply::Unsealed(_)
            | BlobReply::LeaseOver(_) => {
                if let Some((_, upload)) = self.uploads.front_mut() {
                    upload.handle(UploadInput::Reply(reply));
                }
            }
        }
    }

    fn on_open(&mut self) {
        self.is_open = true;
        if let Some((_, upload)) = self.uploads.front_mut() {
            upload.handle(UploadInput::Linked);
        }
        self.tell_all(&DownloadInput::Linked);
    }

    fn on_upload(&mut self, number: UploadNumber, mut upload: Upload) {
        if self.is_open && self.uploads.is_empty() {
            upload.handle(UploadInput::Linked);
        }
        self.uploads.push_back((number, upload));
    }

    fn on_download(&mut self, number: DownloadNumber, mut download: Download) {
        if self.is_open {
            download.handle(DownloadInput::Linked);
        }
        self.downloads.insert(number, download);
    }

    /// The first upload's requests are still answered. The next one waits for that.
    fn stop_upload(&mut self, number: UploadNumber) {
        let is_first = self.uploads.front().is_some_and(|(own, _)| *own == number);
        if is_first && self.is_open {
            self.uploads[0].1.stop();
        } else {
            self.uploads.retain(|(own, _)| *own != number);
        }
    }

    fn again(&mut self) {
        if let Some((_, upload)) = self.uploads.front_mut() {
            upload.handle(UploadInput::Again);
        }
        self.tell_all(&DownloadInput::Again);
    }

    fn tell(&mut self, number: DownloadNumber, input: DownloadInput) {
        if let Some(download) = self.downloads.get_mut(&number) {
            download.handle(input);
        }
    }

    fn tell_all(&mut self, input: &DownloadInput) {
        for download in self.downloads.values_mut() {
            download.handle(input.clone());
        }
    }

    /// Takes the outputs of all machines, and lets the next ones begin.
    fn collect(&mut self) {
        while let Some((number, upload)) = self.uploads.front_mut() {
            while let Some(output) = upload.poll() {
                self.outputs.push_back(match output {
                    UploadOutput::Send(request) => ClientOutput::Send(request),
                    other => ClientOutput::Upload(*number, other),
                });
            }
            if !upload.is_done() {
                break;
            }
            self.uploads.pop_front();
            if let (true, Some((_, next))) = (self.is_open, self.uploads.front_mut()) {
                next.handle(UploadInput::Linked);
            }
        }
        for (number, download) in &mut self.downloads {
            while let Some(output) = download.poll() {
                match output {
                    DownloadOutput::Send(request) => self.gets.push_back(request),
                    other => self.outputs.push_back(ClientOutput::Download(*number, other)),
                }
            }
        }
        self.downloads.retain(|_, download| !download.is_over());
        self.send_gets();
    }

    fn send_gets(&mut self) {
        while self.open_gets.len() < GETS_OPEN_MAX {
            let Some(request) = self.gets.pop_front() else { return };
            let BlobRequest::Get(get) = &request else { continue };
            if self.downloads.contains_key(&DownloadNumber::of(get.request)) {
                self.open_gets.insert(get.request);
                self.outputs.push_back(ClientOutput::Send(request));
            }
        }
    }
}
