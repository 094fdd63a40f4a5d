//! A host: objects live on it, and the objects of others are called through it.
//!
//! Invariant: a host ends when its last clone is dropped, or when one is stopped: then every call that is open has an answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_host::random_id;
use iolite_objects::limits::STATE_BYTES_MAX;
use iolite_objects::managers::{KeepInCloud, Manager};
use iolite_objects::{CallError as FromKernel, Created, Placing};
use iolite_values::{DeviceRight, Id, NodeId, ObjectName};
use iolite_wire::objects::{Begin, NotRun};

use super::builder::HostBuilder;
use super::call_error::CallError;
use super::cbor;
use super::class::{AnyClass, Object, declared};
use super::create_error::CreateError;

use super::host_error::HostError;
use super::host_task::HostTask;
use super::node::Node;
use super::reference::Ref;
use crate::embedded::Embedded;

/// A host of objects. Clones are the same host, and it ends when the last one is dropped: its objects are gone then, and calls that are open end with an
/// error. References do not keep it.
#[derive(Clone, Debug)]
pub struct Host {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    node: Arc<Node>,
    placings: Placings,
    url: String,
    token: String,
    /// None: it was stopped.
    place: Mutex<Option<Place>>,
}

/// Where a host runs: dropped with it.
#[derive(Debug)]
pub(crate) enum Place {
    /// In a task, which dials a server.
    Device(HostTask),
    /// As a server inside of the process.
    Embedded(Embedded),
}

/// The classes whose objects begin at the host.
#[derive(Debug)]
pub(crate) struct Placings(BTreeMap<&'static str, Placing>);

/// The pause before a question is asked again.
const PAUSE: Duration = Duration::from_millis(10);

impl Host {
    /// A host that dials a server: a device, which others call back over its connection.
    ///
    /// `url` and `token` are as [`Client::connect`](crate::Client::connect) takes them. When the connection is lost, the host connects again by itself.
    pub fn connect(url: &str, token: &str) -> HostBuilder {
        HostBuilder::connect(url, token)
    }

    /// A server inside of the process, as [`embedded`](crate::embedded), with classes of its own: for tests and desktop apps.
    pub fn embedded() -> HostBuilder {
        HostBuilder::embedded()
    }

    pub(crate) fn new(node: Arc<Node>, placings: Placings, url: &str, token: &str, place: Place) -> Host {
        let (url, token, place) = (url.to_owned(), token.to_owned(), Mutex::new(Some(place)));
        Host { shared: Arc::new(Shared { node, placings, url, token, place }) }
    }

    /// Creates an object with this id, or with a new one for `None`.
    ///
    /// It begins here if the class is one of this host's and its objects may live here: the host serves, or the class has `devices = "hold"` and no
    /// `KeepInCloud`. Otherwise the server chooses a node that runs the class. The object is made of the written state, so fields that serde skips have their defaults.
    ///
    /// When the wait is given up, the object may be created.
    ///
    /// # Errors
    /// [`CreateError`]; [`CreateError::Exists`] if there is such an object.
    pub async fn create<'a, T: Object>(
        &self,
        id: impl Into<Option<&'a str>>,
        object: T,
    ) -> Result<Ref<T>, CreateError> {
        let name = match id.into() {
            Some(id) => ObjectName::new(T::NAME, id)?,
            None => ObjectName::new(T::NAME, &Id::from_u128(random_id()).to_string())?,
        };
        match self.create_named(name.clone(), &object).await? {
            Created::New(_) => Ok(self.own_ref(name)),
            Created::WasThere(_) => Err(CreateError::Exists { object: name }),
        }
    }

    /// The object with this id, which is created if there is none.
    ///
    /// When the wait is given up, the object may be created.
    ///
    /// # Errors
    /// [`CreateError`], but for [`CreateError::Exists`].
    pub async fn get<T: Object>(&self, id: &str, new: impl FnOnce() -> T) -> Result<Ref<T>, CreateError> {
        if let Some(found) = self.find(id).await? {
            return Ok(found);
        }
        let name = ObjectName::new(T::NAME, id)?;
        self.create_named(name.clone(), &new()).await?;
        Ok(self.own_ref(name))
    }

    /// The object with this id, if there is one.
    ///
    /// # Errors
    /// [`CreateError`], but for [`CreateError::Exists`].
    pub async fn find<T: Object>(&self, id: &str) -> Result<Option<Ref<T>>, CreateError> {
        let name = ObjectName::new(T::NAME, id)?;
        let found = self.shared.node.find(name.clone());
        let found = tokio::time::timeout(self.shared.node.call_time(), found).await;
        let found = found.unwrap_or(Err(FromKernel::NotRun(NotRun::Unreachable)));
        let placed = found.map_err(CallError::of_question)?;
        Ok(placed.map(|_| self.own_ref(name)))
    }

    /// The node that this host is, while it dials a server that has let it in. A server inside of the process: none.
    pub fn node_id(&self) -> Option<NodeId> {
        self.shared.node.id()
    }

    async fn create_named<T: Object>(&self, object: ObjectName, value: &T) -> Result<Created, CreateError> {
        let state =
            cbor::encode_canonical(value).map_err(|problem| CreateError::State { object: object.clone(), problem })?;
        if state.len() > STATE_BYTES_MAX {
            let limit = format!("at most {STATE_BYTES_MAX} bytes of a state, not {}", state.len());
            return Err(CallError::NotRun(super::NotRun::TooLarge { limit }).into());
        }
        let begin = Begin { object: object.clone(), declared: declared::<T>() };
        let placing = self.shared.placings.of::<T>();
        match tokio::time::timeout(self.shared.node.call_time(), self.begin(begin, state, placing)).await {
            Ok(created) => Ok(created.map_err(CallError::of_question)?),
            Err(_) => Err(CreateError::Late { object }),
        }
    }

    /// Asks again while the object begins already, and while tracking cannot be asked where the object is to begin. Nothing has changed by then.
    async fn begin(&self, begin: Begin, state: Vec<u8>, placing: Placing) -> Result<Created, FromKernel> {
        let node = &self.shared.node;
        let until = tokio::time::Instant::now() + node.call_time();
        loop {
            let created = node.create(begin.clone(), state.clone(), placing).await;
            let is_busy = matches!(created, Err(FromKernel::NotRun(NotRun::Busy)));
            let waits = matches!((&created, placing), (Err(FromKernel::NotRun(NotRun::Unreachable)), Placing::Here));
            if !(is_busy || waits) || node.is_closed() || tokio::time::Instant::now() + PAUSE >= until {
                return created;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn own_ref<T: Object>(&self, name: ObjectName) -> Ref<T> {
        Ref::new(name, Arc::downgrade(&self.shared.node))
    }

    /// How long calls through this host may take from now on, and the rest of its clones too. After it, a call that was sent ends with
    /// [`InDoubt`](CallError::InDoubt): its method may run still. Calls that a method makes have no more time than the method's own call.
    pub fn call_time(&self, time: Duration) {
        self.shared.node.set_call_time(time);
    }

    /// The address of the server, as [`Host::connect`] takes it.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// The token, as [`Host::connect`] takes it. Empty, if a function gives the tokens: [`HostBuilder::tokens`].
    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// Ends the host and all its clones, and returns when it has ended.
    ///
    /// Cancel safe: it ends also when the wait is given up.
    ///
    /// # Errors
    /// [`HostError::Embedded`], when a server inside of the process had failed before.
    pub async fn stop(self) -> Result<(), HostError> {
        let place = self.shared.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        match place {
            Some(Place::Device(task)) => task.stop().await,
            Some(Place::Embedded(server)) => server.stop().await?,
            None => {}
        }
        Ok(())
    }

    /// Waits until a server inside of the process can ask where objects are.
    pub(crate) async fn wait_for_tracking(&self, within: Duration) -> Result<(), HostError> {
        let until = tokio::time::Instant::now() + within;
        let probe = ObjectName::new("iolite", "start")?;
        loop {
            let error = match self.shared.node.find(probe.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) => CallError::of_question(error),
            };
            if tokio::time::Instant::now() >= until {
                let (url, problem) = (self.shared.url.clone(), Some(error.to_string()));
                return Err(HostError::NoAnswer { url, within, problem });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Placings {
    /// All classes.
    pub(crate) fn all(classes: &[AnyClass]) -> Placings {
        Placings(classes.iter().map(|class| (class.name, Placing::Here)).collect())
    }

    /// The classes whose objects devices may hold. Of those that are kept in the cloud they have copies only.
    pub(crate) fn held(classes: &[AnyClass]) -> Placings {
        let is_kept = |class: &AnyClass| class.managers.iter().any(|own| own.kind.name == KeepInCloud::KIND.name);
        let placing = |class: &AnyClass| match class.devices {
            DeviceRight::Hold if !is_kept(class) => Placing::Here,
            DeviceRight::Hold | DeviceRight::Call | DeviceRight::Read => Placing::AtServer,
        };
        Placings(classes.iter().map(|class| (class.name, placing(class))).collect())
    }

    fn of<T: Object>(&self) -> Placing {
        self.0.get(T::NAME).copied().unwrap_or(Placing::AtServer)
    }
}
