//! States that are longer than one message: cut into parts, and put together again.
//!
//! Invariant: a state that is put together is at most [`STATE_BYTES_MAX`] long, and at most [`STATES_OPEN_MAX`] are open on a connection.

use iolite_wire::limits::STATE_PART;
use iolite_wire::objects::Part;

use crate::limits::{STATE_BYTES_MAX, STATES_OPEN_MAX};

/// Cuts a state into parts, and the rest that goes with the message itself.
pub(crate) fn cut(state: Vec<u8>) -> (Vec<Part>, Vec<u8>) {
    if state.len() <= STATE_PART.most {
        return (Vec::new(), state);
    }
    let mut parts = Vec::new();
    let mut offset = 0;
    let mut rest = &state[..];
    while rest.len() > STATE_PART.most {
        let (part, further) = rest.split_at(STATE_PART.most);
        parts.push(Part { offset, bytes: part.to_vec() });
        offset += part.len() as u64;
        rest = further;
    }
    (parts, rest.to_vec())
}

/// The parts that came on one connection, by the number of the message that is still to come.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<(u64, Vec<u8>)>);

impl Parts {
    /// Takes a part.
    ///
    /// # Errors
    /// For people: what is wrong with it.
    pub fn add(&mut self, number: u64, part: &Part) -> Result<(), &'static str> {
        let is_new = self.0.iter().all(|(open, _)| *open != number);
        if is_new && self.0.len() >= STATES_OPEN_MAX {
            return Err("too many states are open");
        }
        if is_new {
            self.0.push((number, Vec::new()));
        }
        let Some((_, whole)) = self.0.iter_mut().find(|(open, _)| *open == number) else { return Ok(()) };
        if part.offset != whole.len() as u64 {
            return Err("a part of a state is missing");
        }
        if whole.len() + part.bytes.len() > STATE_BYTES_MAX {
            return Err("a state is too long");
        }
        whole.extend_from_slice(&part.bytes);
        Ok(())
    }

    /// The whole state, whose end came with the message of this number.
    ///
    /// # Errors
    /// For people: what is wrong with it.
    pub fn end(&mut self, number: u64, rest: Vec<u8>) -> Result<Vec<u8>, &'static str> {
        let Some(at) = self.0.iter().position(|(open, _)| *open == number) else { return Ok(rest) };
        let (_, mut whole) = self.0.swap_remove(at);
        if whole.len() + rest.len() > STATE_BYTES_MAX {
            return Err("a state is too long");
        }
        whole.extend_from_slice(&rest);
        Ok(whole)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_put_together_as_it_was_cut_and_no_longer_one_is() {
        let state: Vec<u8> = (0..STATE_BYTES_MAX).map(|at| at as u8).collect();
        let (parts, rest) = cut(state.clone());
        assert_eq!(parts.len(), STATE_BYTES_MAX / STATE_PART.most - 1);
        let mut open = Parts::default();
        parts.iter().for_each(|part| open.add(7, part).expect("it fits"));
        let more = Part { offset: (STATE_BYTES_MAX - STATE_PART.most) as u64, bytes: vec![0; STATE_PART.most] };
        assert_eq!(open.end(7, rest).as_ref(), Ok(&state));
        parts.iter().for_each(|part| open.add(8, part).expect("it fits"));
        open.add(8, &more).expect("it fits just so");
        assert_eq!(open.end(8, vec![0]), Err("a state is too long"));
        assert_eq!(open.add(9, &more), Err("a part of a state is missing"));
    }

    #[test]
    fn so_many_states_are_open_on_a_connection() {
        let mut open = Parts::default();
        let part = Part { offset: 0, bytes: vec![1] };
        (0..STATES_OPEN_MAX as u64).for_each(|number| open.add(number, &part).expect("one more"));
        assert_eq!(open.add(99, &part), Err("too many states are open"));
    }
}
