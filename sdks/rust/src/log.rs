//! Logs: one state machine that all its members replay in one order.

use std::sync::Arc;
use std::time::Duration;

use iolite_client::JoinedLog;
use iolite_values::{LogId, Value};
use serde::Serialize;
use tokio::sync::watch;

use crate::arguments;
use crate::shared::Shared;
use crate::{CallError, LeaveError, LogError, LogMember, MutationHandle};

/// A log that the client has joined: [`crate::Client::log`]. Its tables are read as any others, and changed by operations only. Clones are the same log.
#[derive(Clone, Debug)]
pub struct Log {
    shared: Arc<Shared>,
    id: LogId,
}

impl Log {
    pub(crate) fn join(shared: Arc<Shared>, name: &str, instance: &Value) -> Result<Log, LogError> {
        let id = shared.join(name, instance)?;
        Ok(Log { shared, id })
    }

    /// Calls an operation, which [`crate::Mutators::operation`] has registered. Its effect is in the optimistic view when this returns; confirmed it is when
    /// this client has replayed it, behind all operations that came before it. One that aborts then is rejected.
    ///
    /// # Errors
    /// [`CallError`], when it was not called: as [`crate::Client::mutate`]; name and arguments past 63 KiB.
    pub fn run<A: Serialize + ?Sized>(&self, operation: &str, arguments: &A) -> Result<MutationHandle, CallError> {
        self.shared.operate(&self.id, operation, &arguments::encode(arguments)?)
    }

    /// Replays what others do in batches: so much time is between two of them, at most 10 s. Zero, as at first: each entry as it comes. The pending
    /// operations then run again once a batch. Source: Hercules (Lebeck 2020, section 3.4.5).
    ///
    /// # Errors
    /// [`LogError::BatchTooLong`]; [`LogError::NotJoined`], after [`Log::leave`].
    pub fn rebase_every(&self, every: Duration) -> Result<(), LogError> {
        self.shared.with(|inner| inner.core.rebase_every(&self.id, every))
    }

    /// The members, whom operations wait for before they are delivered, as the server told them last: this client is among them while it is waited for. Each has
    /// the name that its entries carry. An app that shows people writes this name into a row of its own.
    pub fn members(&self) -> Vec<LogMember> {
        self.shared.with(|inner| inner.core.log_members(&self.id))
    }

    /// The members now, and again whenever they are others. A client that does not answer for 2 s is a member no longer, and hears of it like the others. It
    /// comes back once it has caught up.
    pub fn on_members(&self) -> watch::Receiver<Vec<LogMember>> {
        self.shared.with(|inner| {
            let now = inner.core.log_members(&self.id);
            inner.members.entry(self.id.clone()).or_insert_with(|| watch::Sender::new(now)).subscribe()
        })
    }

    /// Leaves the log: nothing of it is kept here any more, and its tables cannot be read before it is joined again.
    ///
    /// # Errors
    /// [`LeaveError`], while operations that were called here are pending.
    pub fn leave(&self) -> Result<(), LeaveError> {
        self.shared.with(|inner| inner.core.leave_log(&self.id))
    }

    /// The name of the log, as the schema says it.
    pub fn name(&self) -> &str {
        &self.id.name
    }

    /// How many entries are replayed here, that which the log begins with among them.
    pub fn position(&self) -> u64 {
        self.state().map_or(0, |joined| joined.position)
    }

    /// Why nothing more is replayed here, if it is so: an operation that this app does not know.
    pub fn stopped(&self) -> Option<String> {
        self.state().and_then(|joined| joined.stopped)
    }

    /// After so many entries another member has another state, if that is known: an operation does not do the same everywhere. The log goes on.
    pub fn differs(&self) -> Option<u64> {
        self.state().and_then(|joined| joined.differs)
    }

    fn state(&self) -> Option<JoinedLog> {
        self.shared.with(|inner| inner.core.logs().find(|joined| joined.log == self.id))
    }
}
