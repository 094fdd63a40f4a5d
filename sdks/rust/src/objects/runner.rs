//! Runs methods: the app's side of a kernel.
//!
//! A method that is not `async` runs at once, on the kernel's own thread: that is the quickest for a short one, and other objects of the host wait
//! meanwhile. An `async` method runs in a task.
//!
//! Invariants:
//! - every run is answered once, also if the method panics; what a method did to its object before it panicked stays;
//! - the object is free again before the kernel hears that a run has ended.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use iolite_objects::{AppSide, Ended, FromApp, Run, RunId, ToApp, ToKernel};
use iolite_values::ObjectName;
use tokio::runtime::Handle;

use super::class::{AnyClass, Instance};
use super::context::{Context, Within};
use super::generated::Outcome;
use super::node::Node;
use crate::closure::panic_message;

pub(crate) struct Runner {
    node: Arc<Node>,
    to_kernel: ToKernel,
    classes: BTreeMap<&'static str, AnyClass>,
    instances: HashMap<ObjectName, Instance>,
    /// Where methods run.
    runtime: Handle,
}

impl Runner {
    pub(crate) fn new(node: Arc<Node>, to_kernel: ToKernel, classes: &[AnyClass], runtime: Handle) -> Runner {
        let classes = classes.iter().map(|class| (class.name, *class)).collect();
        Runner { node, to_kernel, classes, instances: HashMap::new(), runtime }
    }

    fn host(&self) -> Weak<Node> {
        Arc::downgrade(&self.node)
    }

    fn restore(&mut self, object: ObjectName, state: &[u8]) {
        let made = match self.classes.get(object.class()) {
            // An app's own way to read a value may panic.
            Some(class) => caught(|| (class.restore)(state, &self.host())).unwrap_or_else(Err),
            None => Err(format!("this host has no class {:?}", object.class())),
        };
        let restored = made.map(|instance| drop(self.instances.insert(object.clone(), instance)));
        (self.to_kernel)(FromApp::Restored { object, restored });
    }

    /// The state of an object that is to move.
    fn save(&self, object: ObjectName) {
        let parts = self.classes.get(object.class()).zip(self.instances.get(&object));
        let state = match parts {
            // An app's own way to write a value may panic.
            Some((class, instance)) => caught(|| (class.save)(instance)).unwrap_or_else(Err),
            None => Err(format!("this host has no object {object}")),
        };
        (self.to_kernel)(FromApp::Saved { object, state });
    }

    fn run(&self, id: RunId, run: Run) {
        let Run { object, method, arguments, mode: _, caller } = run;
        let parts = self.classes.get(object.class()).zip(self.instances.get(&object));
        let Some((class, instance)) = parts else {
            // The kernel has asked for it, and was told that it is there.
            return self.ended(id, Ended::Broke(format!("this host has no object {object}")));
        };
        let context = Context::new(object, caller, self.host());
        let within = Within { host: self.host(), run: id };
        let begin = || (class.run)(instance.clone(), &method, arguments, context);
        let _runtime = self.runtime.enter();
        match within.clone().sync(|| caught(begin)) {
            Ok(Outcome::Ended(ended)) => self.ended(id, ended),
            Err(how) => self.ended(id, Ended::Broke(how)),
            Ok(Outcome::Later(method)) => {
                let to_kernel = self.to_kernel.clone();
                let method = within.around(AssertUnwindSafe(method).catch_unwind());
                self.runtime.spawn(async move {
                    let ended = method.await.unwrap_or_else(|panic| Ended::Broke(broken(&*panic)));
                    to_kernel(FromApp::Ended { run: id, ended });
                });
            }
        }
    }

    fn ended(&self, run: RunId, ended: Ended) {
        (self.to_kernel)(FromApp::Ended { run, ended });
    }
}

impl AppSide for Runner {
    fn perform(&mut self, output: ToApp) {
        match output {
            ToApp::Restore { object, state, keep: _ } => self.restore(object, &state),
            ToApp::Forget { object } => {
                // A method that runs still has it, to no avail: its calls are refused, and nobody hears of its end.
                self.instances.remove(&object);
            }
            ToApp::Run(id, run) => self.run(id, run),
            ToApp::Answered(ticket, result) => self.node.answered(ticket, result),
            ToApp::Created(ticket, result) => self.node.created(ticket, result),
            ToApp::Found(ticket, result) => self.node.found(ticket, result),
            ToApp::Save { object } => self.save(object),
            ToApp::Moved(..) => unreachable!("managers move objects"),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.node.close();
    }
}

/// The value that the app's code returns, or how it panicked.
fn caught<T>(app: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(app)).map_err(|panic| broken(&*panic))
}

fn broken(panic: &(dyn Any + Send)) -> String {
    format!("it panicked: {}", panic_message(panic))
}
