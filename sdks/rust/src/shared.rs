//! The client core and everything that belongs to it, under one lock.
//!
//! Callers run the core on their own thread: a mutation's effect is visible when the call returns. The link's task only carries frames.
//!
//! Invariant: no code of the app runs under the lock but its closures, which may not call a client.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use iolite_client::{
    BlobOutput, CallError, Centre, Connection, DownloadNumber, Input, LIVE, LogError, MutationStatus, Pending,
    ReactionId, Splice, View,
};
use iolite_host::Clock;
use iolite_machine::{Machine, PersistId};
use iolite_values::{Blob, Cell, Counter, LogId, Value};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::chunks::Chunks;
use crate::client::Settled;
use crate::closure;
use crate::live::LiveError;
use crate::mutation::MutationHandle;
use crate::pump::{Inner, LinkOrder, LinkWork};
use crate::reaction::Reactive;
use crate::traffic::TrafficCounters;
use crate::transact::Transactional;

#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    pub(crate) clock: Clock,
    /// Wakes the link's task.
    pub(crate) wake: std::sync::Arc<Notify>,
    pub(crate) traffic: TrafficCounters,
    /// Wakes the task of `/blobs`.
    pub(crate) blob_wake: std::sync::Arc<Notify>,
    pub(crate) blob_traffic: TrafficCounters,
    /// Wakes the task that asks the app for tokens.
    pub(crate) token_wake: std::sync::Arc<Notify>,
    pub(crate) chunks: Chunks,
    pub(crate) connection: watch::Receiver<Connection>,
    pub(crate) centre: watch::Receiver<Option<Centre>>,
    /// Why nothing becomes durable any more.
    pub(crate) storage_failure: watch::Sender<Option<String>>,
    /// The last field, so that it goes when the storage is closed.
    pub(crate) released: watch::Sender<()>,
}

impl Shared {
    pub(crate) fn new(inner: Inner, clock: Clock, wake: std::sync::Arc<Notify>, chunks: Chunks) -> Shared {
        let connection = inner.connection.subscribe();
        let centre = inner.centre.subscribe();
        Shared {
            inner: Mutex::new(inner),
            clock,
            wake,
            traffic: TrafficCounters::default(),
            blob_wake: std::sync::Arc::default(),
            blob_traffic: TrafficCounters::default(),
            token_wake: std::sync::Arc::default(),
            chunks,
            connection,
            centre,
            storage_failure: watch::Sender::new(None),
            released: watch::Sender::new(()),
        }
    }

    pub(crate) fn mutate(&self, name: &str, arguments: &str) -> Result<MutationHandle, CallError> {
        Shared::check_outside()?;
        let wall = self.clock.now().wall;
        self.with(|inner| {
            let counter = inner.core.mutate(wall, name, arguments)?;
            Ok(inner.follow(counter))
        })
    }

    pub(crate) fn join(&self, name: &str, instance: &Value) -> Result<LogId, LogError> {
        self.with(|inner| inner.core.join(name, instance))
    }

    pub(crate) fn operate(&self, log: &LogId, operation: &str, arguments: &str) -> Result<MutationHandle, CallError> {
        Shared::check_outside()?;
        let wall = self.clock.now().wall;
        self.with(|inner| {
            let counter = inner.core.operate(wall, log, operation, arguments)?;
            Ok(inner.follow(counter))
        })
    }

    /// Makes the edit and calls it, before anything else happens to the text.
    pub(crate) fn edit(&self, cell: &Cell, splice: &Splice<'_>) -> Result<MutationHandle, LiveError> {
        Shared::check_outside()?;
        let wall = self.clock.now().wall;
        self.with(|inner| {
            let arguments = inner.core.live_edit(cell, splice)?;
            let counter = inner.core.mutate(wall, LIVE, &arguments)?;
            Ok(inner.follow(counter))
        })
    }

    pub(crate) fn transact(&self, closure: Box<dyn Transactional>) -> Result<MutationHandle, CallError> {
        Shared::check_outside()?;
        let wall = self.clock.now().wall;
        self.with(|inner| match inner.core.transact(wall) {
            Ok(counter) => {
                inner.closures.insert(counter, closure);
                Ok(inner.follow(counter))
            }
            Err(error) => {
                inner.ended.push(closure);
                Err(error)
            }
        })
    }

    pub(crate) fn handle_of(&self, counter: Counter) -> Option<MutationHandle> {
        self.with(|inner| {
            let pending = inner.core.pending().find(|pending| pending.counter == counter)?;
            let status = MutationStatus::Pending(pending.status);
            Some(inner.follow_from(counter, status))
        })
    }

    pub(crate) fn react(&self, view: View, closure: Box<dyn Reactive>) -> ReactionId {
        self.with(|inner| {
            let id = inner.core.register(view);
            inner.reactions.insert(id, closure);
            id
        })
    }

    pub(crate) fn stop_reaction(&self, id: ReactionId) {
        // Dropped inside a closure: the thread may have the lock, and the reaction ends with the client at the latest.
        if Shared::check_outside().is_ok() {
            self.with(|inner| {
                inner.core.stop(id);
                inner.reactions.remove(&id)
            });
        }
    }

    pub(crate) fn on_settled(&self) -> mpsc::UnboundedReceiver<Settled> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.with(|inner| inner.settled.push(sender));
        receiver
    }

    /// Hands in what happened, all of it before anything is done about it.
    pub(crate) fn happened(&self, inputs: impl IntoIterator<Item = Input>) {
        let now = self.clock.now();
        self.with(|inner| inner.take_in(now, inputs));
    }

    /// The same, of the link's task. While that has not taken the order to drop its link, it hears one that the core has given up.
    pub(crate) fn heard(&self, inputs: Vec<Input>) {
        let now = self.clock.now();
        self.with(|inner| {
            let given_up = |order: &LinkOrder| matches!(order, LinkOrder::Connect(_) | LinkOrder::Disconnect);
            let outdated = inner.orders.iter().any(given_up);
            inner.take_in(now, if outdated { Vec::new() } else { inputs });
        });
    }

    pub(crate) fn persisted(&self, through: PersistId) {
        self.happened([Input::Persisted(through)]);
    }

    /// Takes the orders for the task of `/blobs`.
    pub(crate) fn take_blob_orders(&self) -> Vec<BlobOutput> {
        std::mem::take(&mut self.lock().blob_orders)
    }

    /// Begins to fetch a part of a blob. The future says how that ended.
    pub(crate) fn fetch(
        &self,
        cell: &Cell,
        blob: &Blob,
        bytes: Range<u64>,
    ) -> (DownloadNumber, impl Future<Output = Result<(), String>> + Send + use<>) {
        let (sender, ended) = oneshot::channel();
        let download = self.with(|inner| {
            let download = inner.core.fetch(cell, blob, bytes);
            inner.fetches.insert(download, sender);
            download
        });
        (download, async move { ended.await.unwrap_or_else(|_| Err("the client was closed".into())) })
    }

    pub(crate) fn fetched(&self, download: DownloadNumber, result: Result<(), String>) {
        let waiting = self.lock().fetches.remove(&download);
        // Nobody may wait any more.
        waiting.into_iter().for_each(|waiting| drop(waiting.send(result.clone())));
    }

    /// What the link's task has to do.
    pub(crate) fn take_link_work(&self) -> LinkWork {
        let mut inner = self.lock();
        let deadline = inner.core.deadline();
        LinkWork { orders: std::mem::take(&mut inner.orders), deadline }
    }

    /// Does something with the core, and then everything that follows from it.
    ///
    /// # Panics
    /// Inside a closure: its thread may wait for itself.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut Inner) -> R) -> R {
        assert!(Shared::check_outside().is_ok(), "{}", CallError::Nested);
        let mut inner = self.lock();
        let before = inner.core.deadline();
        let result = action(&mut inner);
        inner.pump(&self.clock);
        let wake = !inner.orders.is_empty() || inner.core.deadline() != before;
        let wake_blobs = !inner.blob_orders.is_empty();
        let wake_token = std::mem::take(&mut inner.is_token_wanted);
        let ended = std::mem::take(&mut inner.ended);
        drop(inner);
        drop(ended);
        if wake {
            self.wake.notify_one();
        }
        if wake_blobs {
            self.blob_wake.notify_one();
        }
        if wake_token {
            self.token_wake.notify_one();
        }
        result
    }

    /// Looks at the core. Nothing follows from it.
    ///
    /// # Errors
    /// [`CallError::Nested`], inside a closure.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Inner) -> R) -> Result<R, CallError> {
        Shared::check_outside()?;
        Ok(look(&self.lock()))
    }

    fn check_outside() -> Result<(), CallError> {
        if closure::runs_one() { Err(CallError::Nested) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Closures cannot poison it: their panics are caught. A panic of the core itself is a broken invariant, and stays one.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The links' tasks look for the client, find none, and end.
        self.wake.notify_one();
        self.blob_wake.notify_one();
        self.token_wake.notify_one();
    }
}

/// Before its first run is over, a mutation is pending and nothing more.
pub(crate) const CALLED: Pending =
    Pending { durable: false, sent: false, would_reject: None, waits_for_data: false, in_conflict: false, centres: 0 };

/// Tells the client of the disk, from the disk's thread.
pub(crate) fn tell_persisted(client: &Weak<Shared>, through: PersistId) {
    if let Some(client) = client.upgrade() {
        client.persisted(through);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;
    use std::sync::Arc;
    use std::time::Duration;

    use iolite_client::{Client as Core, Config, Gateway, Limits, TokenSource};
    use iolite_values::{ClientId, DeviceSecret, Schema};

    use super::*;
    use crate::mutators::Mutators;
    use crate::options::Closures;
    use crate::storage::StorageWriter;

    fn open() -> Shared {
        let clock = Clock::start();
        let (token, user, limits) = (TokenSource::Fixed("token".into()), "ann".into(), Limits::default());
        let schema = Arc::new(Schema::from_json(r#"{"tables":{}}"#).expect("no tables"));
        let (fresh_client, fresh_secret) = (ClientId::default(), DeviceSecret([1; 16]));
        let (gateways, batch) = (vec![NonZeroU16::MIN], Duration::ZERO);
        let config = Config {
            schema,
            fresh_client,
            fresh_secret,
            token,
            user,
            gateways,
            batch,
            stores_cache: false,
            seed: 1,
            limits,
        };
        let core = Core::open(config, [], clock.now()).expect("nothing is stored");
        let inner = Inner::new(core, Mutators::default(), Closures::Once, StorageWriter::Memory);
        Shared::new(inner, clock, Arc::new(Notify::new()), Chunks::in_memory())
    }

    #[test]
    fn a_link_that_came_about_after_it_was_given_up_is_not_greeted() {
        let shared = open();
        shared.happened([]);
        assert_eq!(shared.take_link_work().orders, [LinkOrder::Connect(Gateway(0))]);
        shared.with(|inner| inner.core.go_offline());
        shared.with(|inner| inner.core.go_online(shared.clock.now().instant));
        shared.happened([]);
        shared.heard(vec![Input::Linked]);
        assert_eq!(shared.take_link_work().orders, [LinkOrder::Disconnect, LinkOrder::Connect(Gateway(0))]);
        shared.heard(vec![Input::Linked]);
        assert!(matches!(shared.take_link_work().orders[..], [LinkOrder::Send(_)]));
    }
}
