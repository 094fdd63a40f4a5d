//! The class that JavaScript drives: what happens goes in, what is to be done comes out.
//!
//! Invariants:
//! - JavaScript calls it from outside only; methods run between two calls, never inside one;
//! - what is too large for a frame is refused here, where its caller hears of it.

use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_objects::limits::STATE_BYTES_MAX;
use iolite_objects::{
    Broken, Call, Device as Machinery, DeviceInput, DeviceSettings, Ended, FromApp, Placing, RunId, Ticket, TokenSource,
};
use iolite_values::{Id, ObjectName};
use iolite_wire::limits::{Limit, METHOD, OBJECT_BYTES, REASON};
use iolite_wire::objects::{Begin, CallMode, NotRun, ToDevice};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::classes::{Classes, declared};
use crate::failure::{bad_arguments, not_run};
use crate::output::output;
use crate::resumed::Resumed;

const NANOS_PER_MS: f64 = 1e6;
const MICROS_PER_MS: f64 = 1e3;

/// A node that dials a server. Its inputs count as of the time that [`Device::at`] was told last.
#[wasm_bindgen]
pub struct Device {
    device: Machinery,
    now: Now,
}

#[wasm_bindgen]
impl Device {
    /// `device` and `kernel` are ids: drawn once, and drawn for this process. Without a token the device asks for it: `TokenWanted`.
    ///
    /// # Errors
    /// A text that is no id.
    #[wasm_bindgen(constructor)]
    #[expect(
        clippy::too_many_arguments,
        reason = "JavaScript hands over no structs without making an object each time"
    )]
    pub fn new(
        classes: &Classes,
        device: &str,
        kernel: &str,
        token: Option<String>,
        serves: bool,
        resumed: Option<Resumed>,
        monotonic_ms: f64,
        wall_ms: f64,
    ) -> Result<Device, JsValue> {
        let now = now(monotonic_ms, wall_ms);
        let settings = DeviceSettings {
            device: id(device)?,
            kernel: id(kernel)?,
            token: token.map_or(TokenSource::Asked, TokenSource::Fixed),
            serves,
            resumed: resumed.map(|resumed| resumed.all),
            classes: classes.all.clone(),
            managers: Vec::new(),
            broken: Broken::Nothing,
        };
        Ok(Device { device: Machinery::new(now, settings), now })
    }

    /// The time of the inputs that follow.
    pub fn at(&mut self, monotonic_ms: f64, wall_ms: f64) {
        self.now = now(monotonic_ms, wall_ms);
    }

    pub fn linked(&mut self) {
        self.handle(DeviceInput::Linked);
    }

    #[wasm_bindgen(js_name = linkLost)]
    pub fn link_lost(&mut self) {
        self.handle(DeviceInput::LinkLost);
    }

    /// Answers `TokenWanted`.
    #[wasm_bindgen(js_name = setToken)]
    pub fn set_token(&mut self, token: String) {
        self.handle(DeviceInput::Token(token));
    }

    /// Answers `TokenWanted`: there is no token now, for this reason.
    #[wasm_bindgen(js_name = tokenFailed)]
    pub fn token_failed(&mut self, message: String) {
        self.handle(DeviceInput::TokenFailed(message));
    }

    /// Takes a frame of the server.
    ///
    /// # Errors
    /// It is none that is known here. The link counts as lost, and JavaScript closes it.
    pub fn frame(&mut self, frame: &[u8]) -> Result<(), JsValue> {
        match ToDevice::decode(frame) {
            Ok(message) => {
                self.handle(DeviceInput::Message(message));
                Ok(())
            }
            Err(error) => {
                self.handle(DeviceInput::LinkLost);
                Err(error.to_string().into())
            }
        }
    }

    /// Calls a method. `within` is the run whose method calls.
    ///
    /// # Errors
    /// A failure as of `Answered`, when no such call can be made. The ticket is free again.
    #[expect(
        clippy::too_many_arguments,
        reason = "JavaScript hands over no structs without making an object each time"
    )]
    pub fn call(
        &mut self,
        ticket: f64,
        class: &str,
        id: &str,
        version: u32,
        method: &str,
        reads: bool,
        arguments: Vec<u8>,
        within: Option<f64>,
        time_ms: f64,
    ) -> Result<(), JsValue> {
        let object = object(class, id)?;
        fits(&arguments, "the arguments")?;
        if method.len() > METHOD.most {
            return Err(not_run(&NotRun::NoSuchMethod));
        }
        let call = Call {
            object,
            version,
            method: method.to_owned(),
            mode: if reads { CallMode::Read } else { CallMode::Write },
            arguments,
            within: within.map(run),
            time: Duration::from_millis(time_ms as u64),
        };
        self.handle(DeviceInput::App(FromApp::Call(Ticket(ticket as u64), call)));
        Ok(())
    }

    /// Wants an object, with this state if it is new; `here` or at a node that the server chooses.
    ///
    /// # Errors
    /// A failure as of `Created`, when there can be no such object. The ticket is free again.
    #[expect(
        clippy::too_many_arguments,
        reason = "JavaScript hands over no structs without making an object each time"
    )]
    pub fn create(
        &mut self,
        ticket: f64,
        class: &str,
        id: &str,
        version: u32,
        devices: &str,
        managers: &str,
        state: Vec<u8>,
        here: bool,
    ) -> Result<(), JsValue> {
        let begin = Begin { object: object(class, id)?, declared: declared(version, devices, managers)? };
        state_fits(&state)?;
        let placing = if here { Placing::Here } else { Placing::AtServer };
        let ticket = Ticket(ticket as u64);
        self.handle(DeviceInput::App(FromApp::Create { ticket, begin, state, placing }));
        Ok(())
    }

    /// Says something to a manager of an object. Answered as a call is.
    ///
    /// # Errors
    /// A failure, when no object has such a name. The ticket is free again.
    pub fn manage(&mut self, ticket: f64, class: &str, id: &str, manager: &str, word: &str) -> Result<(), JsValue> {
        let object = object(class, id)?;
        let (ticket, manager, body) = (Ticket(ticket as u64), manager.to_owned(), word.as_bytes().to_vec());
        self.handle(DeviceInput::App(FromApp::Manage { ticket, object, manager, body }));
        Ok(())
    }

    /// Asks whether there is an object.
    ///
    /// # Errors
    /// A failure as of `Found`, when no object has such a name. The ticket is free again.
    pub fn find(&mut self, ticket: f64, class: &str, id: &str) -> Result<(), JsValue> {
        let object = object(class, id)?;
        self.handle(DeviceInput::App(FromApp::Find { ticket: Ticket(ticket as u64), object }));
        Ok(())
    }

    /// Answers `Restore`. `problem` is why there is no object of such a state.
    ///
    /// # Errors
    /// No object has such a name.
    pub fn restored(&mut self, class: &str, id: &str, problem: Option<String>) -> Result<(), JsValue> {
        let (object, restored) = (object(class, id)?, problem.map(reason).map_or(Ok(()), Err));
        self.handle(DeviceInput::App(FromApp::Restored { object, restored }));
        Ok(())
    }

    /// Answers `Save`: the state, or why there is none.
    ///
    /// # Errors
    /// No object has such a name.
    pub fn saved(&mut self, class: &str, id: &str, state: Vec<u8>, problem: Option<String>) -> Result<(), JsValue> {
        let (object, state) = (object(class, id)?, problem.map(reason).map_or(Ok(state), Err));
        self.handle(DeviceInput::App(FromApp::Saved { object, state }));
        Ok(())
    }

    /// The method of a run has returned this.
    pub fn returned(&mut self, run: f64, result: Vec<u8>) {
        let ended = match too_large(&result, "the result") {
            None => Ended::Returned(result),
            Some(problem) => Ended::Broke(problem),
        };
        self.ended(run, ended);
    }

    /// The method of a run has thrown this.
    pub fn threw(&mut self, run: f64, error: Vec<u8>) {
        let ended = match too_large(&error, "the error that it threw") {
            None => Ended::Threw(error),
            Some(problem) => Ended::Broke(problem),
        };
        self.ended(run, ended);
    }

    /// The method of a run has ended without a result or an error that can be sent.
    pub fn broke(&mut self, run: f64, how: String) {
        self.ended(run, Ended::Broke(reason(how)));
    }

    /// There is no such method, and nothing ran.
    #[wasm_bindgen(js_name = noSuchMethod)]
    pub fn no_such_method(&mut self, run: f64) {
        self.ended(run, Ended::NoSuchMethod);
    }

    /// The arguments do not fit, and nothing ran.
    #[wasm_bindgen(js_name = badArguments)]
    pub fn bad_arguments(&mut self, run: f64, problem: String) {
        self.ended(run, Ended::BadArguments(reason(problem)));
    }

    /// The next output, or `undefined`.
    pub fn poll(&mut self) -> Option<Array> {
        self.device.poll().map(output)
    }

    /// When `onDeadline` is to be called, in milliseconds of the monotonic clock.
    pub fn deadline(&self) -> Option<f64> {
        self.device.deadline().map(|at| at.as_nanos() as f64 / NANOS_PER_MS)
    }

    #[wasm_bindgen(js_name = onDeadline)]
    pub fn on_deadline(&mut self) {
        self.device.on_deadline(self.now);
    }

    /// Instances that are here.
    pub fn instances(&self) -> usize {
        self.device.kernel().instances()
    }
}

impl Device {
    fn handle(&mut self, input: DeviceInput) {
        self.device.handle(self.now, input);
    }

    fn ended(&mut self, of: f64, ended: Ended) {
        self.handle(DeviceInput::App(FromApp::Ended { run: run(of), ended }));
    }
}

fn now(monotonic_ms: f64, wall_ms: f64) -> Now {
    let instant = Instant::from_nanos((monotonic_ms * NANOS_PER_MS) as u64);
    Now { instant, wall: WallTime::from_micros((wall_ms * MICROS_PER_MS) as u64) }
}

fn run(number: f64) -> RunId {
    RunId(number as u64)
}

pub(crate) fn id(text: &str) -> Result<Id, JsValue> {
    text.parse().map_err(|error: <Id as std::str::FromStr>::Err| bad_arguments(&error.to_string()))
}

pub(crate) fn object(class: &str, id: &str) -> Result<ObjectName, JsValue> {
    ObjectName::new(class, id).map_err(|error| bad_arguments(&error.to_string()))
}

fn fits(bytes: &[u8], what: &str) -> Result<(), JsValue> {
    too_large(bytes, what).map_or(Ok(()), |problem| Err(not_run(&NotRun::TooLarge(problem))))
}

fn state_fits(state: &[u8]) -> Result<(), JsValue> {
    if state.len() <= STATE_BYTES_MAX {
        return Ok(());
    }
    let problem = format!("the state has {} bytes as CBOR, and may have {STATE_BYTES_MAX}", state.len());
    Err(not_run(&NotRun::TooLarge(problem)))
}

fn too_large(bytes: &[u8], what: &str) -> Option<String> {
    let Limit { most, .. } = OBJECT_BYTES;
    (bytes.len() > most).then(|| format!("{what} has {} bytes as CBOR, and at most {most} are sent", bytes.len()))
}

/// A text for people, cut to what a message holds.
fn reason(mut text: String) -> String {
    if text.len() > REASON.most {
        let end = (0..=REASON.most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_people_is_cut_between_two_characters() {
        let long = "ü".repeat(REASON.most);
        assert_eq!(reason(long.clone()).len(), REASON.most);
        assert_eq!(reason(format!("a{long}")).len(), REASON.most - 1);
        assert_eq!(reason("short".to_owned()), "short");
    }

    #[test]
    fn bytes_past_the_limit_of_a_message_are_told_by_their_number() {
        assert_eq!(too_large(&vec![0; OBJECT_BYTES.most], "the state"), None);
        let problem = too_large(&vec![0; OBJECT_BYTES.most + 1], "the state");
        assert_eq!(problem.as_deref(), Some("the state has 1048577 bytes as CBOR, and at most 1048576 are sent"));
    }
}
