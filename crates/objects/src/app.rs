//! Between a kernel and the language that its objects are written in: objects, arguments, results and states are the language's own, and the kernel sees
//! bytes.

use std::sync::Arc;
use std::time::Duration;

use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, CallMode, Declared, Placed};

use crate::{CallError, CallResult};

/// A class that a node can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    pub name: String,
    pub declared: Declared,
    /// The methods that only read. All others run alone.
    pub reads: Arc<[String]>,
}

/// Names what the app has asked. Chosen by the app's side; not used again while it is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// Names a run of a method of an instance that is here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RunId(pub u64);

/// A word of the app's side to its kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromApp {
    /// Answered with [`ToApp::Answered`].
    Call(Ticket, Call),
    /// An object is wanted, with this state if it is new. Answered with [`ToApp::Created`].
    Create { ticket: Ticket, begin: Begin, state: Vec<u8>, placing: Placing },
    /// Answered with [`ToApp::Found`].
    Find { ticket: Ticket, object: ObjectName },
    /// An object that is here goes to another node, once the methods that run have ended. Answered with [`ToApp::Moved`].
    Move { ticket: Ticket, object: ObjectName, to: NodeId },
    /// Says something to a manager of an object: [`crate::managers`] says what each understands. Answered with [`ToApp::Answered`].
    Manage { ticket: Ticket, object: ObjectName, manager: String, body: Vec<u8> },
    /// Answers [`ToApp::Save`]: the state in CBOR. For people: why there is none.
    Saved { object: ObjectName, state: Result<Vec<u8>, String> },
    /// Answers [`ToApp::Restore`]. For people: why there is no object of such a state.
    Restored { object: ObjectName, restored: Result<(), String> },
    /// Answers [`ToApp::Run`].
    Ended { run: RunId, ended: Ended },
}

/// An object that an earlier process of the node has kept, and that the app has made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    pub object: ObjectName,
    /// The epoch that came with the state.
    pub epoch: ObjectEpoch,
}

/// Where an object begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// At this node.
    Here,
    /// At a node that the server chooses: one that serves, and runs the class.
    AtServer,
}

/// A call of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub object: ObjectName,
    /// The version of the caller's class.
    pub version: u32,
    pub method: String,
    pub mode: CallMode,
    /// CBOR: an array.
    pub arguments: Vec<u8>,
    /// The run whose method calls.
    pub within: Option<RunId>,
    /// After this time the caller waits no longer.
    pub time: Duration,
}

/// How the run of a method ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// CBOR.
    Returned(Vec<u8>),
    /// CBOR: the app's own error.
    Threw(Vec<u8>),
    /// The method ended without either. For people: how.
    Broke(String),
    /// The method did not run.
    NoSuchMethod,
    /// The method did not run. For people: what is wrong.
    BadArguments(String),
}

/// A word of a kernel to the app's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToApp {
    /// Make the object of this state. An app that keeps its objects keeps this state before it answers, and each later one before it answers
    /// [`ToApp::Run`].
    Restore {
        object: ObjectName,
        state: Vec<u8>,
        /// The epoch with which it is kept: see [`KeptObject`]. None: it is a copy or a state for a while, and what was kept before stays.
        keep: Option<ObjectEpoch>,
    },
    /// The object is here no more, and is not kept. Methods that run still are of no use.
    Forget {
        object: ObjectName,
    },
    Run(RunId, Run),
    Answered(Ticket, CallResult),
    Created(Ticket, Result<Created, CallError>),
    Found(Ticket, Result<Option<Placed>, CallError>),
    /// Say the state of the object, of which no method runs.
    Save {
        object: ObjectName,
    },
    /// The object's row after the move.
    Moved(Ticket, Result<Placed, CallError>),
}

/// A method is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub object: ObjectName,
    pub method: String,
    /// CBOR: an array.
    pub arguments: Vec<u8>,
    pub mode: CallMode,
    /// The user for whom it runs.
    pub caller: String,
}

/// Whether an object that was wanted is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    New(Placed),
    /// The object was there, and its state is its own.
    WasThere(Placed),
}

/// The app's side of a kernel, natively: what runs methods. Must not block.
pub trait AppSide: Send {
    fn perform(&mut self, output: ToApp);
}

/// How the app's side tells its kernel something, natively. It may be called from any thread.
pub type ToKernel = std::sync::Arc<dyn Fn(FromApp) + Send + Sync>;
