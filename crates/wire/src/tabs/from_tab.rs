//! Messages of a tab that follows.

use std::collections::BTreeMap;

use iolite_values::{Counter, Id, Interest, SchemaHash};

use super::{JoinNumber, UpdateNumber};
use crate::client_storage::StoredMutation;
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, from_tab_frame::Request};
use crate::generated::shapes;
use crate::limits::{FROM_TAB, SUBSCRIPTIONS, TOKEN};
use crate::message::{Subscribe, SubscriptionId};
use crate::session::{read_subscribe, write_subscribe};
use crate::{DecodeError, EncodeError, frame};

/// A message of a tab that follows to the one that leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromTab {
    pub join: JoinNumber,
    pub request: TabRequest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TabRequest {
    Join(TabJoin),
    Subscribe(Vec<(SubscriptionId, Interest)>),
    Unsubscribe(Vec<SubscriptionId>),
    /// A call that is in the outbox, and was not there before this join.
    Announce(StoredMutation),
    /// Tickets of calls that may have ended.
    Ask(Vec<Id>),
    Cancel(Counter),
    Dismiss(Counter),
    /// The last update that was applied. Also the answer to a ping.
    Acknowledge(UpdateNumber),
    GoOnline,
    GoOffline,
    SetToken(String),
    /// The tab closes.
    Leave,
}

/// A tab asks to be kept up to date. It begins from nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabJoin {
    pub version: u32,
    pub schema: SchemaHash,
    pub subscriptions: Vec<(SubscriptionId, Interest)>,
}

impl FromTab {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let request = Some(write(&self.request, &mut writer));
        writer.check()?;
        frame::encode(&proto::FromTabFrame { join: self.join.0, request }, shapes::FROM_TAB_FRAME, FROM_TAB)
    }

    /// # Errors
    /// [`DecodeError`]: the tab is of another version of the app, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<FromTab, DecodeError> {
        let frame: proto::FromTabFrame = frame::decode(bytes, shapes::FROM_TAB_FRAME, FROM_TAB)?;
        let request = read(required(frame.request, "no request that is known here")?, &mut Reader::default())?;
        Ok(FromTab { join: JoinNumber(frame.join), request })
    }
}

fn write(request: &TabRequest, writer: &mut Writer) -> Request {
    match request {
        TabRequest::Join(join) => Request::Begin(proto::TabJoin {
            version: join.version,
            schema: join.schema.0.to_vec(),
            subscriptions: subscribe(&join.subscriptions, writer).subscriptions,
        }),
        TabRequest::Subscribe(subscriptions) => Request::Subscribe(subscribe(subscriptions, writer)),
        TabRequest::Unsubscribe(ids) => {
            writer.count(ids.len(), SUBSCRIPTIONS);
            Request::Unsubscribe(proto::Unsubscribe { ids: ids.iter().map(|id| id.0).collect() })
        }
        TabRequest::Announce(call) => Request::Announce(call.write(writer)),
        TabRequest::Ask(tickets) => {
            writer.count(tickets.len(), SUBSCRIPTIONS);
            Request::Ask(proto::TabTickets { tickets: tickets.iter().map(|id| id.to_bytes().to_vec()).collect() })
        }
        TabRequest::Cancel(counter) => Request::Cancel(counter.0),
        TabRequest::Dismiss(counter) => Request::Dismiss(counter.0),
        TabRequest::Acknowledge(number) => Request::Acknowledge(number.0),
        TabRequest::GoOnline => Request::GoOnline(true),
        TabRequest::GoOffline => Request::GoOffline(true),
        TabRequest::SetToken(token) => Request::SetToken(writer.text(token, TOKEN)),
        TabRequest::Leave => Request::Leave(true),
    }
}

fn read(request: Request, reader: &mut Reader) -> Result<TabRequest, DecodeError> {
    Ok(match request {
        Request::Begin(join) => TabRequest::Join(TabJoin {
            version: join.version,
            schema: SchemaHash(identity(&join.schema)?.to_bytes()),
            subscriptions: subscriptions(join.subscriptions, reader)?,
        }),
        Request::Subscribe(proto::Subscribe { held: false, subscriptions: wanted }) => {
            TabRequest::Subscribe(subscriptions(wanted, reader)?)
        }
        Request::Unsubscribe(unsubscribe) => {
            reader.count(unsubscribe.ids.len(), SUBSCRIPTIONS)?;
            TabRequest::Unsubscribe(unsubscribe.ids.into_iter().map(SubscriptionId).collect())
        }
        Request::Announce(call) => TabRequest::Announce(StoredMutation::read(call, reader)?),
        Request::Ask(tickets) => {
            reader.count(tickets.tickets.len(), SUBSCRIPTIONS)?;
            TabRequest::Ask(tickets.tickets.iter().map(|ticket| identity(ticket)).collect::<Result<_, _>>()?)
        }
        Request::Cancel(counter) => TabRequest::Cancel(Counter(counter)),
        Request::Dismiss(counter) => TabRequest::Dismiss(Counter(counter)),
        Request::Acknowledge(number) => TabRequest::Acknowledge(UpdateNumber(number)),
        Request::GoOnline(true) => TabRequest::GoOnline,
        Request::GoOffline(true) => TabRequest::GoOffline,
        Request::SetToken(token) => TabRequest::SetToken(reader.text(token, TOKEN)?),
        Request::Leave(true) => TabRequest::Leave,
        Request::Subscribe(_) | Request::GoOnline(false) | Request::GoOffline(false) | Request::Leave(false) => {
            return Err(DecodeError::malformed("a request that is none"));
        }
    })
}

fn subscribe(interests: &[(SubscriptionId, Interest)], writer: &mut Writer) -> proto::Subscribe {
    let subscribe = Subscribe { held: false, interests: interests.to_vec(), first: BTreeMap::new() };
    write_subscribe(&subscribe, writer)
}

fn subscriptions(
    subscriptions: Vec<proto::Subscription>,
    reader: &mut Reader,
) -> Result<Vec<(SubscriptionId, Interest)>, DecodeError> {
    let subscribe = read_subscribe(proto::Subscribe { held: false, subscriptions }, reader)?;
    match subscribe.first.is_empty() {
        true => Ok(subscribe.interests),
        false => Err(DecodeError::malformed("a tab asks for all of an interest")),
    }
}
