//! The inputs and outputs of tracking.

use iolite_machine::Instant;
use iolite_store::{Event, Request, RequestId};
use iolite_values::{
    Bucket, ClientId, CoordinatorId, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation,
};
use iolite_wire::objects::{Begin, OfferedClass, Placed, TrackAnswer};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Names the commits of this machine. The host draws it at start.
    pub client: ClientId,
    /// Servers renew leases, by a commit each second, and watch each other. A server that is alone in its store goes without.
    pub has_leases: bool,
}

/// Chosen by the asker; not used again while its ask is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AskId(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Store(Event),
    Ask(AskId, Ask),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Request(RequestId, Request),
    /// The reply to this request is of no use any more.
    GiveUp(RequestId),
    News(News),
}

/// An output for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Tracking can be asked. Comes again when the store begins anew: epochs mean something only under the id of one store.
    Ready(StoreIncarnation),
    /// Answers the ask with this id. Each ask is answered once.
    Told(AskId, Told),
    /// The server of this process, in this life, has a lease until then. After a time without a lease it has to read the rows of its instances before it
    /// serves any.
    Lease { own: NodeId, until: Instant },
    /// Another server, or this one, has registered with this address. It may be told more than once.
    Server { own: NodeId, address: String },
    /// This life of a node is lost or has ended, and so has every earlier life. Lost: a server is marked whose lease is over, or a device that its server has
    /// lost for long. Either may come back in this life. Ended: a device has registered in a later life, or a server has and the last lease of this life is
    /// over. [`Ask::Recall`] says of an object whether its owner is over: a device of a user that is only lost is not. All servers hear of it, and may more
    /// than once. Of what was before it started, a server hears of servers only. A server that is alone hears of marks and ended lives of devices, and nothing
    /// of its own earlier lives.
    NodeDead(NodeId),
    /// This process coordinates the objects of a bucket from now on, or no more. It does so only while its lease holds, or while it is alone in its store and
    /// has registered. [`Ask::List`] says which objects there are, and [`News::Begun`] which ones come.
    Coordinates(Bucket, bool),
    /// An object with managers has begun, perhaps anew, in a bucket that this process coordinates. The feed says so, hence of each object that begins
    /// after the process was told that it coordinates the bucket.
    Begun { object: ObjectName, managers: String },
    /// The server that holds a bucket, by the rows; whether that server has a lease, they do not say. Told for every bucket after each [`News::Ready`], and
    /// when it changes.
    Holder(Bucket, Option<NodeId>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Where is this object? Told: `Found`, `Lost` or `Unknown`, as it is at a moment between the ask and the answer. An object is gone once the life of
    /// its owner has ended: a later life of that node is registered, or the node has no row. It is lost while its owner is part of the service and marked.
    Find(ObjectName),
    /// An object begins at a node. Told: `Begun`, or `Found` with the row of the object that is there already. An object whose owner is over begins anew,
    /// in the next epoch. An owner is over when its life has ended, or when it is marked as lost and part of the service.
    Begin { begin: Begin, at: NodeId },
    /// An object goes from the places that it has in this epoch to others, the owner first. Told: [`Told::Moved`], or [`Told::Stands`] if the row is of
    /// another epoch, or `Refused` as `Unreachable` if the new owner's life has ended, or it is marked as lost. A mark does not hinder an owner that takes
    /// its object back.
    Move { object: ObjectName, from: ObjectEpoch, places: Vec<NodeId> },
    /// An object whose owner is over goes on at another node, as its coordinator says. Told as a move is; and [`Told::Stands`] if the owner is not over, or comes
    /// back before the change.
    Take { object: ObjectName, from: ObjectEpoch, at: NodeId },
    /// An object ends, if its row is of this epoch. Told: [`Told::Removed`], or [`Told::Stands`]. An object that begins later under the name gets a
    /// higher epoch.
    Remove { object: ObjectName, from: ObjectEpoch },
    /// The objects of a bucket that are there, whether their owners are or not. Told: [`Told::Listed`], as of where the feed is at a moment between the ask
    /// and the answer. So the listing has everything that was news before the ask, and news says what comes later; but a commit of somebody else that has
    /// just ended may not be in it. An object whose row a newer Iolite wrote is not listed.
    List(Bucket),
    /// The row of an object, and the memory of its coordinators. Told: [`Told::Recalled`], also when its owner is over; or `Unknown`.
    Recall(ObjectName),
    /// The coordinators of an object are to remember this from now on, if they remember what it `was` still, and the row is of this epoch. Told: [`Told::Remembered`], or
    /// [`Told::Recalled`] as it is now, or `Unknown`; or `Refused` as `TooLarge` past [`crate::limits::MEMORY_BYTES_MAX`]. The epoch stays. A move keeps
    /// the memory, and an object that begins, also anew, has an empty one. When the answer was `InDoubt`, ask again: `Recalled` may have this very memory.
    Remember { object: ObjectName, from: ObjectEpoch, was: Vec<u8>, memory: Vec<u8> },
    /// The server that a device was last connected to. Told: [`Told::At`], as it is at a moment between the ask and the answer.
    Where(NodeId),
    /// A node comes. Told: [`Told::Registered`], or [`Told::Elsewhere`] if it has come on a later connection meanwhile, in the same life.
    Register {
        name: NodeName,
        /// The life that it had. 0: it has none.
        known: NodeLife,
        /// Whether it is part of the service, and no device of a user.
        serves: bool,
        /// The server that it is connected to; of a server, itself.
        at: CoordinatorId,
        /// Counts the connections of a device in its life; of a server, 0. The number of the last registration may come again: its answer was lost.
        connection: u64,
        /// Where other servers find it; of a device, or a server that is alone, empty.
        address: String,
        classes: Vec<OfferedClass>,
    },
    /// The last connection of a device with a server has ended long ago. Told: [`Told::Lost`], or [`Told::Elsewhere`] if the device has come back on
    /// another connection, at another server, or in another life.
    Gone { device: NodeId, at: CoordinatorId, connection: u64 },
}

/// The answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Track(TrackAnswer),
    /// The row of an object after its move.
    Moved(Placed),
    /// The row of an object that was neither moved nor removed. A move that is asked again may find itself here: compare the places.
    Stands(Placed),
    Removed,
    /// In the order of their names.
    Listed(Vec<(ObjectName, Placed)>),
    /// `is_over`: the object begins anew if it is begun now, as [`Ask::Begin`] has it.
    Recalled {
        placed: Placed,
        is_over: bool,
        memory: Vec<u8>,
    },
    Remembered,
    /// The server of a device. None: it is marked as lost, or is not in this life.
    At(Option<CoordinatorId>),
    /// The node, in the life that it has now, and its lapses: how often it was marked as lost in this life. Objects of a node that serves may have begun
    /// anew elsewhere at each of them.
    Registered(NodeId, u64),
    /// The device is marked as lost, and all servers hear [`News::NodeDead`].
    Lost,
    /// The device has come on another connection, or in another life: this one is of no use any more.
    Elsewhere,
    /// Too many asks are open. This one changed nothing: ask again later.
    Busy,
    /// The store is not there, or could not serve the ask. The ask changed nothing: ask again.
    Unavailable,
    /// The store began anew while the ask was with it. The change may have happened: ask again, and see.
    InDoubt,
}
