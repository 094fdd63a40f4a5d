//! The settings of devices, and the door of the servers that lets them in.

use iolite_machine::{Machine as _, Now, WallTime};
use iolite_objects::{Broken, DeviceSettings, LetIn, Right, ServerInput, SessionId, TokenSource};
use iolite_values::{DeviceRight, Id, ObjectName};
use iolite_wire::objects::ToDevice;

use super::{World, class};

/// Lets in by `token`, which is a developer's, and by texts like `ann 900`, which is ann's until second 900.
pub fn let_in(device: Id, token: &str, now: Now) -> Result<LetIn, String> {
    if token == "token" {
        return Ok(LetIn { caller: "ann".into(), may_serve: true, device, ends: None });
    }
    let (caller, until) = token.split_once(' ').ok_or("the token is wrong")?;
    let ends = until.parse().map(|second: u64| WallTime::from_micros(second * 1_000_000)).expect("a number");
    if ends <= now.wall {
        return Err("the token has run out".to_owned());
    }
    let of_user = caller.bytes().fold(0, |sum, byte| sum * 256 + u128::from(byte));
    let device = Id::from_u128(device.as_u128() + (of_user << 64));
    Ok(LetIn { caller: caller.to_owned(), may_serve: false, device, ends: Some(ends) })
}

pub fn settings(at: usize, serves: bool, has_class: bool, kernels: u128) -> DeviceSettings {
    DeviceSettings {
        device: Id::from_u128(100 + at as u128),
        kernel: Id::from_u128(kernels + at as u128),
        token: TokenSource::Fixed("token".to_owned()),
        serves,
        resumed: None,
        classes: if has_class { vec![class(DeviceRight::Hold)] } else { Vec::new() },
        managers: Vec::new(),
        broken: Broken::Nothing,
    }
}

impl World {
    /// The door says yes to what it has not answered.
    pub fn door_answers(&mut self) {
        self.slow_right = None;
        for (at, id) in std::mem::take(&mut self.waiting_at_door) {
            self.servers[at].handle(self.now, ServerInput::May(id, true));
        }
        self.settle();
    }

    /// The door takes a yes back.
    pub fn withdraw(&mut self, session: SessionId, object: ObjectName, right: Right) {
        self.servers[0].handle(self.now, ServerInput::Withdrawn(session, object, right));
        self.settle();
    }

    /// Takes the messages that a session of no device was sent.
    pub fn hears(&mut self, session: SessionId) -> Vec<ToDevice> {
        let all = std::mem::take(&mut self.strangers);
        all.into_iter().filter(|(to, _)| *to == session).map(|(_, message)| message).collect()
    }
}
