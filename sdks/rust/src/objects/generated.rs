//! The parts that the code of the macros is made of. No app names it, and it may change with every version.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use iolite_objects::{Call, Ended};
use iolite_values::ObjectName;
use iolite_wire::limits::OBJECT_BYTES;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::call_error::{CallError, NotRun};
use super::cbor;
use super::class::Object;
use super::context::{Context, Within};
use super::node::Node;

pub use iolite_objects::managers::Choice;
pub use iolite_values::DeviceRight;
pub use iolite_wire::objects::CallMode;
pub use serde;

/// The methods of a class, as callers see them: a reference is used as one.
pub trait Stub: Send + Sync {
    /// The stub of an object.
    fn new(target: Target) -> Self;
    /// The object.
    fn target(&self) -> &Target;
}

/// An object, and the host through which it is called.
#[derive(Clone, Debug)]
pub struct Target {
    name: ObjectName,
    host: Weak<Node>,
}

impl Target {
    pub(crate) fn new(name: ObjectName, host: Weak<Node>) -> Target {
        Target { name, host }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.name
    }

    /// The host through which it is called: its own, or that of the method that uses it.
    pub(crate) fn node(&self) -> Option<Arc<Node>> {
        self.host.upgrade().or_else(|| Within::current()?.host.upgrade())
    }
}

/// Arguments on their way, or why they are none.
pub type Arguments = Result<Vec<u8>, String>;

/// Writes a tuple of arguments.
pub fn arguments<A: Serialize>(values: &A) -> Arguments {
    cbor::encode(values)
}

/// Calls a method.
pub fn call<C: Object, T: DeserializeOwned, E: DeserializeOwned>(
    target: &Target,
    method: &'static str,
    mode: CallMode,
    arguments: Arguments,
) -> impl Future<Output = Result<T, CallError<E>>> + Send + use<C, T, E> {
    let Target { name, host } = target.clone();
    async move {
        let arguments = arguments.map_err(|problem| CallError::NotRun(NotRun::BadArguments { problem }))?;
        if let Some(limit) = past_limit(arguments.len()) {
            return Err(CallError::NotRun(NotRun::TooLarge { limit }));
        }
        let within = Within::current();
        let own = host.upgrade().or_else(|| within.as_ref()?.host.upgrade());
        let Some(node) = own else { return Err(CallError::NotRun(NotRun::Unreachable)) };
        // A method of another host of this process is no part of this host's calls.
        let within = within.filter(|within| std::ptr::eq(within.host.as_ptr(), Arc::as_ptr(&node)));
        let time = node.call_time();
        let (version, within) = (C::VERSION, within.map(|within| within.run));
        let call = Call { object: name, version, method: method.to_owned(), mode, arguments, within, time };
        let (host, answer) = (Arc::downgrade(&node), node.call(call));
        // While it waits, it does not keep the host.
        drop(node);
        match answer.await {
            Ok(result) => cbor::decode(&result, &host)
                .map_err(|problem| CallError::Broke { how: format!("its result cannot be read: {problem}") }),
            Err(error) => Err(CallError::of(error, |bytes| cbor::decode(bytes, &host))),
        }
    }
}

/// A method that is to run, with its object.
#[derive(Debug)]
pub struct Running<T> {
    object: Arc<RwLock<T>>,
    arguments: Vec<u8>,
    context: Context,
}

/// How a method began.
pub enum Outcome {
    /// The method has ended already.
    Ended(Ended),
    /// The method goes on in a task.
    Later(BoxFuture<'static, Ended>),
}

impl<T: Send + Sync + 'static> Running<T> {
    pub(crate) fn new(object: Arc<RwLock<T>>, arguments: Vec<u8>, context: Context) -> Running<T> {
        Running { object, arguments, context }
    }

    /// The arguments, or how the method ends if they are none of it.
    ///
    /// # Errors
    /// [`Ended::BadArguments`].
    pub fn arguments<A: DeserializeOwned>(&self) -> Result<A, Ended> {
        cbor::decode(&self.arguments, self.context.host()).map_err(Ended::BadArguments)
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The object, for a method that only reads.
    ///
    /// # Panics
    /// Never: the kernel starts no read beside a write.
    pub fn read(&self) -> OwnedRwLockReadGuard<T> {
        self.object.clone().try_read_owned().expect("the kernel starts no read beside a write")
    }

    /// The object, for a method that changes it.
    ///
    /// # Panics
    /// Never: the kernel runs a write alone.
    pub fn write(&self) -> OwnedRwLockWriteGuard<T> {
        self.object.clone().try_write_owned().expect("the kernel runs a write alone")
    }
}

/// The end of a method that returns no `Result`.
pub fn returned<T: Serialize>(value: &T) -> Ended {
    match cbor::encode(value) {
        Ok(bytes) => match past_limit(bytes.len()) {
            None => Ended::Returned(bytes),
            Some(limit) => Ended::Broke(format!("its result is too large: {limit}")),
        },
        Err(problem) => Ended::Broke(format!("its result cannot be written: {problem}")),
    }
}

/// The end of a method that returns a `Result`.
pub fn returned_or_threw<T: Serialize, E: Serialize>(result: &Result<T, E>) -> Ended {
    match result {
        Ok(value) => returned(value),
        Err(error) => match cbor::encode(error) {
            Ok(bytes) => match past_limit(bytes.len()) {
                None => Ended::Threw(bytes),
                Some(limit) => Ended::Broke(format!("its error is too large: {limit}")),
            },
            Err(problem) => Ended::Broke(format!("its error cannot be written: {problem}")),
        },
    }
}

/// The end of a call of a method that the class does not have.
pub fn no_such_method() -> Outcome {
    Outcome::Ended(Ended::NoSuchMethod)
}

/// The problem with so many bytes, if a message does not take them.
pub(crate) fn past_limit(bytes: usize) -> Option<String> {
    (bytes > OBJECT_BYTES.most).then(|| format!("at most {OBJECT_BYTES}, not {bytes}"))
}
