//! What became of a mutation.

use iolite_client::MutationStatus;
use iolite_values::{Counter, Timestamp};
use tokio::sync::watch;

/// Follows one mutation. Dropping it does not take the mutation back.
#[derive(Clone, Debug)]
pub struct MutationHandle {
    counter: Counter,
    status: watch::Receiver<MutationStatus>,
    delivered: watch::Receiver<bool>,
}

/// How a mutation ended without effect, or why its end will not be known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MutationEnd {
    /// The mutation's own closure gave up, on confirmed data.
    #[error("rejected: {reason}")]
    Rejected {
        /// What the closure said.
        reason: String,
    },
    /// It can never be accepted as it is. Its payload is kept: [`crate::Client::refused`].
    #[error("quarantined: {reason}")]
    Quarantined {
        /// What is wrong with it.
        reason: String,
    },
    /// It never began.
    #[error("cancelled: {reason}")]
    Cancelled {
        /// Why.
        reason: String,
    },
    /// A causal table was in conflict, and a person did not keep what it wrote.
    #[error("overruled: a person kept another row")]
    Overruled,
    /// The client was closed. A durable mutation goes on when its storage is opened again.
    #[error("the client was closed before the mutation ended")]
    Closed,
}

/// The reason why it will not be known here that a mutation is delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The mutation ended without effect, or its end will not be known.
    #[error(transparent)]
    Ended(#[from] MutationEnd),
    /// Delivery is not followed: no table of the schema says `delivered`, or the client was closed or the server's history was lost first.
    #[error("it is not followed until everybody has applied it: say `delivered` of a table, and keep the client open")]
    NotFollowed,
}

impl MutationHandle {
    pub(crate) fn new(
        counter: Counter,
        status: watch::Receiver<MutationStatus>,
        delivered: watch::Receiver<bool>,
    ) -> MutationHandle {
        MutationHandle { counter, status, delivered }
    }

    /// Names the mutation, also after a restart.
    pub fn counter(&self) -> Counter {
        self.counter
    }

    /// How far it is.
    pub fn status(&self) -> MutationStatus {
        self.status.borrow().clone()
    }

    /// Waits until it is on this device's disk: it will be sent, exactly once, also after a restart.
    ///
    /// # Errors
    /// [`MutationEnd`] when it ended before that, without effect.
    ///
    /// Cancel safe: giving up the wait changes nothing.
    pub async fn durable(&self) -> Result<(), MutationEnd> {
        let reached = |status: &MutationStatus| match status {
            MutationStatus::Pending(pending) => pending.durable,
            MutationStatus::Confirmed { .. }
            | MutationStatus::Rejected { .. }
            | MutationStatus::Quarantined { .. }
            | MutationStatus::Cancelled { .. }
            | MutationStatus::Overruled => true,
        };
        self.wait_for(reached).await.map(drop)
    }

    /// Waits until it is committed and the confirmed view contains it; returns its place in the order of everything.
    ///
    /// # Errors
    /// [`MutationEnd`] when it ended without effect.
    ///
    /// Cancel safe: giving up the wait changes nothing.
    pub async fn confirmed(&self) -> Result<Timestamp, MutationEnd> {
        let ended = |status: &MutationStatus| !matches!(status, MutationStatus::Pending(_));
        match self.wait_for(ended).await? {
            MutationStatus::Confirmed { at } => Ok(at),
            MutationStatus::Pending(_)
            | MutationStatus::Rejected { .. }
            | MutationStatus::Quarantined { .. }
            | MutationStatus::Cancelled { .. }
            | MutationStatus::Overruled => unreachable!("it was waited for until it ended, with effect"),
        }
    }

    /// Waits until everybody who follows what it wrote has applied it, but for members who owe that for longer than 2 s. The delivered view contains it then.
    ///
    /// # Errors
    /// [`DeliveryError`].
    ///
    /// Cancel safe: giving up the wait changes nothing.
    pub async fn delivered(&self) -> Result<(), DeliveryError> {
        self.confirmed().await?;
        let mut delivered = self.delivered.clone();
        delivered.wait_for(|delivered| *delivered).await.map(drop).map_err(|_| DeliveryError::NotFollowed)
    }

    async fn wait_for(&self, reached: impl FnMut(&MutationStatus) -> bool) -> Result<MutationStatus, MutationEnd> {
        let mut status = self.status.clone();
        let reached = status.wait_for(reached).await.map(|status| status.clone());
        match reached {
            Ok(MutationStatus::Rejected { reason }) => Err(MutationEnd::Rejected { reason }),
            Ok(MutationStatus::Quarantined { reason }) => Err(MutationEnd::Quarantined { reason }),
            Ok(MutationStatus::Cancelled { reason }) => Err(MutationEnd::Cancelled { reason }),
            Ok(MutationStatus::Overruled) => Err(MutationEnd::Overruled),
            Ok(status @ (MutationStatus::Pending(_) | MutationStatus::Confirmed { .. })) => Ok(status),
            Err(_) => Err(MutationEnd::Closed),
        }
    }
}
