//! The class that JavaScript drives: what happens goes in, what is to be done comes out.
//!
//! Invariant: JavaScript calls it from outside only; closures run between two calls, never inside one.

use iolite_client::{Limits, Peek, ReactionId, ReactionTurn, Run, RunOf};
use iolite_machine::{Instant, Now, PersistId, WallTime};
use iolite_values::{Counter, LogId};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::layout::Layout;
use crate::peek::view_of;
use crate::role::Role;

/// One client, or one follower of it. Both have what is here; leading.rs and following.rs have what one of them has.
#[wasm_bindgen]
pub struct Core {
    pub(crate) role: Role,
    pub(crate) layouts: Vec<Layout>,
    /// Logs that it was asked to join, by their numbers.
    pub(crate) logs: Vec<LogId>,
    /// The closure that the core asked for.
    pub(crate) asked: Option<RunOf>,
    /// The run that is going on.
    pub(crate) run: Option<Run>,
    /// The first of two runs, while the second is only compared with it.
    pub(crate) kept: Option<Run>,
    /// The peek that goes on. No run goes on then.
    pub(crate) peek: Option<Peek>,
}

const NANOS_PER_MS: f64 = 1e6;
const MICROS_PER_MS: f64 = 1e3;

pub(crate) fn instant(monotonic_ms: f64) -> Instant {
    Instant::from_nanos((monotonic_ms * NANOS_PER_MS) as u64)
}

pub(crate) fn wall(wall_ms: f64) -> WallTime {
    WallTime::from_micros((wall_ms * MICROS_PER_MS) as u64)
}

pub(crate) fn wall_ms(time: WallTime) -> f64 {
    time.as_micros() as f64 / MICROS_PER_MS
}

/// Of a client whose cache has so many bytes, if the app says how many.
pub(crate) fn limits(cache_bytes: Option<f64>) -> Limits {
    let limits = Limits::default();
    Limits { cache_bytes_max: cache_bytes.map_or(limits.cache_bytes_max, |bytes| bytes as usize), ..limits }
}

pub(crate) fn now(monotonic_ms: f64, wall_ms: f64) -> Now {
    Now { instant: instant(monotonic_ms), wall: wall(wall_ms) }
}

/// Counters and ids are far below 2^53, so that numbers hold them.
pub(crate) fn counter(number: f64) -> Counter {
    Counter(number as u64)
}

impl Core {
    pub(crate) fn of(mut role: Role) -> Core {
        role.set_reaction_turn(ReactionTurn::Waits);
        Core { role, layouts: Vec::new(), logs: Vec::new(), asked: None, run: None, kept: None, peek: None }
    }
}

#[wasm_bindgen]
impl Core {
    /// Names a table and its columns in the package's order; the answer is the table's number in later calls. `wide` tells for each column
    /// whether its integers are bigints.
    ///
    /// # Errors
    /// A table or column that the schema does not have.
    #[wasm_bindgen(js_name = addTable)]
    pub fn add_table(&mut self, name: &str, columns: Vec<String>, wide: &Array) -> Result<u32, JsValue> {
        let wide: Vec<bool> = wide.iter().map(|flag| flag.is_truthy()).collect();
        self.layouts.push(Layout::new(self.role.schema(), name, &columns, &wide)?);
        Ok(self.layouts.len() as u32 - 1)
    }

    /// Who the client is to the store, in hexadecimal digits. Of a follower: all zeros before it found a leader.
    pub fn identity(&self) -> String {
        self.role.identity().0.to_string()
    }

    /// Everything of this tab up to here is stored.
    pub fn persisted(&mut self, id: f64, monotonic_ms: f64, wall_ms: f64) {
        self.role.persisted(now(monotonic_ms, wall_ms), PersistId(id as u64));
    }

    /// When `onDeadline` is to be called, in milliseconds of the monotonic clock.
    pub fn deadline(&self) -> Option<f64> {
        self.role.deadline().map(|at| at.as_nanos() as f64 / NANOS_PER_MS)
    }

    #[wasm_bindgen(js_name = onDeadline)]
    pub fn on_deadline(&mut self, monotonic_ms: f64, wall_ms: f64) {
        self.role.on_deadline(now(monotonic_ms, wall_ms));
    }

    /// Forgets a refused mutation.
    pub fn dismiss(&mut self, mutation: f64) {
        self.role.dismiss(counter(mutation));
    }

    /// Registers a reactive transaction and gives its id.
    pub fn register(&mut self, view: &str) -> Result<f64, JsValue> {
        Ok(self.role.register(view_of(view)?).0 as f64)
    }

    /// Lets reactive transactions run with the next polls: all that are due, or only those whose first result or whose data is awaited. At other times none
    /// runs, so that what an app calls does not wait for them.
    #[wasm_bindgen(js_name = letReact)]
    pub fn let_react(&mut self, all: bool) {
        self.role.set_reaction_turn(if all { ReactionTurn::All } else { ReactionTurn::Awaited });
    }

    /// Whether reactive transactions may have to run, so that `letReact(true)` is to be called soon.
    #[wasm_bindgen(js_name = reactionsWait)]
    pub fn reactions_wait(&self) -> bool {
        self.role.reactions_wait()
    }

    /// Makes a reactive transaction run again.
    pub fn renew(&mut self, reaction: f64) {
        self.role.renew(ReactionId(reaction as u64));
    }

    /// Ends a reactive transaction.
    pub fn stop(&mut self, reaction: f64) {
        self.role.stop(ReactionId(reaction as u64));
    }

    /// Connects now; of a follower: asks the leader to.
    #[wasm_bindgen(js_name = goOnline)]
    pub fn go_online(&mut self, monotonic_ms: f64) {
        self.role.go_online(instant(monotonic_ms));
    }

    #[wasm_bindgen(js_name = goOffline)]
    pub fn go_offline(&mut self) {
        self.role.go_offline();
    }

    #[wasm_bindgen(js_name = setToken)]
    pub fn set_token(&mut self, token: &str, monotonic_ms: f64) {
        self.role.set_token(instant(monotonic_ms), token.to_owned());
    }

    /// The app has no token now, for people to read why. `TokenWanted` comes again after a while.
    #[wasm_bindgen(js_name = tokenFailed)]
    pub fn token_failed(&mut self, message: &str, monotonic_ms: f64) {
        self.role.token_failed(instant(monotonic_ms), message);
    }
}
