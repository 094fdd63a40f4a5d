//! The class that JavaScript drives: what happens goes in, what is to be done comes out.
//!
//! Invariant: JavaScript calls it from outside only; closures run between two calls, never inside one.

use std::sync::Arc;

use iolite_client::{Client, Config, Input, Limits, ReactionId, Run, RunOf, View};
use iolite_machine::{Instant, Machine, Now, PersistId, WallTime};
use iolite_values::{ClientId, Counter, Id, Schema};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::layout::Layout;

/// One client.
#[wasm_bindgen]
pub struct Core {
    pub(crate) client: Client,
    pub(crate) layouts: Vec<Layout>,
    /// The closure that the core asked for.
    pub(crate) asked: Option<RunOf>,
    /// The run that is going on.
    pub(crate) run: Option<Run>,
    /// The first of two runs, while the second is only compared with it.
    pub(crate) kept: Option<Run>,
}

const NANOS_PER_MS: f64 = 1e6;
const MICROS_PER_MS: f64 = 1e3;

fn instant(monotonic_ms: f64) -> Instant {
    Instant::from_nanos((monotonic_ms * NANOS_PER_MS) as u64)
}

fn wall(wall_ms: f64) -> WallTime {
    WallTime::from_micros((wall_ms * MICROS_PER_MS) as u64)
}

pub(crate) fn wall_ms(time: WallTime) -> f64 {
    time.as_micros() as f64 / MICROS_PER_MS
}

fn now(monotonic_ms: f64, wall_ms: f64) -> Now {
    Now { instant: instant(monotonic_ms), wall: wall(wall_ms) }
}

/// Counters and ids are far below 2^53, so that numbers hold them.
pub(crate) fn counter(number: f64) -> Counter {
    Counter(number as u64)
}

#[wasm_bindgen]
impl Core {
    /// Opens a client. `stored`: keys and values in turn, as they were handed out to be stored.
    ///
    /// # Errors
    /// Codes `schema` and `storage`.
    pub fn open(
        schema_json: &str,
        fresh_client: &str,
        token: &str,
        user: &str,
        stored: &Array,
        monotonic_ms: f64,
        wall_ms: f64,
    ) -> Result<Core, JsValue> {
        let schema = Schema::from_json(schema_json).map_err(Failure::from)?;
        let fresh: Id = fresh_client.parse().map_err(|_| Failure::of_transaction("a client is named by an id"))?;
        let config = Config {
            schema: Arc::new(schema),
            fresh_client: ClientId(fresh),
            token: token.to_owned(),
            user: user.to_owned(),
            seed: fresh.as_u128() as u64,
            limits: Limits::default(),
        };
        let bytes = |at: u32| Uint8Array::new(&stored.get(at)).to_vec();
        let entries = (0..stored.length() / 2).map(|entry| (bytes(2 * entry), bytes(2 * entry + 1)));
        let client = Client::open(config, entries, now(monotonic_ms, wall_ms)).map_err(Failure::from)?;
        Ok(Core { client, layouts: Vec::new(), asked: None, run: None, kept: None })
    }

    /// Names a table and its columns in the package's order; the answer is the table's number in later calls. `wide` tells for each column
    /// whether its integers are bigints.
    ///
    /// # Errors
    /// A table or column that the schema does not have.
    #[wasm_bindgen(js_name = addTable)]
    pub fn add_table(&mut self, name: &str, columns: Vec<String>, wide: &Array) -> Result<u32, JsValue> {
        let wide: Vec<bool> = wide.iter().map(|flag| flag.is_truthy()).collect();
        self.layouts.push(Layout::new(self.client.schema(), name, &columns, &wide)?);
        Ok(self.layouts.len() as u32 - 1)
    }

    /// Who this client is to the store, in hexadecimal digits.
    pub fn identity(&self) -> String {
        self.client.identity().0.to_string()
    }

    /// The link that was asked for is there.
    pub fn linked(&mut self, monotonic_ms: f64, wall_ms: f64) {
        self.client.handle(now(monotonic_ms, wall_ms), Input::Linked);
    }

    /// The link is gone, or could not be made.
    #[wasm_bindgen(js_name = linkLost)]
    pub fn link_lost(&mut self, monotonic_ms: f64, wall_ms: f64) {
        self.client.handle(now(monotonic_ms, wall_ms), Input::LinkLost);
    }

    /// A frame came.
    pub fn frame(&mut self, bytes: Vec<u8>, monotonic_ms: f64, wall_ms: f64) {
        self.client.handle(now(monotonic_ms, wall_ms), Input::Frame(bytes));
    }

    /// Everything up to here is stored.
    pub fn persisted(&mut self, id: f64, monotonic_ms: f64, wall_ms: f64) {
        self.client.handle(now(monotonic_ms, wall_ms), Input::Persisted(PersistId(id as u64)));
    }

    /// When `onDeadline` is to be called, in milliseconds of the monotonic clock.
    pub fn deadline(&self) -> Option<f64> {
        self.client.deadline().map(|at| at.as_nanos() as f64 / NANOS_PER_MS)
    }

    #[wasm_bindgen(js_name = onDeadline)]
    pub fn on_deadline(&mut self, monotonic_ms: f64, wall_ms: f64) {
        self.client.on_deadline(now(monotonic_ms, wall_ms));
    }

    /// Calls a named mutation and gives its counter.
    ///
    /// # Errors
    /// Code `call`.
    pub fn mutate(&mut self, name: &str, arguments: &str, wall_ms: f64) -> Result<f64, JsValue> {
        let counter = self.client.mutate(wall(wall_ms), name, arguments).map_err(Failure::from)?;
        Ok(counter.0 as f64)
    }

    /// Calls a closure and gives its counter.
    ///
    /// # Errors
    /// Codes `call` and `offline`.
    pub fn transact(&mut self, wall_ms: f64) -> Result<f64, JsValue> {
        let counter = self.client.transact(wall(wall_ms)).map_err(Failure::from)?;
        Ok(counter.0 as f64)
    }

    /// Takes a mutation back; false if it was sent already.
    pub fn cancel(&mut self, mutation: f64) -> bool {
        self.client.cancel(counter(mutation))
    }

    /// Forgets a refused mutation.
    pub fn dismiss(&mut self, mutation: f64) {
        self.client.dismiss(counter(mutation));
    }

    /// Registers a reactive transaction and gives its id.
    pub fn register(&mut self, view: &str) -> Result<f64, JsValue> {
        let view = match view {
            "optimistic" => View::Optimistic,
            "durable" => View::Durable,
            "confirmed" => View::Confirmed,
            other => return Err(Failure::of_transaction(format!("there is no view {other:?}")).into()),
        };
        Ok(self.client.register(view).0 as f64)
    }

    /// Makes a reactive transaction run again.
    pub fn renew(&mut self, reaction: f64) {
        self.client.renew(ReactionId(reaction as u64));
    }

    /// Ends a reactive transaction.
    pub fn stop(&mut self, reaction: f64) {
        self.client.stop(ReactionId(reaction as u64));
    }

    #[wasm_bindgen(js_name = goOnline)]
    pub fn go_online(&mut self, monotonic_ms: f64) {
        self.client.go_online(instant(monotonic_ms));
    }

    #[wasm_bindgen(js_name = goOffline)]
    pub fn go_offline(&mut self) {
        self.client.go_offline();
    }

    #[wasm_bindgen(js_name = setToken)]
    pub fn set_token(&mut self, token: &str, monotonic_ms: f64) {
        self.client.set_token(instant(monotonic_ms), token.to_owned());
    }
}
