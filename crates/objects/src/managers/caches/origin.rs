//! The caches of an object, as its owner keeps them.
//!
//! Invariant: a node that is given a copy is in the book until its lease is over as the owner counts, or until it is known to read no copy.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::NotRun;
use litemap::LiteMap;

use super::super::{Kit, Message, MessageResult, message};
use super::{Given, Version, Want};
use crate::limits::CACHES_MAX;

/// The caches of an object, beside it.
pub struct Origin {
    length: Duration,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    writes: u64,
    /// The end of each cache's lease.
    caches: LiteMap<NodeId, Instant>,
}

impl Origin {
    pub fn new(length: Duration) -> Origin {
        Origin { length, book: Mutex::default() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time after which a lease that is given now is over, as the owner counts.
    pub fn lease(&self) -> Duration {
        self.length + self.length / 8
    }

    fn version(&self, kit: &Kit) -> Version {
        Version { epoch: kit.epoch().0, number: self.book().writes }
    }

    /// The version that a write leads to.
    pub fn next_version(&self, kit: &Kit) -> Version {
        self.book().writes += 1;
        self.version(kit)
    }

    /// The caches whose leases are not over, and when they are.
    pub fn caches(&self, now: Instant) -> Vec<(NodeId, Instant)> {
        let mut book = self.book();
        book.caches.retain(|_, until| now < *until);
        book.caches.iter().map(|(node, until)| (*node, *until)).collect()
    }

    /// A node is no cache any more, unless it has another lease by now.
    pub fn end(&self, node: NodeId, until: Instant) {
        let mut book = self.book();
        if book.caches.get(&node) == Some(&until) {
            book.caches.remove(&node);
        }
    }

    /// Makes a node a cache, while no write runs.
    pub async fn give(&self, kit: &Kit, said: &Message) -> MessageResult {
        let Want { have } = message::read_or_refuse(&said.body)?;
        if said.claim == DeviceRight::Call {
            return Err(NotRun::NotPermitted);
        }
        let _turn = kit.turn().await;
        let caches = self.caches(kit.now());
        if caches.len() >= CACHES_MAX && caches.iter().all(|(node, _)| *node != said.from) {
            return Err(NotRun::Busy);
        }
        let (version, owner) = (self.version(kit), kit.node().to_string());
        let state = match have {
            Some(have) if have == version => None,
            Some(_) | None => Some(kit.save().await.map_err(NotRun::BadArguments)?),
        };
        self.book().caches.insert(said.from, kit.now() + self.lease());
        Ok(message::write(&Given { version, owner, state }))
    }
}
