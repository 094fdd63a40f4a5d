//! What the core asks for, as arrays that begin with their kind.

use iolite_client::{
    BlobOutput, CallStatus, Centre, Connection, FollowerOutput, Gateway, MutationStatus, Output, Pending, ReactionId,
    RunOf, StorageChange, Ticket,
};
use iolite_machine::{Machine, PersistId};
use iolite_values::{Attempt, Counter};
use iolite_wire::message::GoodbyeReason;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::blobs::chunk_to_js;
use crate::core::Core;
use crate::role::Role;

/// The first element of each output; what follows it is said beside it.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum OutputKind {
    /// The gateway's place among the addresses.
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
    /// The counter; the status, as `pending` lists it; the attempt that was submitted last, or that took effect.
    Mutation,
    /// The state; for `refused` the reason and the message.
    Connection,
    /// The name of the data centre that serves the client, or `undefined` while it moves to another one.
    Centre,
    /// The reaction's id.
    Unavailable,
    /// The reaction's id and the message.
    ReactionFailed,
    /// The tab, and the message for it.
    ToTab,
    ReadOutbox,
    /// The ticket, and the counter.
    Adopted,
    /// The message for the tab that leads.
    ToLeader,
    /// The ticket; how far the call is: `["called"]`, `["stored"]`, `["queued", counter, status]`, `["ended", counter, status]`, or
    /// `["confirmed-earlier"]`.
    Call,
    /// The counter of a mutation that was confirmed.
    Delivered,
    /// The name and the arguments in JSON of an operation that a log replays.
    RunReplay,
    /// The log's number, or `undefined` if this core was not asked to join it; why nothing more of it is replayed.
    LogStopped,
    /// The log's number, or `undefined` if this core was not asked to join it; after how many entries another member has another state.
    LogDiffers,
    /// The number of a log whose members are others than before, or `undefined` if this core was not asked to join it.
    LogMembers,
    /// The gateway's place among the addresses: a link to its `/blobs` is wanted.
    BlobsConnect,
    BlobsDisconnect,
    /// The frame.
    BlobsSend,
    /// The upload, and the chunk that it wants to have loaded.
    ChunkLoad,
    /// The download, and the chunk that it looks for.
    ChunkLook,
    /// A chunk to be kept, and its content.
    ChunkKeep,
    /// The download that has ended, and why it failed, or `undefined`.
    Fetched,
    /// The name of a causal table whose conflicts are others than before.
    Conflicts,
    /// A token is wanted: `setToken` or `tokenFailed` answers.
    TokenWanted,
}

#[wasm_bindgen]
impl Core {
    /// The next output, or `undefined`.
    pub fn poll(&mut self) -> Option<Array> {
        match &mut self.role {
            Role::Leads(client) => client.poll().map(|output| self.of_leader(output)),
            Role::Follows(follower) => follower.poll().map(|output| self.of_follower(output)),
        }
    }
}

impl Core {
    fn of_leader(&mut self, output: Output) -> Array {
        match output {
            Output::Connect(Gateway(place)) => array(OutputKind::Connect, [JsValue::from_f64(f64::from(place))]),
            Output::Disconnect => array(OutputKind::Disconnect, []),
            Output::Send(frame) => array(OutputKind::Send, [bytes(&frame)]),
            Output::Persist { id, changes, awaited: _ } => persist(id, changes),
            Output::Run(of) => self.asked_to_run(of),
            Output::Mutation { counter, attempt, status } => mutation(counter, &status, attempt),
            Output::Connection(connection) => connection_to_js(&connection),
            Output::Centre(centre) => array(OutputKind::Centre, [centre_to_js(&centre)]),
            Output::Unavailable(reaction) => unavailable(reaction),
            Output::ReactionFailed { reaction, message } => failed(reaction, &message),
            Output::ToTab(tab, message) => array(OutputKind::ToTab, [JsValue::from_f64(tab.0 as f64), bytes(&message)]),
            Output::Delivered(counter) => array(OutputKind::Delivered, [number(counter)]),
            Output::LogStopped { log, index: _, reason } => {
                let log = self.log_number(&log).map_or(JsValue::UNDEFINED, JsValue::from);
                array(OutputKind::LogStopped, [log, JsValue::from_str(&reason)])
            }
            Output::LogDiffers { log, index } => {
                let log = self.log_number(&log).map_or(JsValue::UNDEFINED, JsValue::from);
                array(OutputKind::LogDiffers, [log, JsValue::from_f64(index as f64)])
            }
            Output::LogMembers(log) => {
                let log = self.log_number(&log).map_or(JsValue::UNDEFINED, JsValue::from);
                array(OutputKind::LogMembers, [log])
            }
            Output::TokenWanted => array(OutputKind::TokenWanted, []),
            Output::ReadOutbox => array(OutputKind::ReadOutbox, []),
            Output::Blobs(output) => of_blobs(output),
            Output::Conflicts(table) => {
                let name = self.role.schema().table_name(table).unwrap_or_default();
                array(OutputKind::Conflicts, [JsValue::from_str(name)])
            }
            Output::Adopted { ticket, counter } => {
                array(OutputKind::Adopted, [ticket_to_js(Some(ticket)), number(counter)])
            }
        }
    }

    fn of_follower(&mut self, output: FollowerOutput) -> Array {
        match output {
            FollowerOutput::Send(message) => array(OutputKind::ToLeader, [bytes(&message)]),
            FollowerOutput::Persist { id, changes } => persist(id, changes),
            FollowerOutput::Run(of) => self.asked_to_run(of),
            FollowerOutput::Call { ticket, status } => {
                array(OutputKind::Call, [ticket_to_js(Some(ticket)), call_to_js(&status).into()])
            }
            // Only closures without a name want to know attempts, and they run in the tab that leads.
            FollowerOutput::Mutation { counter, status } => mutation(counter, &status, Attempt(0)),
            FollowerOutput::Connection(connection) => connection_to_js(&connection),
            FollowerOutput::Unavailable(reaction) => unavailable(reaction),
            FollowerOutput::ReactionFailed { reaction, message } => failed(reaction, &message),
        }
    }

    fn asked_to_run(&mut self, of: RunOf) -> Array {
        self.asked = Some(of);
        let (counter, called) = match of {
            RunOf::Reaction(reaction) => {
                return array(OutputKind::RunReaction, [JsValue::from_f64(reaction.0 as f64)]);
            }
            RunOf::Mutation(counter) => (counter, self.role.called(counter)),
            RunOf::Replay(_) => {
                let (name, arguments) = self.role.replayed_call().unwrap_or_default();
                return array(OutputKind::RunReplay, [name, arguments].map(|text| JsValue::from_str(&text)));
            }
        };
        let (name, arguments) = called.map(|called| (called.name, called.arguments)).unwrap_or_default();
        array(OutputKind::RunMutation, [number(counter), text(name.as_deref()), text(arguments.as_deref())])
    }
}

fn persist(PersistId(id): PersistId, changes: Vec<StorageChange>) -> Array {
    array(OutputKind::Persist, [JsValue::from_f64(id as f64), changes_to_js(changes)])
}

fn mutation(counter: Counter, status: &MutationStatus, Attempt(attempt): Attempt) -> Array {
    array(OutputKind::Mutation, [number(counter), status_to_js(status), JsValue::from_f64(f64::from(attempt))])
}

fn unavailable(reaction: ReactionId) -> Array {
    array(OutputKind::Unavailable, [JsValue::from_f64(reaction.0 as f64)])
}

fn failed(reaction: ReactionId, message: &str) -> Array {
    array(OutputKind::ReactionFailed, [JsValue::from_f64(reaction.0 as f64), JsValue::from_str(message)])
}

fn of_blobs(output: BlobOutput) -> Array {
    match output {
        BlobOutput::Connect(Gateway(place)) => array(OutputKind::BlobsConnect, [JsValue::from_f64(f64::from(place))]),
        BlobOutput::Disconnect => array(OutputKind::BlobsDisconnect, []),
        BlobOutput::Send(frame) => array(OutputKind::BlobsSend, [bytes(&frame)]),
        BlobOutput::Load { upload, chunk } => {
            array(OutputKind::ChunkLoad, [JsValue::from_f64(upload.0 as f64), chunk_to_js(chunk)])
        }
        BlobOutput::Look { download, chunk } => {
            array(OutputKind::ChunkLook, [JsValue::from_f64(f64::from(download.0)), chunk_to_js(chunk)])
        }
        BlobOutput::Keep { chunk, content } => array(OutputKind::ChunkKeep, [chunk_to_js(chunk), bytes(&content)]),
        BlobOutput::Fetched { download, result } => {
            let why = result.err().map_or(JsValue::UNDEFINED, |why| JsValue::from_str(&why));
            array(OutputKind::Fetched, [JsValue::from_f64(f64::from(download.0)), why])
        }
    }
}

fn array<const N: usize>(kind: OutputKind, rest: [JsValue; N]) -> Array {
    let array = Array::of1(&JsValue::from_f64(f64::from(kind as u32)));
    for value in rest {
        array.push(&value);
    }
    array
}

fn bytes(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

pub(crate) fn text(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::UNDEFINED, JsValue::from_str)
}

pub(crate) fn ticket_to_js(ticket: Option<Ticket>) -> JsValue {
    text(ticket.map(|ticket| ticket.0.to_string()).as_deref())
}

fn number(Counter(counter): Counter) -> JsValue {
    JsValue::from_f64(counter as f64)
}

fn changes_to_js(changes: Vec<StorageChange>) -> JsValue {
    let array = Array::new();
    for change in changes {
        let (key, value) = match change {
            StorageChange::Put { key, value } => (key, bytes(&value)),
            StorageChange::Delete { key } => (key, JsValue::UNDEFINED),
        };
        array.push(&bytes(&key));
        array.push(&value);
    }
    array.into()
}

/// `[state, reason]`, or for a pending one `["pending", durable, sent, wouldReject, inConflict, centres]`.
fn status_to_js(status: &MutationStatus) -> JsValue {
    let ended = |state: &str, reason: &str| Array::of2(&JsValue::from_str(state), &JsValue::from_str(reason)).into();
    match status {
        MutationStatus::Pending(pending) => pending_to_js(pending),
        MutationStatus::Confirmed { at: _ } => ended("confirmed", ""),
        MutationStatus::Rejected { reason } => ended("rejected", reason),
        MutationStatus::Quarantined { reason } => ended("quarantined", reason),
        MutationStatus::Cancelled { reason } => ended("cancelled", reason),
        MutationStatus::Overruled => ended("overruled", ""),
    }
}

pub(crate) fn call_to_js(status: &CallStatus) -> Array {
    let state = JsValue::from_str(match status {
        CallStatus::Called => "called",
        CallStatus::Stored => "stored",
        CallStatus::Queued(..) => "queued",
        CallStatus::Ended(..) => "ended",
        CallStatus::ConfirmedEarlier => "confirmed-earlier",
    });
    match status {
        CallStatus::Called | CallStatus::Stored | CallStatus::ConfirmedEarlier => Array::of1(&state),
        CallStatus::Queued(counter, pending) => Array::of3(&state, &number(*counter), &pending_to_js(pending)),
        CallStatus::Ended(counter, status) => Array::of3(&state, &number(*counter), &status_to_js(status)),
    }
}

pub(crate) fn pending_to_js(pending: &Pending) -> JsValue {
    let would_reject = text(pending.would_reject.as_deref());
    let state = JsValue::from_str("pending");
    let (durable, sent) = (pending.durable.into(), pending.sent.into());
    let (in_conflict, centres) = (pending.in_conflict.into(), pending.centres.into());
    [state, durable, sent, would_reject, in_conflict, centres].into_iter().collect::<Array>().into()
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

fn centre_to_js(centre: &Centre) -> JsValue {
    match centre {
        Centre::At(name) => JsValue::from_str(name.as_str()),
        Centre::Moving => JsValue::UNDEFINED,
    }
}

fn refusal(reason: GoodbyeReason) -> &'static str {
    match reason {
        GoodbyeReason::Unauthorized => "unauthorized",
        GoodbyeReason::OtherUser => "other-user",
        GoodbyeReason::Schema => "schema",
        // Only a leading tab refuses for good what it does not understand.
        GoodbyeReason::Version | GoodbyeReason::Protocol => "version",
        GoodbyeReason::Limit => "limit",
        GoodbyeReason::Slow => "slow",
        GoodbyeReason::Replaced => "replaced",
        GoodbyeReason::Unavailable => "unavailable",
    }
}
