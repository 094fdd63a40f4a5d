//! Any message between tabs.

use iolite_values::SchemaHash;
use iolite_wire::tabs::{
    FromTab, JoinNumber, TabConnection, TabJoin, TabMutation, TabNotice, TabRequest, TabSubscription, TabUpdate, ToTab,
    UpdateNumber,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::records::{stored_end, stored_mutation};
use super::session::{counter, declined, first, goodbye, row_snapshot, snapshot, subscription};
use super::values::{id, interest, timestamp, writes};

pub fn from_tab() -> BoxedStrategy<FromTab> {
    let interests = || {
        let each = (subscription(), interest(), option::of(first()));
        vec(each.prop_map(|(id, interest, first)| TabSubscription { id, interest, first }), 0..4)
    };
    let join = (any::<u32>(), any::<[u8; 16]>(), interests());
    let join = join.prop_map(|(version, schema, subscriptions)| {
        TabRequest::Join(TabJoin { version, schema: SchemaHash(schema), subscriptions })
    });
    let request = prop_oneof![
        join,
        interests().prop_map(TabRequest::Subscribe),
        vec(subscription(), 0..4).prop_map(TabRequest::Unsubscribe),
        stored_mutation().prop_map(TabRequest::Announce),
        vec(id(), 0..4).prop_map(TabRequest::Ask),
        counter().prop_map(TabRequest::Cancel),
        counter().prop_map(TabRequest::Dismiss),
        any::<u64>().prop_map(|number| TabRequest::Acknowledge(UpdateNumber(number))),
        ".{0,8}".prop_map(TabRequest::SetToken),
        Just(TabRequest::GoOnline),
        Just(TabRequest::GoOffline),
        Just(TabRequest::Leave),
    ];
    (any::<u64>(), request).prop_map(|(join, request)| FromTab { join: JoinNumber(join), request }).boxed()
}

fn mutation() -> impl Strategy<Value = TabMutation> {
    let call = option::of((".{0,8}", ".{0,8}"));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<u32>());
    let parts = (counter(), call, any::<u64>(), option::of(id()), flags, option::of(".{0,8}"), writes());
    parts.prop_map(|(counter, call, called_at_micros, ticket, flags, would_reject, writes)| {
        let (durable, sent, waits_for_data, in_conflict, centres) = flags;
        let (name, arguments) = call.map_or((None, String::new()), |(name, arguments)| (Some(name), arguments));
        TabMutation {
            counter,
            name,
            arguments,
            called_at_micros,
            ticket,
            durable,
            sent,
            waits_for_data,
            in_conflict,
            centres,
            would_reject,
            writes,
        }
    })
}

fn connection() -> impl Strategy<Value = TabConnection> {
    prop_oneof![
        Just(TabConnection::Offline),
        Just(TabConnection::Connecting),
        Just(TabConnection::Online),
        goodbye().prop_map(TabConnection::Refused),
    ]
}

fn update() -> impl Strategy<Value = TabUpdate> {
    let head = (any::<u64>(), any::<bool>(), timestamp(), connection(), any::<bool>());
    let rows = (vec(row_snapshot(), 0..3), vec(snapshot(), 0..3), vec(subscription(), 0..3), vec(declined(), 0..3));
    let queue = (vec(mutation(), 0..3), vec(stored_end(), 0..3), vec(stored_mutation(), 0..3));
    let counters = (vec(counter(), 0..3), vec(counter(), 0..3));
    (head, rows, queue, counters).prop_map(|(head, rows, (pending, ended, refused), (dismissed, withdrawn))| {
        let (rows, snapshots, unavailable, declined) = rows;
        let (number, more, at, connection, has_room) = head;
        TabUpdate {
            number: UpdateNumber(number),
            more,
            at,
            connection,
            rows,
            snapshots,
            unavailable,
            pending,
            ended,
            refused,
            dismissed,
            declined,
            withdrawn,
            has_room,
        }
    })
}

pub fn to_tab() -> BoxedStrategy<ToTab> {
    let notice = prop_oneof![
        1 => (id(), any::<[u8; 16]>()).prop_map(|(id, secret)| TabNotice::Welcome(iolite_values::ClientId(id), iolite_values::DeviceSecret(secret))),
        6 => update().prop_map(|update| TabNotice::Update(Box::new(update))),
        1 => Just(TabNotice::Ping),
        1 => goodbye().prop_map(TabNotice::Goodbye),
    ];
    (any::<u64>(), notice).prop_map(|(join, notice)| ToTab { join: JoinNumber(join), notice }).boxed()
}
