//! Reactive transactions: closures that run again whenever an answer that they had is another now.

use std::sync::{Arc, Weak};

use iolite_client::ReactionId;
use tokio::sync::watch;

use crate::error::Result;
use crate::shared::Shared;
use crate::transaction::Transaction;

/// Why a reaction has no newer value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReactionError {
    /// The closure failed; it runs again when what it read changes.
    #[error("{0}")]
    Failed(String),
    /// It needs data that is not on this device, and there is no connection. It runs once there is.
    #[error("the data is not on this device, and there is no connection")]
    Unavailable,
    /// The client was closed.
    #[error("the client was closed")]
    Closed,
}

/// Follows a reactive transaction. Dropping it ends the reaction.
#[derive(Debug)]
pub struct Reaction<T> {
    values: watch::Receiver<State<T>>,
    _registration: Registration,
}

/// What is told of a reaction: its last value, and why there is no newer one.
#[derive(Debug)]
pub(crate) struct State<T> {
    value: Option<Arc<T>>,
    error: Option<ReactionError>,
}

impl<T> State<T> {
    fn newest(&self) -> Option<std::result::Result<Arc<T>, ReactionError>> {
        self.error.clone().map(Err).or_else(|| self.value.clone().map(Ok))
    }
}

#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) id: ReactionId,
    pub(crate) client: Weak<Shared>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(client) = self.client.upgrade() {
            client.stop_reaction(self.id);
        }
    }
}

impl<T> Reaction<T> {
    pub(crate) fn new(values: watch::Receiver<State<T>>, registration: Registration) -> Reaction<T> {
        Reaction { values, _registration: registration }
    }

    /// The last value, also while no newer one can be had; `None` before the first run.
    pub fn latest(&self) -> Option<Arc<T>> {
        self.values.borrow().value.clone()
    }

    /// Waits for the next run, and returns its value. Of several runs since the last call only the last counts: each is the state as a whole.
    ///
    /// # Errors
    /// [`ReactionError`]; but for `Closed`, a later call may succeed.
    ///
    /// Cancel safe: giving up the wait loses nothing.
    pub async fn next(&mut self) -> std::result::Result<Arc<T>, ReactionError> {
        loop {
            self.values.changed().await.map_err(|_| ReactionError::Closed)?;
            if let Some(state) = self.values.borrow_and_update().newest() {
                return state;
            }
        }
    }

    /// Waits until a value satisfies the condition, and returns it.
    ///
    /// # Errors
    /// [`ReactionError::Closed`]. Other errors are waited out.
    ///
    /// Cancel safe.
    pub async fn wait_for(
        &mut self,
        mut condition: impl FnMut(&T) -> bool,
    ) -> std::result::Result<Arc<T>, ReactionError> {
        let holds =
            |state: &State<T>| state.error.is_none() && state.value.as_ref().is_some_and(|value| condition(value));
        let state = self.values.wait_for(holds).await.map_err(|_| ReactionError::Closed)?;
        Ok(state.value.clone().expect("the condition held for a value"))
    }
}

/// A registered closure, whatever its values are.
pub(crate) trait Reactive: Send {
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()>;
    /// The last run counts: its value is the newest.
    fn publish(&mut self);
    fn fail(&mut self, error: ReactionError);
}

pub(crate) struct Watched<T, F> {
    closure: F,
    value: Option<T>,
    values: watch::Sender<State<T>>,
}

impl<T, F> Watched<T, F> {
    pub(crate) fn new(closure: F) -> (Watched<T, F>, watch::Receiver<State<T>>) {
        let (values, receiver) = watch::channel(State { value: None, error: None });
        (Watched { closure, value: None, values }, receiver)
    }
}

impl<T, F> Reactive for Watched<T, F>
where
    T: Send + Sync + 'static,
    F: FnMut(&mut Transaction<'_>) -> Result<T> + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        self.value = None;
        self.value = Some((self.closure)(transaction)?);
        Ok(())
    }

    fn publish(&mut self) {
        if let Some(value) = self.value.take() {
            self.values.send_replace(State { value: Some(Arc::new(value)), error: None });
        }
    }

    fn fail(&mut self, error: ReactionError) {
        self.values.send_modify(|state| state.error = Some(error));
    }
}
