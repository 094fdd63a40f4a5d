//! The settings of devices, and the door of the servers that lets them in.

use iolite_machine::{Now, WallTime};
use iolite_objects::{Broken, DeviceSettings, LetIn, TokenSource};
use iolite_values::{DeviceRight, Id};

use super::class;

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
