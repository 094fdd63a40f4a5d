//! The context of a method: for the method itself, and for the task that runs it.

use std::sync::Weak;

use iolite_objects::RunId;
use iolite_values::ObjectName;

use super::class::Object;
use super::node::Node;
use super::reference::Ref;

tokio::task_local! {
    /// The method that this task runs.
    static WITHIN: Within;
}

/// The method that a task runs: calls that the task makes are made by it.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    pub(crate) host: Weak<Node>,
    pub(crate) run: RunId,
}

impl Within {
    /// The method that this task runs, if it runs one.
    pub(crate) fn current() -> Option<Within> {
        WITHIN.try_with(Within::clone).ok()
    }

    pub(crate) fn sync<R>(self, run: impl FnOnce() -> R) -> R {
        WITHIN.sync_scope(self, run)
    }

    pub(crate) fn around<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<F> {
        WITHIN.scope(self, future)
    }
}

/// The call that a method runs for. A method takes it as an argument of type `&Context`, at any place. Callers do not give it.
#[derive(Clone, Debug)]
pub struct Context {
    object: ObjectName,
    caller: String,
    host: Weak<Node>,
}

impl Context {
    pub(crate) fn new(object: ObjectName, caller: String, host: Weak<Node>) -> Context {
        Context { object, caller, host }
    }

    /// The id of the object whose method this is.
    pub fn id(&self) -> String {
        self.object.id().to_owned()
    }

    /// The name of the object whose method this is: its class and its id.
    pub fn name(&self) -> &ObjectName {
        &self.object
    }

    /// The user for whom the method runs, as the server says at which the call entered.
    pub fn caller(&self) -> &str {
        &self.caller
    }

    pub(crate) fn host(&self) -> &Weak<Node> {
        &self.host
    }

    /// A reference to the object itself, to give to others. `None` if `T` is not its class.
    pub fn own_ref<T: Object>(&self) -> Option<Ref<T>> {
        (self.object.class() == T::NAME).then(|| Ref::new(self.object.clone(), self.host.clone()))
    }
}
