//! Frames of a client.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_values::{ClientId, Counter, Interest, SchemaHash, StoreIncarnation};

use crate::DecodeError;
use crate::centres::{read_token, write_token};
use crate::encoding::{Reader, Writer, bytes_of, id_of, identity, required};
use crate::generated::proto::{self, from_client_frame::Message, from_member::Log};
use crate::limits::{SCHEMA, SUBSCRIPTIONS, TOKEN};
use crate::message::{FromClient, Hello, ProtocolVersion, Resume, Subscribe, SubscriptionId};

use super::{logs, read_submit, write_submit};

pub(super) fn write(message: &FromClient, writer: &mut Writer) -> proto::FromClientFrame {
    let message = match message {
        FromClient::Hello(hello) => Message::Hello(write_hello(hello, writer)),
        FromClient::Schema(schema) => Message::Schema(writer.text(schema, SCHEMA)),
        FromClient::Subscribe(subscribe) => Message::Subscribe(write_subscribe(subscribe, writer)),
        FromClient::Unsubscribe(ids) => {
            writer.count(ids.len(), SUBSCRIPTIONS);
            Message::Unsubscribe(proto::Unsubscribe { ids: ids.iter().map(|id| id.0).collect() })
        }
        FromClient::Submit(submit) => Message::Submit(write_submit(submit, writer)),
        FromClient::Acknowledge(counter) => Message::Acknowledge(counter.0),
        FromClient::Ping(number) => Message::Ping(*number),
        FromClient::Applied(at) => {
            let at = writer.timestamp(*at);
            Message::Member(proto::FromMember { applied_near: at.near, applied: at.full, log: None })
        }
        FromClient::LogHash(hash) => of_log(Log::Hash(logs::write_hash(hash, writer))),
        FromClient::LogPart(part) => of_log(Log::Part(logs::write_part(part, writer))),
        FromClient::Token(token) => Message::Token(writer.text(token, TOKEN)),
    };
    proto::FromClientFrame { message: Some(message) }
}

pub(super) fn read(frame: proto::FromClientFrame, reader: &mut Reader) -> Result<FromClient, DecodeError> {
    Ok(match required(frame.message, "no message that is known here")? {
        Message::Hello(hello) => FromClient::Hello(read_hello(hello, reader)?),
        Message::Schema(schema) => FromClient::Schema(reader.text(schema, SCHEMA)?),
        Message::Subscribe(subscribe) => FromClient::Subscribe(read_subscribe(subscribe, reader)?),
        Message::Unsubscribe(unsubscribe) => {
            reader.count(unsubscribe.ids.len(), SUBSCRIPTIONS)?;
            FromClient::Unsubscribe(unsubscribe.ids.into_iter().map(SubscriptionId).collect())
        }
        Message::Submit(submit) => FromClient::Submit(read_submit(submit, reader)?),
        Message::Acknowledge(counter) => FromClient::Acknowledge(Counter(counter)),
        Message::Ping(number) => FromClient::Ping(number),
        Message::Token(token) => FromClient::Token(reader.text(token, TOKEN)?),
        Message::Member(member) => match member.log {
            None => FromClient::Applied(reader.timestamp(member.applied_near, member.applied)?),
            Some(Log::Hash(hash)) => FromClient::LogHash(logs::read_hash(hash, reader)?),
            Some(Log::Part(part)) => FromClient::LogPart(logs::read_part(part, reader)?),
        },
    })
}

fn of_log(log: Log) -> Message {
    Message::Member(proto::FromMember { log: Some(log), ..proto::FromMember::default() })
}

fn write_hello(hello: &Hello, writer: &mut Writer) -> proto::Hello {
    let resume = hello.resume.map(|resume| {
        let at = writer.timestamp(resume.at);
        let (store, rights) = (resume.store.0.to_bytes().to_vec(), bytes_of(resume.rights));
        proto::Resume { store, at_near: at.near, at: at.full, rights }
    });
    proto::Hello {
        oldest_version: hello.oldest_version.0,
        newest_version: hello.newest_version.0,
        token: writer.text(&hello.token, TOKEN),
        client: hello.client.0.to_bytes().to_vec(),
        schema: hello.schema.0.to_vec(),
        resume,
        acknowledged: hello.acknowledged.0,
        centre_token: hello.centre_token.as_ref().map(|token| write_token(token, writer)),
        batch_ms: u32::try_from(hello.batch.as_millis()).unwrap_or(u32::MAX),
    }
}

fn read_hello(hello: proto::Hello, reader: &mut Reader) -> Result<Hello, DecodeError> {
    let resume = match hello.resume {
        None => None,
        Some(resume) => {
            let store = StoreIncarnation(identity(&resume.store)?);
            let (at, rights) = (reader.timestamp(resume.at_near, resume.at)?, id_of(&resume.rights)?);
            Some(Resume { store, at, rights })
        }
    };
    Ok(Hello {
        oldest_version: ProtocolVersion(hello.oldest_version),
        newest_version: ProtocolVersion(hello.newest_version),
        token: reader.text(hello.token, TOKEN)?,
        client: ClientId(identity(&hello.client)?),
        schema: SchemaHash(identity(&hello.schema)?.to_bytes()),
        resume,
        acknowledged: Counter(hello.acknowledged),
        centre_token: read_token(hello.centre_token, reader)?,
        batch: Duration::from_millis(hello.batch_ms.into()),
    })
}

fn write_subscribe(subscribe: &Subscribe, writer: &mut Writer) -> proto::Subscribe {
    writer.count(subscribe.interests.len(), SUBSCRIPTIONS);
    let one = |(id, interest): &(SubscriptionId, Interest)| {
        writer.subscription(*id, interest, subscribe.first.get(id).copied())
    };
    proto::Subscribe { held: subscribe.held, subscriptions: subscribe.interests.iter().map(one).collect() }
}

fn read_subscribe(subscribe: proto::Subscribe, reader: &mut Reader) -> Result<Subscribe, DecodeError> {
    reader.count(subscribe.subscriptions.len(), SUBSCRIPTIONS)?;
    let mut read = Subscribe { held: subscribe.held, interests: Vec::new(), first: BTreeMap::new() };
    for each in subscribe.subscriptions {
        let (id, interest, first) = reader.subscription(each)?;
        read.interests.push((id, interest));
        read.first.extend(first.map(|first| (id, first)));
    }
    Ok(read)
}
