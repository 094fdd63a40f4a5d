//! Frames of a gateway.

use std::time::Duration;

use iolite_values::{ClientId, Counter, StoreIncarnation};

use crate::DecodeError;
use crate::centres::read_name;
use crate::encoding::{Reader, Writer, bytes_of, id_of, identity, required};
use crate::generated::proto::{self, from_gateway_frame::Message, to_member::Message as ToMember};
use crate::limits::REASON;
use crate::message::{FromGateway, Goodbye, GoodbyeReason, ProtocolVersion, Welcome};

use super::{advance, logs};

pub(super) fn write(message: &FromGateway, writer: &mut Writer) -> proto::FromGatewayFrame {
    let message = match message {
        FromGateway::Welcome(welcome) => Message::Welcome(proto::Welcome {
            version: welcome.version.0,
            store: welcome.store.0.to_bytes().to_vec(),
            resumed: welcome.resumed,
            clock_micros: welcome.clock_micros,
            centre: welcome.centre.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default(),
            moved: welcome.moved,
            client: welcome.client.0.to_bytes().to_vec(),
            subject: bytes_of(welcome.subject),
            token_left_ms: welcome.token_left.map(millis),
        }),
        FromGateway::SchemaWanted => Message::SchemaWanted(proto::SchemaWanted {}),
        FromGateway::Advance(advance) => Message::Advance(advance::write(advance, writer)),
        FromGateway::Pong(number) => Message::Pong(*number),
        FromGateway::Goodbye(goodbye) => Message::Goodbye(write_goodbye(goodbye, writer)),
        FromGateway::LogWanted(part) => to_member(ToMember::Wanted(logs::write_part(part, writer))),
        FromGateway::LogDiffers(hash) => to_member(ToMember::Differs(logs::write_hash(hash, writer))),
        FromGateway::Stored(counter) => Message::Stored(counter.0),
        FromGateway::Renewed(left) => Message::RenewedMs(millis(*left)),
    };
    proto::FromGatewayFrame { message: Some(message) }
}

pub(super) fn read(frame: proto::FromGatewayFrame, reader: &mut Reader) -> Result<FromGateway, DecodeError> {
    Ok(match required(frame.message, "no message that is known here")? {
        Message::Welcome(welcome) => FromGateway::Welcome(Welcome {
            version: ProtocolVersion(welcome.version),
            store: StoreIncarnation(identity(&welcome.store)?),
            resumed: welcome.resumed,
            clock_micros: welcome.clock_micros,
            centre: read_name(&welcome.centre)?,
            moved: welcome.moved,
            client: ClientId(identity(&welcome.client)?),
            subject: id_of(&welcome.subject)?,
            token_left: welcome.token_left_ms.map(Duration::from_millis),
        }),
        Message::SchemaWanted(proto::SchemaWanted {}) => FromGateway::SchemaWanted,
        Message::Advance(advance) => FromGateway::Advance(advance::read(advance, reader)?),
        Message::Pong(number) => FromGateway::Pong(number),
        Message::Stored(counter) => FromGateway::Stored(Counter(counter)),
        Message::RenewedMs(left) => FromGateway::Renewed(Duration::from_millis(left)),
        Message::Goodbye(goodbye) => FromGateway::Goodbye(read_goodbye(goodbye, reader)?),
        Message::Member(member) => match required(member.message, "nothing is said to a member")? {
            ToMember::Wanted(part) => FromGateway::LogWanted(logs::read_part(part, reader)?),
            ToMember::Differs(hash) => FromGateway::LogDiffers(logs::read_hash(hash, reader)?),
        },
    })
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn to_member(message: ToMember) -> Message {
    Message::Member(proto::ToMember { message: Some(message) })
}

pub(crate) fn write_goodbye(goodbye: &Goodbye, writer: &mut Writer) -> proto::Goodbye {
    use proto::GoodbyeReason as Field;
    let reason = match goodbye.reason {
        GoodbyeReason::Version => Field::Version,
        GoodbyeReason::Unauthorized => Field::Unauthorized,
        GoodbyeReason::Schema => Field::Schema,
        GoodbyeReason::Protocol => Field::Protocol,
        GoodbyeReason::Limit => Field::Limit,
        GoodbyeReason::Slow => Field::Slow,
        GoodbyeReason::Replaced => Field::Replaced,
        GoodbyeReason::Unavailable => Field::Unavailable,
        GoodbyeReason::OtherUser => Field::OtherUser,
    };
    proto::Goodbye {
        reason: reason.into(),
        message: writer.text(&goodbye.message, REASON),
        retry_after_s: goodbye.retry_after.map(|after| after.as_secs()),
        retry_after_ns: goodbye.retry_after.map_or(0, |after| after.subsec_nanos()),
    }
}

pub(crate) fn read_goodbye(goodbye: proto::Goodbye, reader: &Reader) -> Result<Goodbye, DecodeError> {
    use proto::GoodbyeReason as Field;
    let unknown = DecodeError::malformed("a goodbye of no known reason");
    let reason = match Field::try_from(goodbye.reason).map_err(|_| unknown)? {
        Field::Unspecified => return Err(unknown),
        Field::Version => GoodbyeReason::Version,
        Field::Unauthorized => GoodbyeReason::Unauthorized,
        Field::Schema => GoodbyeReason::Schema,
        Field::Protocol => GoodbyeReason::Protocol,
        Field::Limit => GoodbyeReason::Limit,
        Field::Slow => GoodbyeReason::Slow,
        Field::Replaced => GoodbyeReason::Replaced,
        Field::Unavailable => GoodbyeReason::Unavailable,
        Field::OtherUser => GoodbyeReason::OtherUser,
    };
    let retry_after = match (goodbye.retry_after_s, goodbye.retry_after_ns) {
        (None, 0) => None,
        (Some(seconds), nanoseconds @ 0..1_000_000_000) => Some(Duration::new(seconds, nanoseconds)),
        (_, _) => return Err(DecodeError::malformed("a duration is out of its range")),
    };
    Ok(Goodbye { reason, message: reader.text(goodbye.message, REASON)?, retry_after })
}
