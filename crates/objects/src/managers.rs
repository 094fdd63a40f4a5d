//! Deployment managers: who runs a call, where an object lives, and what happens when a machine ends. A line above the class names them.
//!
//! A manager has up to three components. Its *proxy* is at each node that calls the object, or that has a copy of it. Its *instance manager* is beside the
//! object. Its *coordinator* is at one of the servers, and the next server goes on with its memory. The kernel runs them at its events, and they act by their
//! [`Kit`]. Source: Zhang 2017, section 2.5.
//!
//! Managers are layers: a call goes through the proxies of all of them, from the outermost, and then through their instance managers. Messages of a manager
//! go from component to component, and through no other layer.

mod at_least_once;
mod caches;
mod choice;
mod consistent_caching;
mod coordinating;
mod declared;
mod explicit_caching;
mod explicit_migration;
mod facts;
mod immutable;
mod keep_in_cloud;
mod keep_in_place;
mod keep_on_device;
mod kit;
mod lease_caching;
mod load_balanced_front_end;
mod locking_transactions;
pub mod message;
mod optimistic_transactions;
mod serializable_rpc;
mod transactions;
mod write_through_caching;

use std::fmt::{self, Debug};
use std::sync::Arc;

use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use crate::executor::Later;

pub use self::at_least_once::AtLeastOnceRpc;
pub use self::choice::Choice;
pub use self::consistent_caching::ConsistentCaching;
pub use self::coordinating::{CoordinatorAsk, CoordinatorTold, Recalled};
pub use self::declared::{DeclaredManager, ManagersProblem, canonical, canonical_of, with_built_in};
pub use self::explicit_caching::ExplicitCaching;
pub use self::explicit_migration::ExplicitMigration;
pub use self::facts::{Fact, Kind, Misfit, Slot, misfit};
pub use self::immutable::Immutable;
pub use self::keep_in_cloud::KeepInCloud;
pub use self::keep_in_place::KeepInPlace;
pub use self::keep_on_device::KeepOnDevice;
pub use self::kit::{Kit, Turn};
pub use self::lease_caching::LeaseCaching;
pub use self::load_balanced_front_end::LoadBalancedFrontEnd;
pub use self::locking_transactions::LockingTransactions;
pub use self::optimistic_transactions::OptimisticTransactions;
pub use self::serializable_rpc::SerializableRpc;
pub use self::write_through_caching::WriteThroughCaching;

pub(crate) use self::coordinating::of_ref_request;
pub(crate) use self::declared::{Layers, check_known, parse};
pub(crate) use self::kit::{Aside, Ask, Chain, Layered, Loaded, Reply, Side, To};

/// A manager, of which a host has one for all classes. It makes the components of each object.
///
/// Components run inside of the kernel. They wait for the means of their [`Kit`] and for nothing else. A manager is compiled into each program that has such
/// objects or calls them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no manager",
    note = "implement `Manager` for it; a manager that is built in is named without a path"
)]
pub trait Manager: Debug + Send + Sync + 'static {
    /// The name, the place among other managers, and the settings. The compiler reads it where a class has the manager.
    const KIND: Kind;

    /// The component at a node that calls the object: one for each object that the node calls. None: calls pass.
    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        let _ = settings;
        None
    }

    /// The component at the server that coordinates the object. None: there is nothing to coordinate.
    fn coordinator(&self, settings: &Settings) -> Option<Arc<dyn Coordinator>> {
        let _ = settings;
        None
    }

    /// The component beside the object: a new one whenever the object begins at a node, or comes to it. None: calls pass.
    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        let _ = settings;
        None
    }
}

/// A manager of whatever type. Each [`Manager`] is one.
pub trait AnyManager: Debug + Send + Sync {
    /// The manager's [`Manager::KIND`].
    fn kind(&self) -> &'static Kind;

    /// Makes a component by [`Manager::proxy`].
    fn make_proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>>;

    /// Makes a component by [`Manager::instance`].
    fn make_instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>>;

    /// Makes a component by [`Manager::coordinator`].
    fn make_coordinator(&self, settings: &Settings) -> Option<Arc<dyn Coordinator>>;
}

impl<M: Manager> AnyManager for M {
    fn kind(&self) -> &'static Kind {
        const { &M::KIND }
    }

    fn make_proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        self.proxy(settings)
    }

    fn make_instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        self.instance(settings)
    }

    fn make_coordinator(&self, settings: &Settings) -> Option<Arc<dyn Coordinator>> {
        self.coordinator(settings)
    }
}

/// The values of a manager's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub(crate) Vec<(String, u64)>);

impl Settings {
    /// The value of a setting. Zero, if the manager has none of this name.
    pub fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|(own, _)| own == name).map_or(0, |(_, value)| *value)
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// A message from another component of the same manager of the same object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The node that says it. Its server has written this.
    pub from: NodeId,
    /// The copy that it wants to have, and may. `Call`: none.
    pub claim: DeviceRight,
    pub body: Vec<u8>,
}

/// The reply to a message, or why there is none.
pub type MessageResult = Result<Vec<u8>, NotRun>;

/// A manager's component at a node that calls an object. There is one for each object that the node calls.
pub trait Proxy: Send + Sync {
    /// A method is called at this node (`onRPC`). [`Kit::next`] passes the call on.
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer>;

    /// The app says something to the manager at this node (`registerMethod`): pull, push, begin, commit and the like.
    fn on_app(self: Arc<Self>, kit: Kit, body: Vec<u8>) -> Later<Result<Vec<u8>, CallFailure>> {
        Box::pin(async move { kit.ask_owner(body).await })
    }

    /// Another node's proxy has sent a call to the copy that is here. [`Kit::run`] runs it.
    fn on_call(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        let _ = (kit, call);
        Box::pin(async { Answer::NotHere })
    }

    /// The instance manager or the coordinator says something.
    fn on_message(self: Arc<Self>, kit: Kit, message: Message) -> Later<MessageResult> {
        let _ = (kit, message);
        Box::pin(async { Err(NotRun::NoSuchMethod) })
    }

    /// Whether the object itself may come to this node, which then has no copy any more.
    ///
    /// # Errors
    /// Why not.
    fn may_come(&self) -> Result<(), NotRun> {
        Ok(())
    }
}

/// A manager's component beside an object.
pub trait InstanceManager: Send + Sync {
    /// The object has begun here, or come here (`onCreate`).
    fn on_create(self: Arc<Self>, kit: Kit) -> Later<()> {
        let _ = kit;
        Box::pin(async {})
    }

    /// A call has come (`onRPC`). [`Kit::next`] passes it on, and at last runs the method.
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        kit.next(call)
    }

    /// Another component of this manager says something.
    fn on_message(self: Arc<Self>, kit: Kit, message: Message) -> Later<MessageResult> {
        let _ = (kit, message);
        Box::pin(async { Err(NotRun::NoSuchMethod) })
    }

    /// Whether the object may go to another node. For people: why not.
    ///
    /// # Errors
    /// Why not.
    fn may_move(&self) -> Result<(), NotRun> {
        Ok(())
    }
}

/// A manager's component at the server that coordinates an object. There is one. When its server ends or hands it over, another one begins elsewhere, and
/// starts from its memory ([`Kit::recall`]).
pub trait Coordinator: Send + Sync {
    /// The object has begun, or was coordinated elsewhere before (`onCreate`). The task is given up when the object is coordinated elsewhere, or is gone.
    fn on_create(self: Arc<Self>, kit: Kit) -> Later<()>;

    /// A node is lost, or has another life (`onFailure`). It may be none of the object's. The task is given up as that of `on_create`.
    fn on_failure(self: Arc<Self>, kit: Kit, node: NodeId) -> Later<()>;

    /// A node wants to know which nodes have copies (`onRefRequest`).
    fn on_ref_request(self: Arc<Self>, kit: Kit) -> Later<Result<Vec<NodeId>, NotRun>>;

    /// Another component of this manager says something.
    fn on_message(self: Arc<Self>, kit: Kit, message: Message) -> Later<MessageResult> {
        let _ = (kit, message);
        Box::pin(async { Err(NotRun::NoSuchMethod) })
    }
}

/// The one list of the managers that are built into Iolite, for the compiler and for kernels.
macro_rules! built_in {
    ($($manager:ident),* $(,)?) => {
        /// The kinds of all managers that are built into Iolite.
        pub const BUILT_IN: &[&Kind] = &[$(&<$manager as Manager>::KIND),*];

        /// All managers that are built into Iolite.
        pub(crate) fn built_in() -> Vec<Arc<dyn AnyManager>> {
            vec![$(Arc::new($manager)),*]
        }
    };
}

built_in!(
    AtLeastOnceRpc,
    LockingTransactions,
    OptimisticTransactions,
    Immutable,
    ExplicitCaching,
    LeaseCaching,
    WriteThroughCaching,
    ConsistentCaching,
    SerializableRpc,
    LoadBalancedFrontEnd,
    KeepInPlace,
    KeepInCloud,
    KeepOnDevice,
    ExplicitMigration,
);
