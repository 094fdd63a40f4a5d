//! Questions of sweeps and checks to the store of rows, beside those of the gateway.
//!
//! Invariant: a question is answered once. Those that are open when the server ends are never answered, and their tasks end with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use iolite_store::{Reply, Request, RequestId};
use iolite_values::{StoreIncarnation, Timestamp};
use tokio::sync::{oneshot, watch};

use crate::Standing;

/// A message of a sweep or a check to the store of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweeperAsk {
    Request(RequestId, Request),
    /// Keep the history behind this timestamp for a while.
    Hold(Timestamp),
}

/// Asks the store of rows by way of whatever drives the gateway.
pub(crate) struct Asks {
    say: Box<dyn Fn(SweeperAsk) + Send + Sync>,
    waiting: Mutex<BTreeMap<RequestId, oneshot::Sender<Reply>>>,
    last: AtomicU64,
    standing: watch::Sender<Option<Standing>>,
}

impl Asks {
    pub fn new(say: impl Fn(SweeperAsk) + Send + Sync + 'static) -> Arc<Asks> {
        let standing = watch::Sender::new(None);
        Arc::new(Asks { say: Box::new(say), waiting: Mutex::default(), last: AtomicU64::new(0), standing })
    }

    /// Asks, and waits for the answer, however long that takes.
    pub async fn ask(&self, request: Request) -> Reply {
        let id = RequestId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, reply) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        (self.say)(SweeperAsk::Request(id, request));
        match reply.await {
            Ok(reply) => reply,
            // The server ends.
            Err(_) => std::future::pending().await,
        }
    }

    pub fn answer(&self, id: RequestId, reply: Reply) {
        let asker = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(asker) = asker {
            // Who has given up does not mind.
            let _ = asker.send(reply);
        }
    }

    /// Has replicas keep the history behind a timestamp. Said again every few seconds.
    pub fn hold(&self, at: Timestamp) {
        (self.say)(SweeperAsk::Hold(at));
    }

    /// The gateway says where it stands.
    pub fn stands(&self, serving: Option<(StoreIncarnation, Timestamp)>) {
        let now = serving.map(|(store, resolved)| Standing { store, resolved });
        self.standing.send_if_modified(|standing| std::mem::replace(standing, now) != now);
    }

    /// Where the gateway stands, once it serves.
    pub async fn standing(&self) -> Standing {
        let mut standing = self.standing.subscribe();
        let found = standing.wait_for(Option::is_some).await.ok().and_then(|found| *found);
        match found {
            Some(found) => found,
            None => std::future::pending().await,
        }
    }

    /// Whether the gateway serves from this store, and from no other one.
    pub fn is_of(&self, store: StoreIncarnation) -> bool {
        self.standing.borrow().is_some_and(|standing| standing.store == store)
    }
}
