//! Bytes to protobuf and back, within limits.
//!
//! Invariant: before anything is allocated for a message, its bytes were walked once: every length holds, the parts are counted.
//! Depth needs no count: no message of proto/ contains itself, which build.rs's table of shapes makes plain.

use prost::Message;

use crate::generated::{Shape, shapes::SHAPES};
use crate::limits::FrameLimits;
use crate::{DecodeError, EncodeError};

pub(crate) fn decode<P: Message + Default>(bytes: &[u8], shape: Shape, limits: FrameLimits) -> Result<P, DecodeError> {
    if bytes.len() > limits.bytes.most {
        return Err(DecodeError::TooLarge { limit: limits.bytes });
    }
    let mut parts = 0;
    scan(bytes, shape, limits, &mut parts)?;
    P::decode(bytes).map_err(|_| DecodeError::malformed("its fields are not what protobuf allows"))
}

pub(crate) fn encode<P: Message>(message: &P, shape: Shape, limits: FrameLimits) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    encode_into(message, shape, limits, &mut bytes)?;
    Ok(bytes)
}

/// Appends the message to bytes that wait to be sent; after an error they are as before.
pub(crate) fn encode_into<P: Message>(
    message: &P,
    shape: Shape,
    limits: FrameLimits,
    bytes: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let (before, length) = (bytes.len(), message.encoded_len());
    if length > limits.bytes.most {
        return Err(EncodeError::TooLarge { limit: limits.bytes });
    }
    bytes.reserve(length);
    message.encode_raw(bytes);
    if length / PART_BYTES_MIN <= limits.parts.most {
        return Ok(());
    }
    match scan(&bytes[before..], shape, limits, &mut 0) {
        Ok(()) => Ok(()),
        Err(DecodeError::TooLarge { limit }) => {
            bytes.truncate(before);
            Err(EncodeError::TooLarge { limit })
        }
        Err(error) => unreachable!("prost writes what it can read: {error}"),
    }
}

/// A message inside another one has a key and a length there: so few bytes as most messages have cannot hold too many, and are not counted.
const PART_BYTES_MIN: usize = 2;

/// The wire types of protobuf that are in use.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const LENGTH: u64 = 2;
const FOUR_BYTES: u64 = 5;

fn scan(mut rest: &[u8], shape: Shape, limits: FrameLimits, parts: &mut usize) -> Result<(), DecodeError> {
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        match key & 7 {
            VARINT => drop(varint(&mut rest)?),
            EIGHT_BYTES => drop(take(&mut rest, 8)?),
            FOUR_BYTES => drop(take(&mut rest, 4)?),
            LENGTH => {
                let length = varint(&mut rest)?;
                let inside = take(&mut rest, length)?;
                let field = SHAPES[shape.0].iter().find(|(number, _)| u64::from(*number) == key >> 3);
                if let Some((_, inner)) = field {
                    *parts += 1;
                    if *parts > limits.parts.most {
                        return Err(DecodeError::TooLarge { limit: limits.parts });
                    }
                    scan(inside, *inner, limits, parts)?;
                }
            }
            _ => return Err(DecodeError::malformed("a field has a wire type that is not in use")),
        }
    }
    Ok(())
}

/// Nearly all have one byte.
fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    match rest.split_first() {
        Some((&byte, left)) if byte < 0x80 => {
            *rest = left;
            Ok(byte.into())
        }
        Some(_) | None => long_varint(rest),
    }
}

fn long_varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0;
    for at in 0..10 {
        let byte = take(rest, 1)?[0];
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return if at == 9 && byte > 1 {
                Err(DecodeError::malformed("a number has more than 64 bits"))
            } else {
                Ok(value)
            };
        }
    }
    Err(DecodeError::malformed("a number has more than 64 bits"))
}

fn take<'a>(rest: &mut &'a [u8], count: u64) -> Result<&'a [u8], DecodeError> {
    let count = usize::try_from(count).map_err(|_| DecodeError::Truncated)?;
    let (taken, left) = rest.split_at_checked(count).ok_or(DecodeError::Truncated)?;
    *rest = left;
    Ok(taken)
}
