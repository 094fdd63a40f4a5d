//! How a host is started.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use iolite_host::random_id;
use iolite_node::ObjectClasses;
use iolite_objects::managers::{AnyManager, Choice, Manager, canonical_of, with_built_in};
use iolite_objects::{AppSide, Class, DeviceSettings, ToKernel};
use iolite_values::{Id, ObjectName};
use iolite_wire::limits::CLASSES;
use tokio::runtime::Handle;

use super::class::{AnyClass, Methods};
use super::host::{Host, Place, Placings};
use super::host_error::HostError;
use super::host_task::{HostTask, LinkNews};
use super::node::Node;
use super::runner::Runner;
use super::tokens::HostToken;
use crate::blob_link::beside;
use crate::client::is_address;
use crate::embedded::embedded_with;

/// A host that is not started yet. Made by [`Host::connect`] and [`Host::embedded`].
#[derive(Debug)]
#[must_use = "a host runs once it is started"]
pub struct HostBuilder {
    at: At,
    classes: Vec<AnyClass>,
    managers: Vec<Arc<dyn AnyManager>>,
    serves: bool,
    /// None: it is drawn.
    node: Option<Id>,
    call_time: Duration,
}

#[derive(Debug)]
enum At {
    Server { url: String, token: HostToken },
    Embedded,
}

/// How long a call may take, if nothing else is said.
const CALL_TIME: Duration = Duration::from_secs(10);
/// How long a server may take to let a host in.
const START_TIME: Duration = Duration::from_secs(10);

impl HostBuilder {
    pub(crate) fn connect(url: &str, token: &str) -> HostBuilder {
        HostBuilder::at(At::Server { url: url.to_owned(), token: HostToken::Fixed(token.to_owned()) })
    }

    pub(crate) fn embedded() -> HostBuilder {
        HostBuilder::at(At::Embedded)
    }

    fn at(at: At) -> HostBuilder {
        HostBuilder { at, classes: Vec::new(), managers: Vec::new(), serves: false, node: None, call_time: CALL_TIME }
    }

    /// The host runs objects of this class. To call them, a host needs no class.
    pub fn class<T: Methods>(mut self) -> HostBuilder {
        self.classes.push(AnyClass::of::<T>());
        self
    }

    /// The host knows this manager, which is the app's own: see [`managers`](super::managers). Those that are built in are known.
    ///
    /// A host is given the managers of the classes that it has, and of the objects that it calls. Without one, a call fails, and says which is missing.
    pub fn manager<M: Manager>(mut self, manager: M) -> HostBuilder {
        self.managers.push(Arc::new(manager));
        self
    }

    /// The host is part of the service and no device of a user, such as a program that runs beside the server. Objects of any of its classes may live here,
    /// whatever the class lets devices do. A server inside of the process always serves.
    pub fn serves(mut self) -> HostBuilder {
        self.serves = true;
        self
    }

    /// The name of this node. A process that starts again under its name takes its place: objects that the earlier process had are gone, and begin anew
    /// when they are wanted. Only one process at a time has a name. If none is given, it is drawn.
    pub fn node(mut self, name: Id) -> HostBuilder {
        self.node = Some(name);
        self
    }

    /// The host asks this function for tokens: before it connects, when 80 % of a token's life have passed, and when the server refuses one. So it outlives
    /// a token: its connection goes on with the next one. The function takes the place of the token that [`Host::connect`] was given.
    ///
    /// All tokens have to be of one user. With a token of somebody else the host ends. A function that has failed is asked again after a while.
    ///
    /// ```no_run
    /// # use iolite::objects::{Host, HostError};
    /// # async fn fresh_token() -> Result<String, std::io::Error> { Ok(String::new()) }
    /// # async fn run() -> Result<(), HostError> {
    /// let host = Host::connect("ws://127.0.0.1:7777/sync", "").tokens(|| async { fresh_token().await }).start().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn tokens<F, A, E>(mut self, ask: F) -> HostBuilder
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: std::fmt::Display,
    {
        if let At::Server { token, .. } = &mut self.at {
            *token = HostToken::asked(ask);
        }
        self
    }

    /// How long calls may take: 10 s, if not given. See [`Host::call_time`].
    pub fn call_time(mut self, time: Duration) -> HostBuilder {
        self.call_time = time;
        self
    }

    /// Starts the host, and returns when calls can be made: when a server has let it in.
    ///
    /// Cancel safe: what was started ends when the wait is given up.
    ///
    /// # Errors
    /// [`HostError`]: after 10 s without a server, or when the server sends the host away.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(self) -> Result<Host, HostError> {
        self.check()?;
        let node = Arc::new(Node::new(self.call_time));
        match &self.at {
            At::Server { url, token } => self.start_device(node, url, token).await,
            At::Embedded => self.start_server(node).await,
        }
    }

    fn check(&self) -> Result<(), HostError> {
        if self.classes.len() > CLASSES.most {
            return Err(HostError::Classes { limit: CLASSES.most, count: self.classes.len() });
        }
        let managers = with_built_in(&self.managers).map_err(|problem| HostError::Manager { problem })?;
        for (place, class) in self.classes.iter().enumerate() {
            ObjectName::new(class.name, "id")?;
            if self.classes[..place].iter().any(|other| other.name == class.name) {
                return Err(HostError::SameName { name: class.name });
            }
            if let Err(problem) = canonical_of(&Choice::text(class.managers), &managers) {
                return Err(HostError::Managers { name: class.name, problem });
            }
        }
        match &self.at {
            At::Server { url, .. } if !is_address(url) => Err(HostError::Url { url: url.clone() }),
            At::Embedded if self.node.is_some() => Err(HostError::ServerName),
            At::Server { .. } | At::Embedded => Ok(()),
        }
    }

    fn kernel_classes(&self) -> Vec<Class> {
        self.classes.iter().map(|class| (class.class)()).collect()
    }

    async fn start_device(&self, node: Arc<Node>, url: &str, token: &HostToken) -> Result<Host, HostError> {
        let settings = DeviceSettings {
            // Objects live no longer than this process, so a drawn name lives no longer either.
            device: self.node.unwrap_or_else(|| Id::from_u128(random_id())),
            kernel: Id::from_u128(random_id()),
            token: token.source(),
            serves: self.serves,
            resumed: None,
            classes: self.kernel_classes(),
            managers: self.managers.clone(),
            broken: iolite_objects::Broken::Nothing,
        };
        let address = beside(url, "objects");
        let (task, mut news) = HostTask::start(settings, token.clone(), address.clone(), node.clone(), &self.classes);
        // From here on, dropping the host ends the task.
        let placings = if self.serves { Placings::all(&self.classes) } else { Placings::held(&self.classes) };
        let fixed = match token {
            HostToken::Fixed(token) => token,
            HostToken::Asked(_) => "",
        };
        let host = Host::new(node, placings, url, fixed, Place::Device(task));
        let decided = news.wait_for(|news| !matches!(news, LinkNews::Connecting { .. }));
        let decided = tokio::time::timeout(START_TIME, decided).await.map(|news| news.map(|news| news.clone()));
        match decided {
            Ok(Ok(LinkNews::Open)) => Ok(host),
            Ok(Ok(LinkNews::Refused { message })) => Err(HostError::Refused { message }),
            Ok(Ok(LinkNews::Connecting { .. }) | Err(_)) | Err(_) => {
                let problem = news.borrow().problem();
                Err(HostError::NoAnswer { url: address, within: START_TIME, problem })
            }
        }
    }

    async fn start_server(&self, node: Arc<Node>) -> Result<Host, HostError> {
        let (runner_node, any_classes, runtime) = (node.clone(), self.classes.clone(), Handle::current());
        let start = move |to_kernel: ToKernel| -> Box<dyn AppSide> {
            runner_node.begin(to_kernel.clone());
            Box::new(Runner::new(runner_node, to_kernel, &any_classes, runtime))
        };
        let (classes, managers) = (self.kernel_classes(), self.managers.clone());
        let classes = ObjectClasses { classes, managers, start: Box::new(start) };
        let server = embedded_with(classes).await?;
        let (url, token) = (server.url().to_owned(), server.token().to_owned());
        let host = Host::new(node, Placings::all(&self.classes), &url, &token, Place::Embedded(server));
        host.wait_for_tracking(START_TIME).await?;
        Ok(host)
    }
}
