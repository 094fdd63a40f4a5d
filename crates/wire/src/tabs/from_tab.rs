//! Messages of a tab that follows.

use iolite_values::{Counter, Id, Interest, SchemaHash};

use super::{JoinNumber, UpdateNumber};
use crate::client_storage::StoredMutation;
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, from_tab_frame::Request};
use crate::generated::shapes;
use crate::limits::{FROM_TAB, SUBSCRIPTIONS, TOKEN};
use crate::message::{First, SubscriptionId};
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
    Subscribe(Vec<TabSubscription>),
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
    pub subscriptions: Vec<TabSubscription>,
}

/// Something that a tab asks for: all of an interest, or of a query so many rows at least. The answer says how far it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabSubscription {
    pub id: SubscriptionId,
    pub interest: Interest,
    pub first: Option<First>,
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
            subscriptions: write_all(&join.subscriptions, writer),
        }),
        TabRequest::Subscribe(wanted) => {
            Request::Subscribe(proto::Subscribe { held: false, subscriptions: write_all(wanted, writer) })
        }
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
            subscriptions: read_all(join.subscriptions, reader)?,
        }),
        Request::Subscribe(proto::Subscribe { held: false, subscriptions: wanted }) => {
            TabRequest::Subscribe(read_all(wanted, reader)?)
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

fn write_all(subscriptions: &[TabSubscription], writer: &mut Writer) -> Vec<proto::Subscription> {
    writer.count(subscriptions.len(), SUBSCRIPTIONS);
    subscriptions.iter().map(|own| writer.subscription(own.id, &own.interest, own.first)).collect()
}

fn read_all(subscriptions: Vec<proto::Subscription>, reader: &mut Reader) -> Result<Vec<TabSubscription>, DecodeError> {
    reader.count(subscriptions.len(), SUBSCRIPTIONS)?;
    let read = subscriptions.into_iter().map(|subscription| {
        let (id, interest, first) = reader.subscription(subscription)?;
        Ok(TabSubscription { id, interest, first })
    });
    read.collect()
}
