//! What only a core that follows has: its leader, and its calls by ticket.

use std::sync::Arc;

use iolite_client::{CallAgain, Follower, FollowerConfig, FollowerInput};
use iolite_machine::Machine;
use iolite_values::{LogId, Schema};
use wasm_bindgen::prelude::*;

use crate::core::{Core, limits, now, wall};
use crate::failure::Failure;
use crate::role::Role;
use crate::value::ticket_from_js;

#[wasm_bindgen]
impl Core {
    /// Opens a follower, which looks for its leader at once.
    ///
    /// # Errors
    /// Code `schema`.
    pub fn follow(
        schema_json: &str,
        cache_bytes: Option<f64>,
        monotonic_ms: f64,
        wall_ms: f64,
    ) -> Result<Core, JsValue> {
        let schema = Arc::new(Schema::from_json(schema_json).map_err(Failure::from)?);
        let follower =
            Follower::open(FollowerConfig { schema, limits: limits(cache_bytes) }, now(monotonic_ms, wall_ms));
        Ok(Core::of(Role::Follows(Box::new(follower))))
    }

    /// A message of the leader to this tab.
    #[wasm_bindgen(js_name = toldByLeader)]
    pub fn told_by_leader(&mut self, bytes: Vec<u8>, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.track(monotonic_ms, wall_ms, FollowerInput::FromLeader(bytes))
    }

    /// Another tab leads from now on, or this one was away.
    #[wasm_bindgen(js_name = leaderChanged)]
    pub fn leader_changed(&mut self, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.track(monotonic_ms, wall_ms, FollowerInput::LeaderChanged)
    }

    /// Whether what is shown is the leader's, up to what is on its way.
    #[wasm_bindgen(js_name = isFollowing)]
    pub fn is_following(&mut self) -> Result<bool, JsValue> {
        Ok(self.role.follower()?.is_following())
    }

    /// Calls a named mutation. `ticket`: a fresh id.
    ///
    /// # Errors
    /// Codes `call` and `not-ready`.
    pub fn call(&mut self, ticket: &str, name: &str, arguments: &str, wall_ms: f64) -> Result<(), JsValue> {
        let ticket = ticket_from_js(ticket)?;
        let called = self.role.follower()?.mutate(wall(wall_ms), ticket, name, arguments);
        Ok(called.map_err(Failure::from)?)
    }

    /// Goes on with a call that another core of this tab had. `log` and `instance` are of an operation of a log. `stored`: this tab knows that the
    /// call is stored.
    ///
    /// # Errors
    /// Code `transaction`: an instance of another type.
    #[wasm_bindgen(js_name = callAgain)]
    #[expect(clippy::too_many_arguments, reason = "JavaScript passes the parts of a call")]
    pub fn call_again(
        &mut self,
        ticket: &str,
        name: String,
        arguments: String,
        log: Option<String>,
        instance: &JsValue,
        stored: bool,
        called_at_ms: f64,
    ) -> Result<(), JsValue> {
        let ticket = ticket_from_js(ticket)?;
        let log = match log {
            Some(log) => Some(LogId::new(&log, &self.instance_of(&log, instance)?).map_err(Failure::from)?),
            None => None,
        };
        let called_at = wall(called_at_ms);
        self.role.follower()?.call_again(CallAgain { ticket, called_at, name, arguments, log, stored });
        Ok(())
    }

    /// Asks the leader to take a call of this tab back, if nothing of it was sent yet.
    #[wasm_bindgen(js_name = takeBack)]
    pub fn take_back(&mut self, ticket: &str) -> Result<(), JsValue> {
        self.role.follower()?.take_back(ticket_from_js(ticket)?);
        Ok(())
    }
}

impl Core {
    fn track(&mut self, monotonic_ms: f64, wall_ms: f64, input: FollowerInput) -> Result<(), JsValue> {
        self.role.follower()?.handle(now(monotonic_ms, wall_ms), input);
        Ok(())
    }
}
