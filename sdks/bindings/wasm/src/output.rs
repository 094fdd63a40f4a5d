//! What the core asks for, as arrays that begin with their kind.

use iolite_client::{Connection, MutationKind, MutationStatus, Output, Pending, RunOf, StorageChange};
use iolite_machine::Machine;
use iolite_values::Counter;
use iolite_wire::message::GoodbyeReason;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::core::Core;

/// The first element of each output; what follows it is said beside it.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum OutputKind {
    Connect,
    Disconnect,
    /// The frame.
    Send,
    /// The id; then keys and values in turn, `undefined` for a key to delete.
    Persist,
    /// The counter; the name and the arguments in JSON, or `undefined` twice for a closure.
    RunMutation,
    /// The reaction's id.
    RunReaction,
    /// The counter; the status, as `pending` lists it.
    Mutation,
    /// The state; for `refused` the reason and the message.
    Connection,
    /// The reaction's id.
    Unavailable,
    /// The reaction's id and the message.
    ReactionFailed,
    /// The tab, and the message for it.
    ToTab,
    ReadOutbox,
    /// The ticket's 16 bytes, and the counter.
    Adopted,
}

#[wasm_bindgen]
impl Core {
    /// The next output, or `undefined`.
    pub fn poll(&mut self) -> Option<Array> {
        let output = self.client.poll()?;
        Some(match output {
            Output::Connect => array(OutputKind::Connect, []),
            Output::Disconnect => array(OutputKind::Disconnect, []),
            Output::Send(frame) => array(OutputKind::Send, [Uint8Array::from(&frame[..]).into()]),
            Output::Persist { id, changes } => {
                array(OutputKind::Persist, [JsValue::from_f64(id.0 as f64), changes_to_js(changes)])
            }
            Output::Run(of) => self.asked_to_run(of),
            Output::Mutation { counter, status, .. } => {
                array(OutputKind::Mutation, [number(counter), status_to_js(&status)])
            }
            Output::Connection(connection) => connection_to_js(&connection),
            Output::Unavailable(reaction) => array(OutputKind::Unavailable, [JsValue::from_f64(reaction.0 as f64)]),
            Output::ReactionFailed { reaction, message } => {
                array(OutputKind::ReactionFailed, [JsValue::from_f64(reaction.0 as f64), message.into()])
            }
            Output::ToTab(tab, message) => {
                array(OutputKind::ToTab, [JsValue::from_f64(tab.0 as f64), Uint8Array::from(&message[..]).into()])
            }
            Output::ReadOutbox => array(OutputKind::ReadOutbox, []),
            Output::Adopted { ticket, counter } => {
                let ticket = Uint8Array::from(&ticket.0.to_bytes()[..]).into();
                array(OutputKind::Adopted, [ticket, number(counter)])
            }
        })
    }
}

impl Core {
    fn asked_to_run(&mut self, of: RunOf) -> Array {
        self.asked = Some(of);
        let counter = match of {
            RunOf::Reaction(reaction) => {
                return array(OutputKind::RunReaction, [JsValue::from_f64(reaction.0 as f64)]);
            }
            RunOf::Mutation(counter) => counter,
        };
        let (name, arguments) = match self.client.mutation(counter).map(|mutation| &mutation.kind) {
            Some(MutationKind::Named { name, arguments }) => (JsValue::from_str(name), JsValue::from_str(arguments)),
            Some(MutationKind::Closure) | None => (JsValue::UNDEFINED, JsValue::UNDEFINED),
        };
        array(OutputKind::RunMutation, [number(counter), name, arguments])
    }
}

fn array<const N: usize>(kind: OutputKind, rest: [JsValue; N]) -> Array {
    let array = Array::of1(&JsValue::from_f64(f64::from(kind as u32)));
    for value in rest {
        array.push(&value);
    }
    array
}

fn number(Counter(counter): Counter) -> JsValue {
    JsValue::from_f64(counter as f64)
}

fn changes_to_js(changes: Vec<StorageChange>) -> JsValue {
    let array = Array::new();
    for change in changes {
        let (key, value) = match change {
            StorageChange::Put { key, value } => (key, Uint8Array::from(&value[..]).into()),
            StorageChange::Delete { key } => (key, JsValue::UNDEFINED),
        };
        array.push(&Uint8Array::from(&key[..]));
        array.push(&value);
    }
    array.into()
}

/// `[state, reason]`, or for a pending one `["pending", durable, sent, wouldReject]`.
fn status_to_js(status: &MutationStatus) -> JsValue {
    let ended = |state: &str, reason: &str| Array::of2(&JsValue::from_str(state), &JsValue::from_str(reason)).into();
    match status {
        MutationStatus::Pending(pending) => pending_to_js(pending),
        MutationStatus::Confirmed { at: _ } => ended("confirmed", ""),
        MutationStatus::Rejected { reason } => ended("rejected", reason),
        MutationStatus::Quarantined { reason } => ended("quarantined", reason),
        MutationStatus::Cancelled { reason } => ended("cancelled", reason),
    }
}

pub(crate) fn pending_to_js(pending: &Pending) -> JsValue {
    let would_reject = pending.would_reject.as_deref().map_or(JsValue::UNDEFINED, JsValue::from_str);
    let state = JsValue::from_str("pending");
    Array::of4(&state, &pending.durable.into(), &pending.sent.into(), &would_reject).into()
}

fn connection_to_js(connection: &Connection) -> Array {
    let plain = |state: &str| array(OutputKind::Connection, [JsValue::from_str(state)]);
    match connection {
        Connection::Offline => plain("offline"),
        Connection::Connecting => plain("connecting"),
        Connection::Online => plain("online"),
        Connection::Refused { reason, message } => {
            let rest = ["refused", refusal(*reason), message].map(JsValue::from_str);
            array(OutputKind::Connection, rest)
        }
    }
}

fn refusal(reason: GoodbyeReason) -> &'static str {
    match reason {
        GoodbyeReason::Version => "version",
        GoodbyeReason::Unauthorized => "unauthorized",
        GoodbyeReason::Schema => "schema",
        GoodbyeReason::Protocol => "protocol",
        GoodbyeReason::Limit => "limit",
        GoodbyeReason::Slow => "slow",
        GoodbyeReason::Replaced => "replaced",
        GoodbyeReason::Unavailable => "unavailable",
    }
}
