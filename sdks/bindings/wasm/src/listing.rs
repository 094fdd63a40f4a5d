//! What is pending and what was refused, as arrays.

use std::sync::Arc;

use iolite_client::{PendingMutation, Refused};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::core::{Core, counter, wall_ms};
use crate::output::{pending_to_js, text, ticket_to_js};
use crate::role::{Called, Role};

#[wasm_bindgen]
impl Core {
    /// What is pending, in order: `[counter, ticket, name, arguments, calledAt, status]` each.
    pub fn pending(&self) -> Array {
        match &self.role {
            Role::Leads(client) => client.pending().map(|each| listed(&each)).collect(),
            Role::Follows(follower) => follower.pending().map(listed).collect(),
        }
    }

    /// What was refused, in order: `[counter, ticket, name, arguments, calledAt, [reason, byApp]]` each.
    pub fn refused(&self) -> Array {
        match &self.role {
            Role::Leads(client) => client.refused().map(listed_refused).collect(),
            Role::Follows(follower) => follower.refused().map(listed_refused).collect(),
        }
    }

    /// How many were refused: only dismissals, of which any tab may be the origin, make them fewer.
    #[wasm_bindgen(js_name = refusedCount)]
    pub fn refused_count(&self) -> usize {
        match &self.role {
            Role::Leads(client) => client.refused().count(),
            Role::Follows(follower) => follower.refused().count(),
        }
    }

    /// The call of a pending mutation: `[ticket, name, arguments]`, or `undefined` if it is not pending.
    pub fn called(&self, mutation: f64) -> Option<Array> {
        let Called { name, arguments, ticket } = self.role.called(counter(mutation))?;
        Some(Array::of3(&text(ticket.as_deref()), &text(name.as_deref()), &text(arguments.as_deref())))
    }
}

fn listed(each: &PendingMutation) -> Array {
    let named = |name: &Option<Arc<str>>| text(name.as_deref());
    let ticket = ticket_to_js(each.ticket);
    [
        JsValue::from_f64(each.counter.0 as f64),
        ticket,
        named(&each.name),
        named(&each.arguments),
        JsValue::from_f64(wall_ms(each.called_at)),
        pending_to_js(&each.status),
    ]
    .iter()
    .collect()
}

fn listed_refused(each: &Refused) -> Array {
    [
        JsValue::from_f64(each.counter.0 as f64),
        ticket_to_js(each.ticket),
        JsValue::from_str(&each.name),
        JsValue::from_str(&each.arguments),
        JsValue::from_f64(wall_ms(each.called_at)),
        Array::of2(&JsValue::from_str(&each.reason), &each.by_app.into()).into(),
    ]
    .iter()
    .collect()
}
