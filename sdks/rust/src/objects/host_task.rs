//! The task of a host that dials a server: it drives the machine of a device over a WebSocket.
//!
//! Invariants:
//! - the machine sees all that has arrived before its outputs are carried out;
//! - when the task ends, everybody who waits for an answer has one.

use std::sync::Arc;

use iolite_host::Clock;
use iolite_machine::Machine;
use iolite_objects::{AppSide, Device, DeviceInput, DeviceOutput, DeviceSettings, FromApp, LinkState, ToKernel};
use iolite_wire::objects::{FromDevice, ToDevice};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::class::AnyClass;
use super::node::Node;
use super::runner::Runner;
use super::tokens::{Given, HostToken};
use crate::link::{Link, LinkEvent};

/// A host's task. Dropping it ends the host, without waiting for it.
#[derive(Debug)]
pub(crate) struct HostTask {
    /// Dropped, it tells the task to end.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The state of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkNews {
    /// The connection is tried. For people: what happened last.
    Connecting {
        problem: Option<String>,
    },
    Open,
    /// The server has sent the host away for good.
    Refused {
        message: String,
    },
}

impl LinkNews {
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            LinkNews::Connecting { problem } => problem.clone(),
            LinkNews::Open | LinkNews::Refused { .. } => None,
        }
    }
}

/// Inputs of the app that are handed in together at most.
const INPUTS_AT_ONCE: usize = 256;

impl HostTask {
    pub(crate) fn start(
        settings: DeviceSettings,
        token: HostToken,
        url: String,
        node: Arc<Node>,
        classes: &[AnyClass],
    ) -> (HostTask, watch::Receiver<LinkNews>) {
        let (sender, inbox) = mpsc::unbounded_channel();
        // When the task has ended, the node is closed: nobody waits.
        let to_kernel: ToKernel = Arc::new(move |input| drop(sender.send(input)));
        node.begin(to_kernel.clone());
        let app = Runner::new(node.clone(), to_kernel, classes, Handle::current());
        let clock = Clock::start();
        let (news, heard) = watch::channel(LinkNews::Connecting { problem: None });
        let device = Device::new(clock.now(), settings);
        let (asked, link) = (None, Link::None);
        let running = Running { device, app, node, link, token, asked, url, clock, inbox, news };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(running.run(stopped));
        (HostTask { stop, task }, heard)
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        // A panic of the machine has been shown by the runtime, and there is nothing left to end.
        let _ = self.task.await;
    }
}

struct Running {
    device: Device,
    app: Runner,
    node: Arc<Node>,
    link: Link,
    token: HostToken,
    /// The question to the app's function that is open.
    asked: Option<Given>,
    url: String,
    clock: Clock,
    inbox: mpsc::UnboundedReceiver<FromApp>,
    news: watch::Sender<LinkNews>,
}

impl Running {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            self.carry_out();
            let deadline = self.device.deadline().map(|at| self.clock.deadline(at));
            let (mut events, mut inputs, mut given) = (Vec::new(), Vec::new(), None);
            tokio::select! {
                biased;
                _ = &mut stopped => break,
                event = self.link.event() => self.link.on_event(event, &mut events),
                _ = self.inbox.recv_many(&mut inputs, INPUTS_AT_ONCE) => {}
                token = answer(&mut self.asked) => given = Some(token),
                () = sleep_until(deadline) => {}
            }
            if let Some(token) = given {
                self.asked = None;
                self.take_in(token.map_or_else(DeviceInput::TokenFailed, DeviceInput::Token));
            }
            for event in events {
                self.heard(event);
            }
            for input in inputs {
                self.take_in(DeviceInput::App(input));
            }
            let now = self.clock.now();
            if self.device.deadline().is_some_and(|at| at <= now.instant) {
                self.device.on_deadline(now);
            }
        }
        self.end().await;
    }

    fn take_in(&mut self, input: DeviceInput) {
        self.device.handle(self.clock.now(), input);
    }

    fn heard(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Linked => self.take_in(DeviceInput::Linked),
            LinkEvent::Lost(problem) => self.lost(problem),
            LinkEvent::Frame(frame) => match ToDevice::decode(&frame) {
                Ok(message) => self.take_in(DeviceInput::Message(message)),
                Err(error) => {
                    tracing::warn!(url = self.url, %error, "a server of objects sends what this host cannot read");
                    self.link.drop_it();
                    self.lost(Some(error.to_string()));
                }
            },
        }
    }

    fn lost(&mut self, problem: Option<String>) {
        self.news.send_if_modified(|news| match news {
            LinkNews::Connecting { problem: last } if problem.is_some() => {
                *last = problem;
                true
            }
            LinkNews::Connecting { .. } | LinkNews::Open | LinkNews::Refused { .. } => false,
        });
        self.take_in(DeviceInput::LinkLost);
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.device.poll() {
            match output {
                DeviceOutput::Connect => self.link.connect(self.url.clone()),
                DeviceOutput::Disconnect => self.link.drop_it(),
                DeviceOutput::Send(message) => self.send(&message),
                DeviceOutput::TokenWanted => self.asked = self.token.ask(),
                DeviceOutput::App(output) => self.app.perform(output),
                DeviceOutput::Link(state) => self.on_link(state),
            }
        }
    }

    fn send(&mut self, message: &FromDevice) {
        match message.encode() {
            Ok(frame) => self.link.send(frame),
            Err(error) => {
                // Arguments, results and states are measured before: what is left is a greeting with too much in it.
                tracing::error!(url = self.url, %error, "a host of objects cannot send a message");
                self.news.send_replace(LinkNews::Connecting { problem: Some(error.to_string()) });
                self.link.drop_it();
                self.take_in(DeviceInput::LinkLost);
            }
        }
    }

    fn on_link(&mut self, state: LinkState) {
        match state {
            LinkState::Open(welcome) => {
                self.node.set_id(welcome.device);
                self.news.send_replace(LinkNews::Open);
            }
            LinkState::Lost => {
                tracing::info!(url = self.url, "a host of objects has lost its server, and dials it again");
                self.news.send_replace(LinkNews::Connecting { problem: None });
            }
            LinkState::Refused(problem) => {
                tracing::warn!(
                    url = self.url,
                    problem,
                    "a host of objects has no good token, and asks for another one"
                );
                self.news.send_replace(LinkNews::Connecting { problem: Some(problem) });
            }
            LinkState::Ended(goodbye) => {
                tracing::warn!(url = self.url, message = goodbye.message, "a server sends a host of objects away");
                self.news.send_replace(LinkNews::Refused { message: goodbye.message });
            }
        }
    }

    /// Calls that were sent are in doubt. All that is open besides ends with the app's side.
    async fn end(mut self) {
        self.take_in(DeviceInput::LinkLost);
        while let Some(output) = self.device.poll() {
            if let DeviceOutput::App(output) = output {
                self.app.perform(output);
            }
        }
        drop(self.app);
        self.link.close().await;
    }
}

/// Waits for what the function of the app gives.
async fn answer(asked: &mut Option<Given>) -> Result<String, String> {
    match asked {
        Some(asked) => asked.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
