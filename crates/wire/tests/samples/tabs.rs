//! Every message between tabs.

use std::sync::Arc;
use std::time::Duration;

use iolite_values::{Counter, DeviceSecret, Direction, Id, Interest, KeyRange, Operation, Query, Row};
use iolite_wire::client_storage::{EndedAs, MutationStatus, StoredEnd};
use iolite_wire::message::{First, Goodbye, GoodbyeReason, RowSnapshot, Snapshot, SubscriptionId};
use iolite_wire::tabs::{
    FromTab, JoinNumber, TabConnection, TabJoin, TabMutation, TabNotice, TabRequest, TabSubscription, TabUpdate, ToTab,
    UpdateNumber,
};

use super::records::mutation;
use super::session::{client, schema};
use super::values::{cell, every_operation, every_state, key, table, time, write};
use crate::decoders::Content;

const TICKET: Id = Id::from_u128(0x7a);

fn from_tab(request: TabRequest) -> FromTab {
    FromTab { join: JoinNumber(3), request }
}

fn to_tab(notice: TabNotice) -> ToTab {
    ToTab { join: JoinNumber(3), notice }
}

fn interests() -> Vec<TabSubscription> {
    let all = Interest::Range { table: table(), range: KeyRange::all() };
    let interests = [Interest::Cell(cell("chair")), all];
    let subscriptions = (1..).map(SubscriptionId).zip(interests);
    subscriptions.map(|(id, interest)| TabSubscription { id, interest, first: None }).collect()
}

/// The first rows of a query, and its last ones.
fn ends_of_a_query() -> Vec<TabSubscription> {
    let interest = Interest::Query(Arc::new(Query::all(table(), false)));
    let subscriptions = [(3, Direction::Ascending), (4, Direction::Descending)].map(|(id, direction)| {
        let first = Some(First { rows: 20, direction });
        TabSubscription { id: SubscriptionId(id), interest: interest.clone(), first }
    });
    subscriptions.into()
}

fn every_request() -> Vec<FromTab> {
    let requests = [
        TabRequest::Subscribe(interests()),
        TabRequest::Unsubscribe(vec![SubscriptionId(1), SubscriptionId(300)]),
        TabRequest::Announce(mutation(MutationStatus::Waiting, Some(TICKET))),
        TabRequest::Cancel(Counter(42)),
        TabRequest::Dismiss(Counter(41)),
        TabRequest::Acknowledge(UpdateNumber(7)),
        TabRequest::GoOnline,
        TabRequest::GoOffline,
        TabRequest::SetToken("secret".into()),
        TabRequest::Leave,
        TabRequest::Subscribe(ends_of_a_query()),
    ];
    requests.map(from_tab).into()
}

fn goodbye() -> Goodbye {
    let (message, retry_after) = ("reload this tab".into(), Some(Duration::from_millis(1500)));
    Goodbye { reason: GoodbyeReason::Schema, message, retry_after }
}

fn empty(number: u64, connection: TabConnection) -> TabUpdate {
    TabUpdate::empty(UpdateNumber(number), time(7), connection)
}

fn full() -> TabUpdate {
    let row = |row| RowSnapshot { table: table(), key: key("chair"), row };
    TabUpdate {
        more: true,
        rows: vec![row(every_state()), row(Row::default())],
        snapshots: vec![Snapshot { subscription: SubscriptionId(2), rows: vec![row(every_state())], reaches: None }],
        unavailable: vec![SubscriptionId(9)],
        pending: mutations(),
        ended: ends(),
        refused: vec![mutation(MutationStatus::Rejected("the budget is spent".into()), Some(TICKET))],
        dismissed: vec![Counter(40)],
        declined: super::session::declined().declined,
        withdrawn: vec![Counter(41)],
        ..empty(8, TabConnection::Online)
    }
}

fn mutations() -> Vec<TabMutation> {
    let named = TabMutation {
        counter: Counter(42),
        name: Some("moveChair".into()),
        arguments: "{\"x\":1}".into(),
        called_at_micros: 1_740_000_000_000_000,
        ticket: Some(TICKET),
        durable: true,
        sent: true,
        waits_for_data: false,
        in_conflict: false,
        centres: 1,
        would_reject: None,
        writes: every_operation().into_iter().map(write).collect(),
    };
    let waits = TabMutation { waits_for_data: true, sent: false, ticket: None, writes: Vec::new(), ..named.clone() };
    let closure = TabMutation {
        name: None,
        arguments: String::new(),
        would_reject: Some("no".into()),
        writes: vec![write(Operation::Add(1))],
        durable: false,
        ..waits.clone()
    };
    vec![named, waits, closure]
}

fn ends() -> Vec<StoredEnd> {
    let hows = [
        EndedAs::Confirmed(time(5)),
        EndedAs::Rejected("the budget is spent".into()),
        EndedAs::Quarantined("no such column".into()),
        EndedAs::Cancelled("taken back".into()),
        EndedAs::Overruled,
    ];
    let end = |how| StoredEnd { counter: Some(Counter(42)), ticket: Some(TICKET), how };
    let earlier = StoredEnd { counter: None, ticket: Some(TICKET), how: EndedAs::ConfirmedEarlier };
    let own = StoredEnd { counter: Some(Counter(43)), ticket: None, how: EndedAs::Confirmed(time(6)) };
    hows.map(end).into_iter().chain([earlier, own]).collect()
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let join = TabJoin { version: 1, schema: schema(), subscriptions: interests() };
    let update = |update| to_tab(TabNotice::Update(Box::new(update)));
    let reaches = Some(Box::new(KeyRange::one(&key("chair"))));
    let part = Snapshot { subscription: SubscriptionId(3), rows: Vec::new(), reaches };
    let part = TabUpdate { snapshots: vec![part], ..empty(9, TabConnection::Online) };
    let room = TabUpdate { has_room: true, ..empty(10, TabConnection::Online) };
    let connections = [TabConnection::Offline, TabConnection::Connecting, TabConnection::Refused(goodbye())];
    let connections = connections.into_iter().map(|connection| update(empty(1, connection)));
    let pending = TabUpdate { pending: mutations(), ..empty(2, TabConnection::Online) };
    let small = [TabNotice::Welcome(client(), DeviceSecret([5; 16])), TabNotice::Ping, TabNotice::Goodbye(goodbye())];
    vec![
        ("stored_end", "every kind of end", Content::End(ends())),
        ("from_tab_frame", "every request but joining and asking", Content::FromTab(every_request())),
        ("tab_join", "a join with two interests", Content::FromTab(vec![from_tab(TabRequest::Join(join))])),
        ("tab_tickets", "a question about two calls", {
            Content::FromTab(vec![from_tab(TabRequest::Ask(vec![TICKET, Id::from_u128(1)]))])
        }),
        ("to_tab_frame", "a welcome, a ping, a goodbye", Content::ToTab(small.map(to_tab).into())),
        ("tab_update", "the first part of an update with everything, a query's first rows, room", {
            Content::ToTab(vec![update(full()), update(part), update(room)])
        }),
        ("tab_connection", "every connection but a working one", Content::ToTab(connections.collect())),
        ("tab_mutation", "one sent, one that waits, a closure", Content::ToTab(vec![update(pending)])),
    ]
}
