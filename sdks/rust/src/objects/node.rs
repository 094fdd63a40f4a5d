//! A host as references and calls see it: what it has asked its kernel, and who waits for the answers.
//!
//! Invariant: everybody who waits is answered once: by the kernel, or when the host ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use iolite_objects::{Call, CallError, CallResult, Created, FromApp, Placing, Ticket, ToKernel};
use iolite_values::{NodeId, ObjectName};
use iolite_wire::objects::{Begin, NotRun, Placed};
use tokio::sync::oneshot;

pub(crate) type CreateResult = Result<Created, CallError>;
pub(crate) type FindResult = Result<Option<Placed>, CallError>;

#[derive(Debug)]
pub(crate) struct Node {
    to_kernel: Kernel,
    waiting: Mutex<Waiting>,
    call_time_ms: AtomicU64,
    /// The node, in its life, as its server has said it.
    id: Mutex<Option<NodeId>>,
}

/// The way to the kernel. A server inside of the process gives it when it runs.
#[derive(Default)]
struct Kernel(OnceLock<ToKernel>);

#[derive(Debug)]
enum Waiting {
    Open {
        last: u64,
        answers: BTreeMap<Ticket, Answer>,
    },
    /// The host has ended.
    Closed,
}

/// The one who waits for an answer, by its kind.
#[derive(Debug)]
enum Answer {
    Call(oneshot::Sender<CallResult>),
    Created(oneshot::Sender<CreateResult>),
    Found(oneshot::Sender<FindResult>),
}

/// An object whose host has ended is not its any more.
const ENDED: CallError = CallError::Fenced;
const NOT_ASKED: CallError = CallError::NotRun(NotRun::Unreachable);

impl Node {
    pub(crate) fn new(call_time: Duration) -> Node {
        let node = Node {
            to_kernel: Kernel::default(),
            waiting: Mutex::new(Waiting::Open { last: 0, answers: BTreeMap::new() }),
            call_time_ms: AtomicU64::new(0),
            id: Mutex::new(None),
        };
        node.set_call_time(call_time);
        node
    }

    /// The kernel is there.
    pub(crate) fn begin(&self, to_kernel: ToKernel) {
        // A host has one kernel, which begins once.
        let _ = self.to_kernel.0.set(to_kernel);
    }

    pub(crate) fn id(&self) -> Option<NodeId> {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_id(&self, id: NodeId) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    pub(crate) fn call_time(&self) -> Duration {
        Duration::from_millis(self.call_time_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn set_call_time(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.call_time_ms.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn call(&self, call: Call) -> impl Future<Output = CallResult> + Send + use<> {
        let answer = self.ask(Answer::Call, |ticket| FromApp::Call(ticket, call));
        async move { answer.await.unwrap_or(Err(ENDED)) }
    }

    pub(crate) fn create(
        &self,
        begin: Begin,
        state: Vec<u8>,
        placing: Placing,
    ) -> impl Future<Output = CreateResult> + Send + use<> {
        let answer = self.ask(Answer::Created, |ticket| FromApp::Create { ticket, begin, state, placing });
        async move { answer.await.unwrap_or(Err(ENDED)) }
    }

    pub(crate) fn find(&self, object: ObjectName) -> impl Future<Output = FindResult> + Send + use<> {
        let answer = self.ask(Answer::Found, |ticket| FromApp::Find { ticket, object });
        async move { answer.await.unwrap_or(Err(ENDED)) }
    }

    /// Says something to a manager of an object.
    pub(crate) fn manage(
        &self,
        object: ObjectName,
        manager: &str,
        body: Vec<u8>,
    ) -> impl Future<Output = CallResult> + Send + use<> {
        let manager = manager.to_owned();
        let answer = self.ask(Answer::Call, |ticket| FromApp::Manage { ticket, object, manager, body });
        async move { answer.await.unwrap_or(Err(ENDED)) }
    }

    fn ask<T>(
        &self,
        waits: impl FnOnce(oneshot::Sender<T>) -> Answer,
        question: impl FnOnce(Ticket) -> FromApp,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        let answer = waits(sender);
        let Some(to_kernel) = self.to_kernel.0.get() else {
            answer.fail(NOT_ASKED);
            return receiver;
        };
        let ticket = match &mut *self.waiting() {
            Waiting::Open { last, answers } => {
                *last += 1;
                answers.insert(Ticket(*last), answer);
                Ticket(*last)
            }
            Waiting::Closed => {
                answer.fail(NOT_ASKED);
                return receiver;
            }
        };
        to_kernel(question(ticket));
        receiver
    }

    pub(crate) fn answered(&self, ticket: Ticket, result: CallResult) {
        if let Some(Answer::Call(sender)) = self.take(ticket) {
            // Who has given up does not wait.
            let _ = sender.send(result);
        }
    }

    pub(crate) fn created(&self, ticket: Ticket, result: CreateResult) {
        if let Some(Answer::Created(sender)) = self.take(ticket) {
            let _ = sender.send(result);
        }
    }

    pub(crate) fn found(&self, ticket: Ticket, result: FindResult) {
        if let Some(Answer::Found(sender)) = self.take(ticket) {
            let _ = sender.send(result);
        }
    }

    /// The host has ended: nobody waits longer, and nothing is asked again.
    pub(crate) fn close(&self) {
        let before = std::mem::replace(&mut *self.waiting(), Waiting::Closed);
        if let Waiting::Open { answers, .. } = before {
            answers.into_values().for_each(|answer| answer.fail(ENDED));
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.waiting(), Waiting::Closed)
    }

    fn take(&self, ticket: Ticket) -> Option<Answer> {
        match &mut *self.waiting() {
            Waiting::Open { answers, .. } => answers.remove(&ticket),
            Waiting::Closed => None,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No code of an app runs under the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    fn fail(self, error: CallError) {
        match self {
            Answer::Call(sender) => drop(sender.send(Err(error))),
            Answer::Created(sender) => drop(sender.send(Err(error))),
            Answer::Found(sender) => drop(sender.send(Err(error))),
        }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "begun" } else { "not begun" })
    }
}
