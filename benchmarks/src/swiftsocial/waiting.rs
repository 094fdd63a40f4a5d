//! Whether something had to be waited for.
//!
//! Invariant: the runtime's own yielding is never taken for a wait.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waited {
    /// All was here.
    Not,
    /// Something was fetched first.
    ForData,
}

/// Runs a future to its end, and says whether its first look sufficed.
pub async fn watched<T>(future: impl Future<Output = T>) -> (T, Waited) {
    tokio::task::unconstrained(async {
        let mut future = pin!(future);
        let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        match first {
            Poll::Ready(value) => (value, Waited::Not),
            Poll::Pending => (future.await, Waited::ForData),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_is_told_from_none_however_often_it_is_asked() {
        // More often than the runtime lets a task go on without a pause.
        let (sender, mut receiver) = tokio::sync::watch::channel(0);
        for number in 1..1_000 {
            sender.send_replace(number);
            let (changed, waited) = watched(receiver.changed()).await;
            assert_eq!((changed.is_ok(), waited), (true, Waited::Not), "{number}");
        }
        assert_eq!(watched(tokio::task::yield_now()).await, ((), Waited::ForData));
    }
}
