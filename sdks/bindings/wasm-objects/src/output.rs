//! The outputs of the device, as arrays that begin with their kind.

use iolite_objects::{Created, DeviceOutput, LinkState, Run, RunId, Ticket, ToApp};
use iolite_values::ObjectName;
use iolite_wire::objects::CallMode;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::failure::failure;

/// The first element of each output. What follows it is said beside it.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum OutputKind {
    Connect,
    Disconnect,
    /// The frame.
    Send,
    /// The class, the id, the state; the epoch with which it is kept, or `undefined` if it is not.
    Restore,
    /// The class, the id.
    Forget,
    /// The class, the id.
    Save,
    /// The run; the class, the id; the method, the arguments; for whom it runs.
    Run,
    /// The ticket; the result, or `undefined`; the failure, or `undefined`.
    Answered,
    /// The ticket; whether the object is new; the failure, or `undefined`.
    Created,
    /// The ticket; whether there is such an object; the failure, or `undefined`.
    Found,
    /// The device with its life, its name; its life, and the store under which it has that.
    LinkOpen,
    LinkLost,
    /// Why there is no good token, for people. The device asks for another one by itself.
    LinkRefused,
    /// JavaScript is to give a token, or to say that it has none.
    TokenWanted,
    /// Why the server has sent the device away, for people.
    LinkEnded,
    /// A frame that could not be written, for people. It is a bug.
    Problem,
}

pub(crate) fn output(output: DeviceOutput) -> Array {
    match output {
        DeviceOutput::Connect => array(OutputKind::Connect, &[]),
        DeviceOutput::Disconnect => array(OutputKind::Disconnect, &[]),
        DeviceOutput::Send(message) => match message.encode() {
            Ok(frame) => array(OutputKind::Send, &[bytes(&frame)]),
            Err(error) => array(OutputKind::Problem, &[error.to_string().into()]),
        },
        DeviceOutput::App(to_app) => of_app(to_app),
        DeviceOutput::Link(LinkState::Open(welcome)) => {
            let life = JsValue::from_f64(welcome.device.life.0 as f64);
            let names = [welcome.device.to_string(), welcome.store.0.to_string()].map(JsValue::from);
            let [device, store] = names;
            array(OutputKind::LinkOpen, &[device, life, store])
        }
        DeviceOutput::Link(LinkState::Lost) => array(OutputKind::LinkLost, &[]),
        DeviceOutput::Link(LinkState::Refused(problem)) => array(OutputKind::LinkRefused, &[problem.into()]),
        DeviceOutput::TokenWanted => array(OutputKind::TokenWanted, &[]),
        DeviceOutput::Link(LinkState::Ended(goodbye)) => array(OutputKind::LinkEnded, &[goodbye.message.into()]),
    }
}

fn of_app(output: ToApp) -> Array {
    match output {
        ToApp::Restore { object, state, keep } => {
            let [class, id] = parts(&object);
            let keep = keep.map_or(JsValue::UNDEFINED, |epoch| JsValue::from_f64(epoch.0 as f64));
            array(OutputKind::Restore, &[class, id, bytes(&state), keep])
        }
        ToApp::Forget { object } => array(OutputKind::Forget, &parts(&object)),
        ToApp::Save { object } => array(OutputKind::Save, &parts(&object)),
        ToApp::Moved(..) => unreachable!("JavaScript asks for no move"),
        ToApp::Run(run, of) => to_run(run, of),
        ToApp::Answered(ticket, Ok(result)) => {
            array(OutputKind::Answered, &[number(ticket), bytes(&result), JsValue::UNDEFINED])
        }
        ToApp::Answered(ticket, Err(error)) => {
            array(OutputKind::Answered, &[number(ticket), JsValue::UNDEFINED, failure(&error)])
        }
        ToApp::Created(ticket, created) => {
            let is_new = matches!(created, Ok(Created::New(_)));
            let failed = created.as_ref().err().map_or(JsValue::UNDEFINED, failure);
            array(OutputKind::Created, &[number(ticket), is_new.into(), failed])
        }
        ToApp::Found(ticket, found) => {
            let is_there = matches!(found, Ok(Some(_)));
            let failed = found.as_ref().err().map_or(JsValue::UNDEFINED, failure);
            array(OutputKind::Found, &[number(ticket), is_there.into(), failed])
        }
    }
}

/// The mode is not passed on: the kernel says when a method runs.
fn to_run(RunId(run): RunId, Run { object, method, arguments, mode, caller }: Run) -> Array {
    let (CallMode::Read | CallMode::Write) = mode;
    let [class, id] = parts(&object);
    let run = JsValue::from_f64(run as f64);
    array(OutputKind::Run, &[run, class, id, method.into(), bytes(&arguments), caller.into()])
}

fn array(kind: OutputKind, rest: &[JsValue]) -> Array {
    let array = Array::of1(&JsValue::from_f64(f64::from(kind as u32)));
    for value in rest {
        array.push(value);
    }
    array
}

fn parts(object: &ObjectName) -> [JsValue; 2] {
    [object.class().into(), object.id().into()]
}

fn bytes(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

/// Tickets and runs are far below 2^53, so that numbers hold them.
fn number(Ticket(ticket): Ticket) -> JsValue {
    JsValue::from_f64(ticket as f64)
}
