//! Questions of operators about objects, beside those of the host's machine.
//!
//! Invariants: the numbers of these questions have a bit that those of the machine lack, so every answer reaches its asker. A question has an answer, or an
//! error after a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_host::Mailbox;
use iolite_objects::{CallResult, FromApp, ServerInput, Ticket};
use iolite_tracking::{Ask, AskId, Told};
use iolite_values::ObjectName;
use tokio::sync::oneshot;

use crate::object_door::ObjectInput;

/// The bit of questions of operators.
const OPERATORS: u64 = 1 << 63;
/// Time for a store whose replicas change.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// Time for a server that starts, and how often it is asked.
const STORE_REACHED_WITHIN: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(50);

/// Asks tracking, and managers of objects, in the name of this server.
pub(crate) struct ObjectQuestions {
    ask: Box<dyn Fn(AskId, Ask) + Send + Sync>,
    machine: Mailbox<ObjectInput>,
    last: AtomicU64,
    tracking: Waiting<Told>,
    managers: Waiting<CallResult>,
}

/// The askers of open questions.
struct Waiting<T>(Mutex<BTreeMap<u64, oneshot::Sender<T>>>);

impl<T> Waiting<T> {
    fn new() -> Waiting<T> {
        Waiting(Mutex::default())
    }

    fn begin(&self, number: u64) -> oneshot::Receiver<T> {
        let (sender, answer) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, sender);
        answer
    }

    fn end(&self, number: u64) -> Option<oneshot::Sender<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }

    async fn wait(&self, number: u64, answer: oneshot::Receiver<T>) -> Result<T, String> {
        let answer = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
        self.end(number);
        answer.ok().and_then(Result::ok).ok_or_else(|| {
            let seconds = ANSWERED_WITHIN.as_secs();
            format!("there is no answer after {seconds} s: look whether the store's replicas run. A move may have happened, as `iolite objects show` says")
        })
    }
}

impl ObjectQuestions {
    pub fn new(ask: impl Fn(AskId, Ask) + Send + Sync + 'static, machine: Mailbox<ObjectInput>) -> ObjectQuestions {
        let (tracking, managers) = (Waiting::new(), Waiting::new());
        ObjectQuestions { ask: Box::new(ask), machine, last: AtomicU64::new(OPERATORS), tracking, managers }
    }

    /// The question of the host's machine.
    pub fn of_machine(&self, id: AskId, ask: Ask) {
        assert!(id.0 < OPERATORS, "the machine counts from 1");
        (self.ask)(id, ask);
    }

    /// A server that has just started has not reached its store: it is asked again for a while.
    ///
    /// # Errors
    /// For people: nobody answers.
    pub async fn track(&self, ask: Ask) -> Result<Told, String> {
        let begun = Instant::now();
        loop {
            let number = self.next();
            let answer = self.tracking.begin(number);
            (self.ask)(AskId(number), ask.clone());
            let told = self.tracking.wait(number, answer).await?;
            if told != Told::Unavailable || begun.elapsed() >= STORE_REACHED_WITHIN {
                return Ok(told);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Says something to a manager of an object.
    ///
    /// # Errors
    /// For people: nobody answers.
    pub async fn manage(&self, object: ObjectName, manager: &str, body: Vec<u8>) -> Result<CallResult, String> {
        let number = self.next();
        let answer = self.managers.begin(number);
        let manage = FromApp::Manage { ticket: Ticket(number), object, manager: manager.to_owned(), body };
        self.machine.send(ObjectInput::Server(ServerInput::App(manage)));
        self.managers.wait(number, answer).await
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// An answer of tracking, which is given back if the machine has asked.
    pub fn told(&self, id: AskId, told: Told) -> Option<Told> {
        if id.0 < OPERATORS {
            return Some(told);
        }
        if let Some(asker) = self.tracking.end(id.0) {
            // Who has given up does not mind.
            let _ = asker.send(told);
        }
        None
    }

    /// An answer of an object, which is given back if the app of this process has asked.
    pub fn answered(&self, ticket: Ticket, result: CallResult) -> Option<CallResult> {
        if ticket.0 < OPERATORS {
            return Some(result);
        }
        if let Some(asker) = self.managers.end(ticket.0) {
            let _ = asker.send(result);
        }
        None
    }
}
