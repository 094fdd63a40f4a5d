//! The inputs of a gateway, which its host gives it, and its outputs.

use iolite_access::{Access, AnonymousKey, Key};
use iolite_blobs::{CheckedPut, Done, ObjectName, Ticket};
use iolite_catalog::SchemaPolicy;
use iolite_store::{Event, Request, RequestId};
use iolite_values::ClientId;
use iolite_wire::blobs::{BlobReply, BlobRequest};
use iolite_wire::centres::CentreNews;
use iolite_wire::message::{FromClient, FromGateway};

use crate::asking::{AskRight, RightId};
use crate::deploying::{Deploy, Deployed, DeploymentId};
use crate::explaining::{Explain, ExplainId, Explained};
use crate::limits::Limits;
use crate::sessions::revoked::RevokedTokens;
use crate::without::Without;

/// Names a connection. Chosen by the host, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u64);

impl SessionId {
    /// The gateway itself, as who follows queries. No host names a session so.
    pub(crate) const OWN: SessionId = SessionId(u64::MAX);
}

/// Names an order to revoke tokens. Chosen by the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RevocationId(pub u64);

/// What happens to a gateway. It speaks messages: hosts decode and encode them beside the connection, where the work is spread over threads,
/// with one [`iolite_wire::SessionDecoder`] and one [`iolite_wire::SessionEncoder`] a session. No message is too large to be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A connection is there.
    SessionOpened(SessionId),
    Message(SessionId, FromClient),
    /// A frame that cannot be read, and why. The session ends.
    Garbled(SessionId, String),
    /// The connection is gone. Not needed after [`Output::Close`], but harmless.
    SessionClosed(SessionId),
    /// The socket has taken this many more of the session's messages, oldest first.
    Drained {
        session: SessionId,
        messages: usize,
    },
    Store(Event),
    /// In a group of data centres: how far this one is.
    Centre(CentreNews),
    Blobs(BlobLink, BlobInput),
    /// Whether the store of chunks has room from now on.
    BlobRoom(BlobRoom),
    /// Revoke the leases that are over: a sweep begins.
    RevokeLeases,
    /// An operator revokes tokens. [`AccessNews::Answered`] says how it went.
    Revoke(RevocationId, RevokedTokens),
    /// An operator puts a schema and its rights into effect, or asks what that would change. [`AccessNews::Deployed`] says how it went.
    Deploy(DeploymentId, Box<Deploy>),
    /// An operator asks what a user may do, and why. [`AccessNews::Explained`] says so.
    Explain(ExplainId, Box<Explain>),
    /// The door of objects asks what a user may do. [`AccessNews::May`] says so, and [`AccessNews::RightWithdrawn`] when a yes is none any more.
    AskRight(RightId, Box<AskRight>),
    /// Forget this question of the door of objects: it rests on the answer no more.
    ForgetRight(RightId),
    /// The keys at the issuer's address take the place of those that were there before. Those of the settings stay.
    Keys(Vec<Key>),
    /// No client is served from now on, for this reason, which says what to do. None: they are served again.
    OutOfService(Option<String>),
}

/// Whether the store of chunks has room, as its host has counted. Reads go on in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobRoom {
    #[default]
    Free,
    /// The host counts what is there: nobody is given a lease meanwhile.
    Counting,
    /// Neither leases are given nor chunks taken.
    Full,
}

/// Names a connection to `/blobs`. Chosen by the host, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlobLink(pub u64);

/// An event of a connection to `/blobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobInput {
    /// A connection is there. The 16 bytes are random, and its own.
    Opened([u8; 16]),
    Message(BlobRequest),
    /// A chunk that was put, and looked at.
    Put(CheckedPut),
    /// A frame that cannot be read, and why. The connection ends.
    Garbled(String),
    /// The socket has taken this many more of the connection's messages, oldest first.
    Drained(usize),
    /// The connection is gone. Not needed after [`BlobOutput::Close`], but harmless.
    Closed,
    /// How something ended that the store of chunks was asked for.
    Done(Ticket, Done),
}

/// An output of a gateway for a connection to `/blobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobOutput {
    Send(BlobReply),
    /// Close the connection once its messages are sent, or after a second.
    Close,
    /// Make this object durable, then say [`Done::Stored`]. Storing it again writes the same bytes.
    Store(Ticket, ObjectName, Vec<u8>),
    /// Read this object, and say [`Done::Loaded`].
    Load(Ticket, ObjectName),
    /// Say with [`Done::Looked`] whether this object is there.
    Look(Ticket, ObjectName),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Message(SessionId, FromGateway),
    /// Close the connection once its messages are sent, or after a second.
    Close(SessionId),
    Store(RequestId, Request),
    /// Nobody waits for the reply to this request any more, which reads. The store may answer it or not.
    GiveUp(RequestId),
    Blobs(BlobLink, BlobOutput),
    /// For its host, which lets users in elsewhere, too.
    Access(AccessNews),
}

/// News for a gateway's host of who is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessNews {
    /// These tokens are refused from now on, and their sessions here have ended. Said again after a start.
    Revoked(RevokedTokens),
    /// All that was revoked has been told, and the keys of anonymous users: users can be let in from now on.
    Known,
    /// Whether the tokens of an order are revoked: if so, every gateway learns it from the feed. If not, why, for people.
    Answered(RevocationId, Result<(), String>),
    /// The changes that a deployment has made, or would make. If it is not in effect, why, for people.
    Deployed(DeploymentId, Result<Deployed, String>),
    /// Whether a user may do what the door of objects has asked about.
    May(RightId, bool),
    /// The yes to this question holds no more: the door asks again when it is needed.
    RightWithdrawn(RightId),
    /// The answer to a question of an operator, or what is wrong with the question, for people.
    Explained(ExplainId, Result<Explained, String>),
    /// The key that signs tokens of anonymous users from now on.
    AnonymousKey(AnonymousKey),
    /// The keys of the issuer's address, which are good from now on.
    Keys(Vec<Key>),
    /// A token names a key that nobody here knows. Perhaps its issuer has begun to use a new one.
    UnknownKey,
}

/// The settings of a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names the gateway's own transactions. New and random at every start.
    pub client: ClientId,
    pub access: Access,
    /// 32 random bytes: the key of anonymous users, if the store has none yet and they are let in.
    pub fresh_key: [u8; 32],
    /// Whether users are let in only when the store has rights. If not, they may do everything while it has none.
    pub rights_required: bool,
    /// Whether the store has secondary indexes, which sets of rights need.
    pub has_indexes: bool,
    pub schemas: SchemaPolicy,
    pub limits: Limits,
    /// Whether its host has a store of chunks. Without one, connections to `/blobs` are refused.
    pub has_blob_store: bool,
    pub broken: Broken,
    pub without: Without,
}

/// What is wrong with this gateway: the simulator has to find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// Publishes outcomes and changes when the commit's reply arrives, past the resolved timestamp.
    PublishPastResolved,
    /// Tells what a client committed in an earlier session only when that submits it again, after the state that contains it.
    TellOwnLater,
    /// A mutation goes to the store although the one that it follows did not commit.
    PassHeldUp,
    /// Pages of a log are taken away as soon as one member has replayed them.
    TrimBeforeDelivery,
    /// Tells a client that its commit is delivered without waiting for one of the members that owe it.
    DeliverToMost,
    /// Has the store forget whatever a session says that it knows.
    AcknowledgeAnything,
    /// The refusal of a transaction of tables that merge is recorded as an abort.
    RecordRefusal,
    /// A mutation is committed without the reads that its judgement rests on.
    JudgeWithoutReads,
    /// The reads of a judgement are dropped as those of the mutation's level are.
    RulesBeforeGuarded,
    /// A mutation's own reads are validated whether its user may see the rows or not.
    ReadsUnchecked,
    /// A denial is told, and nothing is recorded in the place of the mutation.
    DeniedNotRecorded,
    /// A row that leaves what a user may see is told by the change that hid it.
    TellTheLeavingChange,
    /// Tells a client that comes back only what has changed of what it held, whatever its user may see by now.
    ResumeWithOldRights,
    /// Goes on with what a user might see before a key set changed.
    KeepFollowing,
    /// The id of a client is what its hello says, and is not made of who the user is.
    ClientIdAsSent,
    /// Lets a client in from another data centre before all that it has seen is here.
    LetInBehind,
}
