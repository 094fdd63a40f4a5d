//! The wish for the keys of an issuer: a token has named one that nobody here knows.

use std::sync::Arc;

use iolite_access::Key;
use iolite_host::{Clock, Metrics, Stop};
use tokio::sync::Notify;

use crate::config::KeyAddress;

/// Has the keys of an issuer fetched soon. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyWish(Arc<Notify>);

impl KeyWish {
    pub fn wish(&self) {
        self.0.notify_one();
    }

    #[cfg(feature = "jwks")]
    pub async fn wished(&self) {
        self.0.notified().await;
    }
}

/// Fetches the keys of an address, if there is one, until the server stops. Each good set is told.
pub(crate) fn follow_keys(
    address: Option<&KeyAddress>,
    clock: Clock,
    metrics: &Metrics,
    tell: impl Fn(Vec<Key>) + Send + Sync + 'static,
    stop: Stop,
) -> KeyWish {
    let wish = KeyWish::default();
    #[cfg(feature = "jwks")]
    if let Some(address) = address {
        let keys = crate::key_set::KeySet::new(address.clone(), wish.clone(), clock, metrics);
        tokio::spawn(keys.follow(tell, stop));
    }
    // A server with an address does not start without the feature.
    #[cfg(not(feature = "jwks"))]
    let _ = (address, clock, metrics, tell, stop);
    wish
}
