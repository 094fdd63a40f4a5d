//! The inputs and outputs of the client core.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use iolite_blobs::{DownloadNumber, UploadNumber};
use iolite_machine::{PersistId, WallTime};
use iolite_values::{Attempt, ChunkId, ClientId, Counter, DeviceSecret, LogId, Schema, TableId, Timestamp};
use iolite_wire::centres::CentreName;

use crate::client::TokenSource;
use crate::limits::Limits;
use crate::reactive::ReactionId;
use crate::session::{Connection, Gateway};
use crate::storage::StorageChange;
use crate::tabs::{TabId, Ticket};
use crate::transaction::RunOf;

/// What a client is opened with.
#[derive(Clone, Debug)]
pub struct Config {
    pub schema: Arc<Schema>,
    /// The id that a new store draws for its device: 128 random bits. A store that exists keeps its own. A session says it, and it is a secret.
    pub fresh_client: ClientId,
    /// The secret that a new store draws ids of rows and authors of texts from: 128 more random bits. A store that exists keeps its own.
    pub fresh_secret: DeviceSecret,
    pub token: TokenSource,
    /// Whose data this is. A store of another user is refused, so that nobody's mutations are sent as somebody else's.
    pub user: String,
    /// How many gateways of each data centre its host knows, the preferred data centre first; numbered through. At least one. Which of them is tried is
    /// the client's choice: another data centre once all of one were tried in vain.
    pub gateways: Vec<NonZeroU16>,
    /// How much time is between two times that it is told of changes, at least, in whole milliseconds. Zero: each as it comes.
    pub batch: Duration,
    /// Whether its cache is stored, too, and not only its calls: of use where the storage outlives the client.
    pub stores_cache: bool,
    /// Spreads many clients over the gateways, and their retries in time. Any number.
    pub seed: u64,
    pub limits: Limits,
}

/// What happens to a client.
#[derive(Clone, Debug)]
pub enum Input {
    /// The link that was asked for is there.
    Linked,
    /// The link is gone, or could not be made.
    LinkLost,
    /// A binary frame from the gateway.
    Frame(Vec<u8>),
    /// Storage has everything up to here.
    Persisted(PersistId),
    /// Storage has no room. The host has dropped every [`Output::Persist`] that is not stored; what comes next takes the place of all of them.
    StorageFull,
    /// A message of a tab that follows.
    FromTab(TabId, Vec<u8>),
    /// A tab that follows is known to be closed. (One that closes without a word is found out.)
    TabGone(TabId),
    /// What [`Output::ReadOutbox`] asked for: keys and values.
    Outbox(Vec<(Vec<u8>, Vec<u8>)>),
    Blobs(BlobInput),
}

/// An event of the link to `/blobs`, or of the chunks on the device.
#[derive(Clone, Debug)]
pub enum BlobInput {
    /// The link that was asked for is there.
    Linked,
    /// The link is gone, or could not be made.
    LinkLost,
    /// A binary frame from the gateway.
    Frame(Vec<u8>),
    /// A chunk that an upload was to have loaded. `None`: the device does not have it.
    Loaded { upload: UploadNumber, chunk: ChunkId, content: Option<Vec<u8>> },
    /// A chunk that a download has looked for. `None`: the device does not have it.
    Looked { download: DownloadNumber, chunk: ChunkId, content: Option<Vec<u8>> },
}

/// An order about the link to `/blobs`, or the chunks on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobOutput {
    /// Make a link to `/blobs` of this gateway.
    Connect(Gateway),
    /// Drop that link, if there is one. No `LinkLost` is expected.
    Disconnect,
    /// Send a binary frame on it.
    Send(Vec<u8>),
    /// Say with [`BlobInput::Loaded`] what this chunk holds.
    Load { upload: UploadNumber, chunk: ChunkId },
    /// Say with [`BlobInput::Looked`] what this chunk holds, if the device has it.
    Look { download: DownloadNumber, chunk: ChunkId },
    /// Keep this chunk on the device.
    Keep { chunk: ChunkId, content: Vec<u8> },
    /// A fetch has ended: all that was asked for is on the device, or why not, for people.
    Fetched { download: DownloadNumber, result: Result<(), String> },
}

/// The orders of a client to its host, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Make a link to this gateway.
    Connect(Gateway),
    /// Drop the link, if there is one. No `LinkLost` is expected.
    Disconnect,
    /// Send a binary frame.
    Send(Vec<u8>),
    /// Get a token, and answer by [`crate::Client::set_token`] or [`crate::Client::token_failed`]. There is no second question before that.
    TokenWanted,
    /// Apply these changes to the storage, all or none, after those of lower positions; then say so. If nobody waits for them, they may be on the disk a little
    /// later, with others.
    Persist {
        id: PersistId,
        changes: Vec<StorageChange>,
        awaited: bool,
    },
    /// Run this closure now: [`crate::Client::begin`], the closure, [`crate::Client::finish`].
    Run(RunOf),
    /// A mutation got on, or ended. `attempt` is the last one that was submitted, and of a confirmed one that which took effect: an earlier
    /// one, where its copy was late. Each submission is told at once, so before the closure may run again.
    Mutation {
        counter: Counter,
        attempt: Attempt,
        status: MutationStatus,
    },
    /// A mutation that was confirmed is delivered: everybody in the set of members who follows what it wrote has applied it.
    Delivered(Counter),
    /// The members of a log are others than before: [`crate::Client::log_members`].
    LogMembers(LogId),
    /// A log stands still here: the entry with this index cannot be. Everything else goes on.
    LogStopped {
        log: LogId,
        index: u64,
        reason: String,
    },
    /// After `index` entries of a log another member has another state than this one. The log goes on, and the states may differ for good.
    LogDiffers {
        log: LogId,
        index: u64,
    },
    /// The connection is another one than before.
    Connection(Connection),
    /// Another data centre serves the client, or it is on its way to one.
    Centre(Centre),
    /// A reactive transaction needs data that is not here, and there is no connection. It runs once there is.
    Unavailable(ReactionId),
    /// Hand this to a tab that follows.
    ToTab(TabId, Vec<u8>),
    /// Read all entries of the storage whose key begins with [`crate::OUTBOX`], after what was given to it before, and hand them in.
    ReadOutbox,
    /// A call that another tab stored, or this one before it led, is a mutation of the queue now.
    Adopted {
        ticket: Ticket,
        counter: Counter,
    },
    /// A reactive transaction failed and stays as it was; the message is for the developer.
    ReactionFailed {
        reaction: ReactionId,
        message: String,
    },
    Blobs(BlobOutput),
    /// The conflicts of this table are others than before: [`crate::Client::conflicts`].
    Conflicts(TableId),
}

/// How far a mutation is. All but the first are final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutationStatus {
    Pending(Pending),
    /// Committed, and contained in the confirmed state.
    Confirmed {
        at: Timestamp,
    },
    /// The mutation's own closure gave up, on confirmed data; it took no effect.
    Rejected {
        reason: String,
    },
    /// It can never be accepted as it is; its payload is kept.
    Quarantined {
        reason: String,
    },
    /// It never began: a mistake in the closure, missing data while offline, or taken back by the app.
    Cancelled {
        reason: String,
    },
    /// Of a causal table: it was in conflict, and a person did not keep what it wrote.
    Overruled,
}

/// The state of a mutation that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// On this device's disk: it will be sent, across restarts.
    pub durable: bool,
    /// An attempt was sent, and may have taken effect.
    pub sent: bool,
    /// Why it would be rejected if the confirmed state were as it looks now. Provisional: later data may change it.
    pub would_reject: Option<String>,
    /// It needs data that is not on this device, so it has no effect in any view until the data is there.
    pub waits_for_data: bool,
    /// Of a causal table: somebody else has written a row that it wrote, and a person has to decide.
    pub in_conflict: bool,
    /// Data centres that are known to have it, where it writes tables that merge: one or none. It is confirmed once enough have it.
    pub centres: u32,
}

/// What is wrong with a client: the simulator has to find it. Everything else leaves it at [`Broken::Nothing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// A mutation leaves the pending list when its outcome arrives, before the confirmed state contains it.
    RemoveAtReply,
    /// What was taken back stays in the document that shows a text.
    KeepTakenBack,
    /// That a call was confirmed is not kept for its tab, which may store it once more.
    ForgetConfirmed,
    /// An append to a page of a log has not read that the page is open.
    AppendAfterClose,
    /// The writes of a log's operation are stored without the position behind it.
    ForgetReplayedPosition,
    /// A member that begins from a checkpoint leaves out the entry behind it.
    SkipAtRejoin,
    /// An advance is said to be applied when it comes, before the pending mutations and the reactions have run on it.
    AcknowledgeBeforeApplying,
    /// A mutation is sent although it has read what a pending one before it writes.
    SendWhatReadPending,
    /// A strong mutation rests on rows as kept calls show them, which may never be committed.
    StrongReadsKept,
    /// After a restart a call that took place runs again, though it may have been sent.
    RunAgainAfterSent,
    /// A call that took place is sent before it is stored.
    SendBeforeStored,
    /// A register is assigned by the device's clock alone, also below a time that the writer has seen.
    StampByClock,
    /// A queue goes out under the token of whoever is signed in.
    SendAsAnotherUser,
    /// A rule of the tables that sync.
    Rows(iolite_rowsync::Broken),
}

/// How a client stands to the data centres of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Centre {
    /// This one serves it, or did last.
    At(CentreName),
    /// That one cannot be reached, and others are tried.
    Moving,
}

/// A pending mutation, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMutation {
    pub counter: Counter,
    /// `None` for a closure.
    pub name: Option<Arc<str>>,
    pub arguments: Option<Arc<str>>,
    pub called_at: WallTime,
    /// The name that its tab called it by, if that tab did not lead.
    pub ticket: Option<Ticket>,
    pub status: Pending,
}

/// A mutation that ended without effect, kept until the app dismisses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub counter: Counter,
    pub name: Arc<str>,
    pub arguments: Arc<str>,
    pub called_at: WallTime,
    pub ticket: Option<Ticket>,
    pub reason: String,
    /// Whether the app's own closure gave up; otherwise it could not be accepted.
    pub by_app: bool,
}
