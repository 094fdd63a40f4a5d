//! The part of transactions that is the same however they keep apart: the node whose transaction it is.
//!
//! From `begin` to `commit` or `abort` the calls of a node are part of its transaction of the object. They run on a copy at that node, one after the other. At
//! the object's own node they run aside: the object has the transaction's state while such a call runs, and no other call runs meanwhile.
//!
//! A commit of which no reply came is in doubt. The app says `commit` again, and hears what became of it. If the copy is lost, as the object itself came here,
//! the transaction is over: its calls and its commit are refused.

mod beside;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::DeviceRight;
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};
use serde::{Deserialize, Serialize};

use super::{Kit, Proxy, message};
use crate::executor::Later;

pub(super) use self::beside::{Aside, Tickets, begun};

/// A word to the component beside the object. All but the last one need the right to hold the object.
#[derive(Serialize, Deserialize)]
pub(super) enum Say {
    Begin,
    /// `state`: none if nothing was written, or if it ran aside. `again`: the same was said before, and what became of it is not known.
    Commit {
        ticket: Ticket,
        again: bool,
        state: Option<Vec<u8>>,
    },
    Abort {
        ticket: Ticket,
    },
}

/// The name of a transaction of an object, and the version on which it rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ticket {
    pub epoch: u64,
    pub number: u64,
    pub version: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Begun {
    pub ticket: Ticket,
    /// None: it runs aside, at the object's own node.
    pub state: Option<Vec<u8>>,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Committed,
    Conflict,
    /// The commit was said before, perhaps to another component of the object, and nobody remembers its end.
    Unknown,
}

/// The component at a node that calls.
pub(super) struct Caller {
    /// A transaction is over after this time.
    length: Option<Duration>,
    open: Mutex<Option<Open>>,
}

#[derive(Clone)]
struct Open {
    ticket: Ticket,
    is_aside: bool,
    until: Option<Instant>,
    has_written: bool,
    stage: Stage,
}

#[derive(Clone)]
enum Stage {
    Running,
    /// The commit was sent with this state, and has no reply.
    InDoubt(Option<Vec<u8>>),
    Over,
}

impl Caller {
    pub fn new(length: Option<Duration>) -> Caller {
        Caller { length, open: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction that is open. One whose time is over while it runs is over.
    fn standing(&self, now: Instant) -> Option<Open> {
        let mut open = self.lock();
        if let Some(own) = open.as_mut()
            && matches!(own.stage, Stage::Running)
            && own.until.is_some_and(|until| now >= until)
        {
            own.stage = Stage::Over;
        }
        open.clone()
    }

    fn set_stage(&self, stage: Stage) {
        if let Some(open) = self.lock().as_mut() {
            open.stage = stage;
        }
    }

    fn close(&self, kit: &Kit) {
        *self.lock() = None;
        kit.discard_copy();
    }

    async fn begin(&self, kit: &Kit) -> Result<(), CallFailure> {
        match self.standing(kit.now()).map(|open| open.stage) {
            Some(Stage::Running | Stage::InDoubt(_)) => {
                return Err(wrong("a transaction is open at this node: commit or abort it first"));
            }
            Some(Stage::Over) | None => self.close(kit),
        }
        if !kit.has_class() {
            return Err(CallFailure::NotRun(NotRun::NoHostForClass));
        }
        let until = self.length.map(|length| kit.now() + length);
        let begun = kit.claim(DeviceRight::Hold, message::write(&Say::Begin)).await?;
        let Begun { ticket, state } = message::read(&begun)?;
        let is_aside = state.is_none();
        if let Some(state) = state
            && let Err(problem) = kit.keep_copy(state).await
        {
            let _ended = kit.ask_owner(message::write(&Say::Abort { ticket })).await;
            return Err(wrong(&problem));
        }
        *self.lock() = Some(Open { ticket, is_aside, until, has_written: false, stage: Stage::Running });
        Ok(())
    }

    async fn commit(&self, kit: &Kit) -> Result<(), CallFailure> {
        let open = self.standing(kit.now()).ok_or_else(none_is_open)?;
        let ticket = open.ticket;
        let (again, state) = match open.stage {
            Stage::Running if open.has_written && !open.is_aside => {
                (false, Some(kit.save().await.map_err(|problem| wrong(&problem))?))
            }
            Stage::Running => (false, None),
            Stage::InDoubt(state) => (true, state),
            Stage::Over => {
                self.close(kit);
                return Err(CallFailure::NotRun(NotRun::Conflict));
            }
        };
        self.set_stage(Stage::InDoubt(state.clone()));
        let said = message::write(&Say::Commit { ticket, again, state });
        match kit.claim(DeviceRight::Hold, said).await {
            Ok(outcome) => self.ended(kit, message::read(&outcome)?),
            Err(CallFailure::NotRun(why)) => {
                if !again {
                    self.set_stage(Stage::Running);
                }
                Err(CallFailure::NotRun(why))
            }
            Err(failure) => Err(failure),
        }
    }

    fn ended(&self, kit: &Kit, outcome: Outcome) -> Result<(), CallFailure> {
        match outcome {
            Outcome::Committed => self.close(kit),
            Outcome::Conflict => {
                self.close(kit);
                return Err(CallFailure::NotRun(NotRun::Conflict));
            }
            Outcome::Unknown => return Err(CallFailure::InDoubt),
        }
        Ok(())
    }

    /// Drops what the transaction did. One whose commit is in doubt may have been committed.
    async fn abort(&self, kit: &Kit) -> Result<(), CallFailure> {
        let open = self.standing(kit.now()).ok_or_else(none_is_open)?;
        self.close(kit);
        // If the owner does not hear it, it forgets the transaction later.
        let _heard = kit.ask_owner(message::write(&Say::Abort { ticket: open.ticket })).await;
        match open.stage {
            Stage::Running | Stage::Over => Ok(()),
            Stage::InDoubt(_) => Err(CallFailure::InDoubt),
        }
    }

    /// Runs a call, in its turn.
    async fn run(&self, kit: &Kit, call: Rpc) -> Answer {
        let Some(open) = self.standing(kit.now()) else { return kit.clone().next(call).await };
        let refused = Answer::Failed(CallFailure::NotRun(NotRun::Conflict));
        match open.stage {
            Stage::Running => {}
            Stage::InDoubt(_) | Stage::Over => return refused,
        }
        if open.is_aside {
            return kit.clone().next(mark(call)).await;
        }
        if !kit.reads(&call)
            && let Some(open) = self.lock().as_mut()
        {
            open.has_written = true;
        }
        match kit.run(call).await {
            Answer::NotHere | Answer::Moved { .. } => {
                self.set_stage(Stage::Over);
                refused
            }
            answer @ (Answer::Returned(_) | Answer::Threw(_) | Answer::Failed(_)) => answer,
        }
    }
}

impl Proxy for Caller {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if self.lock().is_none() {
                return kit.next(call).await;
            }
            match kit.turn_for(call).await {
                Ok((_turn, call)) => self.run(&kit, call).await,
                Err(failure) => Answer::Failed(failure),
            }
        })
    }

    fn on_app(self: Arc<Self>, kit: Kit, body: Vec<u8>) -> Later<Result<Vec<u8>, CallFailure>> {
        Box::pin(async move {
            let _turn = kit.turn().await;
            match body.as_slice() {
                b"begin" => self.begin(&kit).await?,
                b"commit" => self.commit(&kit).await?,
                b"abort" => self.abort(&kit).await?,
                _other => return Err(wrong("a transaction understands begin, commit and abort")),
            }
            Ok(Vec::new())
        })
    }
}

fn wrong(problem: &str) -> CallFailure {
    CallFailure::NotRun(NotRun::BadArguments(problem.to_owned()))
}

fn none_is_open() -> CallFailure {
    wrong("no transaction is open at this node: begin one first")
}

/// A call that is part of a transaction which runs aside.
fn mark(call: Rpc) -> Rpc {
    Rpc { claim: DeviceRight::Hold, ..call }
}

pub(super) fn is_marked(call: &Rpc) -> bool {
    call.claim == DeviceRight::Hold
}
