//! What only a core that leads has: the link, the disk, its own calls, the tabs that follow it.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use iolite_client::{Client, Config, Input, TabId, TokenSource};
use iolite_machine::Machine;
use iolite_values::{ClientId, DeviceSecret, Id, Schema};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::core::{Core, counter, limits, now, wall};
use crate::failure::Failure;
use crate::output::call_to_js;
use crate::role::Role;
use crate::value::ticket_from_js;

#[wasm_bindgen]
impl Core {
    /// Opens a client. It asks for its token by `TokenWanted` if it is given none, and chooses among so many gateways of each data centre. It is told of changes every `batch_ms` at most. `stores_cache`: whether storage outlives it. `stored`: keys and values in turn, as they were handed out to be stored.
    ///
    /// # Errors
    /// Codes `schema` and `storage`.
    #[allow(clippy::too_many_arguments, reason = "JavaScript hands over no structs without making an object each time")]
    pub fn open(
        schema_json: &str,
        fresh_client: &str,
        fresh_secret: &str,
        token: Option<String>,
        user: &str,
        gateways: &[u16],
        batch_ms: u32,
        stores_cache: bool,
        stored: &Array,
        cache_bytes: Option<f64>,
        monotonic_ms: f64,
        wall_ms: f64,
    ) -> Result<Core, JsValue> {
        let schema = Schema::from_json(schema_json).map_err(Failure::from)?;
        let fresh: Id = fresh_client.parse().map_err(|_| Failure::of_transaction("a client is named by an id"))?;
        let secret: Id = fresh_secret.parse().map_err(|_| Failure::of_transaction("a secret is an id"))?;
        let config = Config {
            schema: Arc::new(schema),
            fresh_client: ClientId(fresh),
            fresh_secret: DeviceSecret(secret.to_bytes()),
            token: token.map_or(TokenSource::Asked, TokenSource::Fixed),
            user: user.to_owned(),
            gateways: gateways_of(gateways)?,
            batch: Duration::from_millis(batch_ms.into()),
            stores_cache,
            seed: fresh.as_u128() as u64,
            limits: limits(cache_bytes),
        };
        let client = Client::open(config, entries(stored), now(monotonic_ms, wall_ms)).map_err(Failure::from)?;
        Ok(Core::of(Role::Leads(Box::new(client))))
    }

    /// The link that was asked for is there.
    pub fn linked(&mut self, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::Linked)
    }

    /// The link is gone, or could not be made.
    #[wasm_bindgen(js_name = linkLost)]
    pub fn link_lost(&mut self, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::LinkLost)
    }

    /// A frame came.
    pub fn frame(&mut self, bytes: Vec<u8>, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::Frame(bytes))
    }

    /// Storage has no room. What it was given and did not store is dropped: what is to be stored next takes its place.
    #[wasm_bindgen(js_name = storageFull)]
    pub fn storage_full(&mut self, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::StorageFull)
    }

    /// A message of a tab that follows.
    #[wasm_bindgen(js_name = toldByTab)]
    pub fn told_by_tab(&mut self, tab: f64, bytes: Vec<u8>, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::FromTab(TabId(tab as u64), bytes))
    }

    /// A tab that follows is known to be closed.
    #[wasm_bindgen(js_name = tabGone)]
    pub fn tab_gone(&mut self, tab: f64, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::TabGone(TabId(tab as u64)))
    }

    /// The outbox, as it was asked for: keys and values in turn.
    pub fn outbox(&mut self, stored: &Array, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::Outbox(entries(stored).collect()))
    }

    /// Calls a named mutation and gives its counter. `ticket`: a fresh id, or that of a call which is made again.
    ///
    /// # Errors
    /// Code `call`.
    pub fn mutate(&mut self, name: &str, arguments: &str, ticket: &str, wall_ms: f64) -> Result<f64, JsValue> {
        let ticket = ticket_from_js(ticket)?;
        let counter = self.role.client()?.mutate_by_ticket(wall(wall_ms), ticket, name, arguments);
        Ok(counter.map_err(Failure::from)?.0 as f64)
    }

    /// Calls a closure and gives its counter.
    ///
    /// # Errors
    /// Codes `call` and `offline`.
    pub fn transact(&mut self, wall_ms: f64) -> Result<f64, JsValue> {
        let counter = self.role.client()?.transact(wall(wall_ms)).map_err(Failure::from)?;
        Ok(counter.0 as f64)
    }

    /// Takes a mutation back; false if it was sent already.
    pub fn cancel(&mut self, mutation: f64) -> Result<bool, JsValue> {
        Ok(self.role.client()?.cancel(counter(mutation)))
    }

    /// How far the call of a ticket is, as the output `Call` tells it.
    #[wasm_bindgen(js_name = callStatus)]
    pub fn call_status(&mut self, ticket: &str) -> Result<Array, JsValue> {
        let ticket = ticket_from_js(ticket)?;
        Ok(call_to_js(&self.role.client()?.call_status(ticket)))
    }
}

impl Core {
    pub(crate) fn lead(&mut self, monotonic_ms: f64, wall_ms: f64, input: Input) -> Result<(), JsValue> {
        self.role.client()?.handle(now(monotonic_ms, wall_ms), input);
        Ok(())
    }
}

/// How many gateways each data centre has.
fn gateways_of(centres: &[u16]) -> Result<Vec<NonZeroU16>, Failure> {
    let none = || Failure::of_transaction("a client needs an address");
    let counts: Option<Vec<NonZeroU16>> = centres.iter().map(|count| NonZeroU16::new(*count)).collect();
    counts.filter(|counts| !counts.is_empty()).ok_or_else(none)
}

/// Keys and values in turn.
fn entries(stored: &Array) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let bytes = |at: u32| Uint8Array::new(&stored.get(at)).to_vec();
    (0..stored.length() / 2).map(move |entry| (bytes(2 * entry), bytes(2 * entry + 1)))
}
