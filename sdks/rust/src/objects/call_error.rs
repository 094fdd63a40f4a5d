//! Why a call has no result. Every message says what to do.
//!
//! Invariant: [`CallError::ran`] says `No` only where the method certainly did not run.

use std::fmt;

use iolite_objects::CallError as FromKernel;
use iolite_values::ObjectName;
use iolite_wire::objects::NotRun as OnTheWire;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cbor::message;

/// Why a call has no result. `E` is the method's own error.
///
/// A method may return it in turn, so that `?` works inside of methods: `Result<(), CallError>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallError<E = NoError> {
    /// The method ran, and ended with its own error.
    App(E),
    /// The method did not run.
    NotRun(NotRun),
    /// The object was taken from the node while the method ran: what it did to the object is lost.
    Fenced,
    /// There is no such object. The method did not run.
    Gone,
    /// The method may have run: nobody knows.
    InDoubt {
        /// The call, as logs of hosts name it.
        rpc: RpcId,
    },
    /// The method ran and ended without a result: it panicked, or its result cannot be read. The object is as the method left it.
    Broke {
        /// The panic, or the problem with the result.
        how: String,
    },
}

/// Whether the method of a failed call ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The method did not run: a further call cannot do anything twice.
    No,
    /// The method ran.
    Yes,
    /// The method may have run.
    Unknown,
}

/// Why a method did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NotRun {
    /// The object's node cannot be reached, or this host has no connection or has ended.
    #[error("the object's node cannot be reached: call again when it is back, and look whether this host is connected")]
    Unreachable,
    /// The caller may not call this.
    #[error("this caller may not call the method: ask for the right, or call as somebody else")]
    NotPermitted,
    /// The class at the object's node has no such method.
    #[error("the class has no such method where the object lives: update the older of the two programs")]
    NoSuchMethod,
    /// The caller's class has another version than the object's.
    #[error("the object lives under version {own} of its class: update the older of the two programs")]
    WrongVersion {
        /// The object's.
        own: u32,
    },
    /// No node that is there runs the class.
    #[error("no host of the class is there: start one")]
    NoHostForClass,
    /// The object's lease is somebody else's.
    #[error("another node holds the object for a while: call again")]
    LeaseUnavailable,
    /// Another change came first.
    #[error("another change came first: read again, and call again")]
    Conflict,
    /// The call goes round: its object waits for it already.
    #[error(
        "the call would wait for itself: {} wait for each other. Leave out the way back, or make it a read",
        shown(chain)
    )]
    WouldDeadlock {
        /// The objects, from the outermost.
        #[serde(with = "names")]
        chain: Vec<ObjectName>,
    },
    /// The arguments or the state are too large.
    #[error("this is too large: {limit}. Send less at once")]
    TooLarge {
        /// The limit.
        limit: String,
    },
    /// The node has too much to do.
    #[error("the object's node has too much to do: call again later")]
    Busy,
    /// The arguments are not what the method takes, or the state is not what the class has.
    #[error(
        "the values are not those of the class where the object lives: {problem}. Update the older of the two programs"
    )]
    BadArguments {
        /// The problem with them.
        problem: String,
    },
}

/// Names a call in logs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RpcId(String);

/// The error of a method that returns no `Result`: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoError {}

impl<E> CallError<E> {
    /// Whether the method ran: what to know before the call is made again.
    pub fn ran(&self) -> Ran {
        match self {
            CallError::App(_) | CallError::Broke { .. } => Ran::Yes,
            CallError::NotRun(_) | CallError::Gone => Ran::No,
            CallError::Fenced | CallError::InDoubt { .. } => Ran::Unknown,
        }
    }

    /// The same with another type of the app's own error.
    pub fn map_app<F>(self, map: impl FnOnce(E) -> F) -> CallError<F> {
        match self {
            CallError::App(error) => CallError::App(map(error)),
            CallError::NotRun(why) => CallError::NotRun(why),
            CallError::Fenced => CallError::Fenced,
            CallError::Gone => CallError::Gone,
            CallError::InDoubt { rpc } => CallError::InDoubt { rpc },
            CallError::Broke { how } => CallError::Broke { how },
        }
    }

    /// From a kernel's error, with what reads the app's own.
    pub(crate) fn of(error: FromKernel, read: impl FnOnce(&[u8]) -> Result<E, String>) -> CallError<E> {
        match error {
            FromKernel::App(bytes) => match read(&bytes) {
                Ok(error) => CallError::App(error),
                Err(problem) => {
                    let said = message(&bytes).map_or_else(String::new, |message| format!(", and says {message:?}"));
                    CallError::Broke { how: format!("its error cannot be read ({problem}){said}") }
                }
            },
            FromKernel::NotRun(why) => CallError::NotRun(NotRun::of(why)),
            FromKernel::Fenced => CallError::Fenced,
            FromKernel::Gone => CallError::Gone,
            FromKernel::InDoubt(id) => CallError::InDoubt { rpc: RpcId::of(&id) },
            FromKernel::Broke(how) => CallError::Broke { how },
        }
    }
}

impl CallError {
    /// The error of a question that runs no method of the app.
    pub(crate) fn of_question(error: FromKernel) -> CallError {
        CallError::of(error, |_| Err("no method was called".to_owned()))
    }
}

/// The error of a call that a method has made is the method's own, so `?` works where both methods return [`CallError`].
impl From<CallError<CallError>> for CallError {
    fn from(error: CallError<CallError>) -> CallError {
        match error {
            CallError::App(inner) => inner,
            CallError::NotRun(why) => CallError::NotRun(why),
            CallError::Fenced => CallError::Fenced,
            CallError::Gone => CallError::Gone,
            CallError::InDoubt { rpc } => CallError::InDoubt { rpc },
            CallError::Broke { how } => CallError::Broke { how },
        }
    }
}

impl NotRun {
    fn of(why: OnTheWire) -> NotRun {
        match why {
            OnTheWire::Unreachable => NotRun::Unreachable,
            OnTheWire::NotPermitted => NotRun::NotPermitted,
            OnTheWire::NoSuchMethod => NotRun::NoSuchMethod,
            OnTheWire::WrongVersion(own) => NotRun::WrongVersion { own },
            OnTheWire::NoHostForClass => NotRun::NoHostForClass,
            OnTheWire::LeaseUnavailable => NotRun::LeaseUnavailable,
            OnTheWire::Conflict => NotRun::Conflict,
            OnTheWire::WouldDeadlock(chain) => NotRun::WouldDeadlock { chain },
            OnTheWire::TooLarge(limit) => NotRun::TooLarge { limit },
            OnTheWire::Busy => NotRun::Busy,
            OnTheWire::BadArguments(problem) => NotRun::BadArguments { problem },
        }
    }
}

impl RpcId {
    fn of(id: &iolite_wire::objects::RpcId) -> RpcId {
        let nested: String = id.path.iter().map(|place| format!(".{place}")).collect();
        RpcId(format!("{}-{}{nested}", id.kernel, id.counter))
    }
}

impl fmt::Display for RpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::App(error) => error.fmt(f),
            CallError::NotRun(why) => write!(f, "the call did not run: {why}"),
            CallError::Fenced => f.write_str(
                "the object was taken from its node while the method ran, and what that did is lost: read the object before you call again",
            ),
            CallError::Gone => f.write_str("there is no such object: create it, or look for its right name"),
            CallError::InDoubt { rpc } => {
                write!(f, "nobody knows whether call {rpc} ran: read the object before you call again")
            }
            CallError::Broke { how } => {
                write!(f, "the method broke: {how}. Mend it; the object is as the method left it")
            }
        }
    }
}

// The app's own error need not be an `Error`, so it is in the message and no source.
impl<E: fmt::Debug + fmt::Display> std::error::Error for CallError<E> {}

impl fmt::Display for NoError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for NoError {}

impl Serialize for NoError {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }
}

impl<'de> Deserialize<'de> for NoError {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<NoError, D::Error> {
        Err(serde::de::Error::custom("the method has no errors of its own here, and had one where it ran"))
    }
}

fn shown(chain: &[ObjectName]) -> String {
    chain.iter().map(ObjectName::to_string).collect::<Vec<_>>().join(", ")
}

/// Names of objects as pairs of class and id.
mod names {
    use iolite_values::ObjectName;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(chain: &[ObjectName], serializer: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<(&str, &str)> = chain.iter().map(|name| (name.class(), name.id())).collect();
        pairs.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ObjectName>, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?;
        let names = pairs.iter().map(|(class, id)| ObjectName::new(class, id).map_err(D::Error::custom));
        names.collect()
    }
}
