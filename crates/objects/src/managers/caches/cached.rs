//! The copy of a cache, and what it is good for.
//!
//! Invariants: a copy is read under its lease only; what is read never goes back, also if this node reads at the owner in between.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::super::{Kit, message};
use super::{Given, Version, Want};

pub struct Cached {
    length: Duration,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// The version of the copy. None: there is none, or nothing is known of it.
    version: Option<Version>,
    /// The node that gave it, in text.
    owner: String,
    /// The end of the lease.
    until: Instant,
    /// Copies of earlier versions are not read.
    least: Version,
    /// How often this node has seen the object itself, and how often it had when it asked for the copy.
    seen: u64,
    seen_before: u64,
    /// No copy was to be had, and none is asked for before then.
    refused_until: Instant,
}

impl Held {
    fn serves(&self, now: Instant) -> bool {
        let is_new = self.version.is_some_and(|version| version >= self.least);
        now < self.until && is_new && self.seen == self.seen_before
    }

    fn has(&mut self, version: Version) {
        (self.version, self.least) = (Some(version), self.least.max(version));
    }
}

impl Cached {
    pub fn new(length: Duration) -> Cached {
        Cached { length, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a method that reads at the copy. None: it is for the owner.
    pub async fn read(&self, kit: &Kit, call: &Rpc) -> Option<Answer> {
        // A call that goes round would wait for the write around it.
        let goes_by = kit.is_owner() || !kit.has_class() || call.chain.contains(kit.object());
        if goes_by || !self.serves(kit).await {
            return None;
        }
        match kit.run(call.clone()).await {
            Answer::NotHere | Answer::Moved { .. } => {
                self.lost(kit).await;
                None
            }
            answer @ (Answer::Returned(_) | Answer::Threw(_) | Answer::Failed(_)) => Some(answer),
        }
    }

    /// The copy is gone: the object came here, or this node has another life, perhaps under another store. Nothing of before counts.
    async fn lost(&self, kit: &Kit) {
        let _turn = kit.turn().await;
        *self.held() = Held::default();
    }

    /// Whether the copy may be read. It is asked for if not.
    async fn serves(&self, kit: &Kit) -> bool {
        if self.held().serves(kit.now()) {
            return true;
        }
        let _turn = kit.turn().await;
        let asked = kit.now();
        let (have, seen) = {
            let mut held = self.held();
            if held.serves(asked) || asked < held.refused_until {
                return held.serves(asked);
            }
            // Nothing may be known of the copy while another one is on its way.
            (held.version.take(), held.seen)
        };
        let given = ask(kit, have).await;
        let mut held = self.held();
        match given {
            Ok(given) => {
                held.has(given.version);
                (held.owner, held.until, held.seen_before) = (given.owner, asked + self.length, seen);
            }
            Err(CallFailure::NotRun(
                NotRun::NotPermitted | NotRun::Busy | NotRun::TooLarge(_) | NotRun::BadArguments(_),
            )) => {
                held.refused_until = asked + self.length;
            }
            // The call itself says what is wrong.
            Err(_) => {}
        }
        held.serves(kit.now())
    }

    /// The copy is not read, if it is of an earlier version.
    pub fn needs(&self, version: Version) {
        let mut held = self.held();
        held.least = held.least.max(version);
    }

    /// This node has seen the object itself, so the copy may be behind.
    pub fn has_seen(&self) {
        self.held().seen += 1;
    }

    /// Whether this is the node that gave the copy.
    pub fn is_from(&self, node: NodeId) -> bool {
        self.held().owner == node.to_string()
    }

    /// Takes a state of the owner, if it is later than the copy.
    pub async fn take(&self, kit: &Kit, version: Version, state: Vec<u8>) -> Result<(), NotRun> {
        let _turn = kit.turn().await;
        let is_later = self.held().version.is_some_and(|own| own < version);
        if is_later {
            self.held().version = None;
            kit.keep_copy(state).await.map_err(NotRun::BadArguments)?;
            self.held().has(version);
        }
        Ok(())
    }
}

/// Has the owner make this node a cache, and keeps the state that it gives.
async fn ask(kit: &Kit, have: Option<Version>) -> Result<Given, CallFailure> {
    let given = kit.claim(DeviceRight::Read, message::write(&Want { have })).await?;
    let mut given: Given = message::read(&given)?;
    if let Some(state) = given.state.take() {
        kit.keep_copy(state).await.map_err(|problem| CallFailure::NotRun(NotRun::BadArguments(problem)))?;
    }
    Ok(given)
}
