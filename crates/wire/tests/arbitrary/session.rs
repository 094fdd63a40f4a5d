//! Any message of a session.

use std::time::Duration;

use iolite_values::{Attempt, ClientId, Counter, Decision, Id, LaneNumber, LogId, SchemaHash, StoreIncarnation};
use iolite_wire::message::{
    Advance, Declination, Declined, First, FromClient, FromGateway, GoneRow, Goodbye, GoodbyeReason, Hello, LogHash,
    LogMembers, LogPart, Outcome, ProtocolVersion, Rejection, Resume, RowSnapshot, Snapshot, Submit, Subscribe,
    SubscriptionId, Verdict, Welcome,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::values::{direction, id, interest, key, range, read, row, table, timestamp, writes};

pub fn counter() -> impl Strategy<Value = Counter> {
    prop_oneof![0u64..300, any::<u64>()].prop_map(Counter)
}

pub fn attempt() -> impl Strategy<Value = Attempt> {
    prop_oneof![0u32..4, any::<u32>()].prop_map(Attempt)
}

fn version() -> impl Strategy<Value = ProtocolVersion> {
    any::<u32>().prop_map(ProtocolVersion)
}

pub fn subscription() -> impl Strategy<Value = SubscriptionId> {
    any::<u32>().prop_map(SubscriptionId)
}

fn hello() -> impl Strategy<Value = Hello> {
    let resume = (id(), timestamp(), option::of(id())).prop_map(|(store, at, rights)| Resume {
        store: StoreIncarnation(store),
        at,
        rights,
    });
    let parts = (version(), version(), ".{0,8}", id(), any::<[u8; 16]>(), option::of(resume), counter(), any::<u32>());
    let all = (parts, option::of(super::centres::token()));
    all.prop_map(
        |((oldest_version, newest_version, token, client, schema, resume, acknowledged, batch), centre_token)| Hello {
            oldest_version,
            newest_version,
            token,
            client: ClientId(client),
            schema: SchemaHash(schema),
            resume,
            acknowledged,
            centre_token,
            batch: Duration::from_millis(batch.into()),
        },
    )
}

pub fn submit() -> impl Strategy<Value = Submit> {
    let decision = prop_oneof![writes().prop_map(Decision::Commit), ".{0,8}".prop_map(Decision::Abort)];
    let parts = (counter(), attempt(), timestamp(), vec(read(), 0..4), decision);
    let order = (option::of(counter()), any::<u32>().prop_map(LaneNumber), option::of(counter()));
    (parts, order).prop_map(|((counter, attempt, snapshot, reads, decision), (acknowledged, lane, follows))| Submit {
        counter,
        attempt,
        snapshot,
        reads,
        decision,
        acknowledged,
        lane,
        follows,
    })
}

pub fn from_client() -> BoxedStrategy<FromClient> {
    // Each under a name of its own, and of some not all.
    let interests = btree_map(subscription(), (interest(), proptest::option::of(first())), 0..4);
    let subscribe = (any::<bool>(), interests).prop_map(|(held, all)| Subscribe {
        held,
        first: all.iter().filter_map(|(name, (_, first))| Some((*name, (*first)?))).collect(),
        interests: all.into_iter().map(|(name, (interest, _))| (name, interest)).collect(),
    });
    prop_oneof![
        1 => hello().prop_map(FromClient::Hello),
        1 => ".{0,8}".prop_map(FromClient::Schema),
        2 => subscribe.prop_map(FromClient::Subscribe),
        1 => vec(subscription(), 0..4).prop_map(FromClient::Unsubscribe),
        5 => submit().prop_map(FromClient::Submit),
        1 => counter().prop_map(FromClient::Acknowledge),
        1 => any::<u32>().prop_map(FromClient::Ping),
        1 => timestamp().prop_map(FromClient::Applied),
        1 => log_hash().prop_map(FromClient::LogHash),
        1 => log_part().prop_map(FromClient::LogPart),
        1 => ".{0,8}".prop_map(FromClient::Token),
    ]
    .boxed()
}

fn log() -> impl Strategy<Value = LogId> {
    (".{0,8}", key()).prop_map(|(name, instance)| LogId { name: name.into(), instance })
}

fn log_hash() -> impl Strategy<Value = LogHash> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
    let hash = (log(), numbers, any::<[u8; 32]>());
    hash.prop_map(|(log, (block, index, parts), hash)| LogHash { log, block, index, hash, parts })
}

fn log_part() -> impl Strategy<Value = LogPart> {
    let part = (log(), any::<u64>(), any::<u64>(), vec(any::<u8>(), 0..8));
    part.prop_map(|(log, block, part, state)| LogPart { log, block, part, state })
}

pub fn first() -> impl Strategy<Value = First> {
    (any::<u32>(), direction()).prop_map(|(rows, direction)| First { rows, direction })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let verdict = prop_oneof![
        timestamp().prop_map(Verdict::Committed),
        Just(Verdict::Aborted),
        timestamp().prop_map(Verdict::Conflict),
        ".{0,8}".prop_map(|reason| Verdict::Rejected(Rejection::Invalid(reason))),
        ".{0,8}".prop_map(|reason| Verdict::Rejected(Rejection::Denied(reason))),
        Just(Verdict::Rejected(Rejection::Forgotten)),
    ];
    (counter(), attempt(), verdict).prop_map(|(counter, attempt, verdict)| Outcome { counter, attempt, verdict })
}

pub fn row_snapshot() -> impl Strategy<Value = RowSnapshot> {
    (table(), key(), row()).prop_map(|(table, key, row)| RowSnapshot { table, key, row })
}

pub fn snapshot() -> impl Strategy<Value = Snapshot> {
    let rows = vec(row_snapshot(), 0..4);
    let all = (subscription(), rows, proptest::option::of(range().prop_map(Box::new)));
    all.prop_map(|(subscription, rows, reaches)| Snapshot { subscription, rows, reaches })
}

pub fn declined() -> impl Strategy<Value = Declined> {
    let why = prop_oneof![
        Just(Declination::Later),
        ".{0,8}".prop_map(Declination::TooLarge),
        ".{0,8}".prop_map(Declination::Denied)
    ];
    (subscription(), why).prop_map(|(subscription, why)| Declined { subscription, why })
}

fn log_members() -> impl Strategy<Value = LogMembers> {
    let origins = || btree_set(any::<u128>().prop_map(Id::from_u128), 0..4);
    (".{1,8}", key(), any::<bool>(), origins(), origins()).prop_map(|(name, instance, is_whole, joined, mut left)| {
        left.retain(|origin| !is_whole && !joined.contains(origin));
        LogMembers { log: LogId { name: name.into(), instance }, is_whole, joined, left }
    })
}

fn advance() -> impl Strategy<Value = Advance> {
    let parts =
        (timestamp(), any::<bool>(), writes(), vec(snapshot(), 0..3), vec(outcome(), 0..3), vec(declined(), 0..3));
    let gone = vec(row_snapshot().prop_map(|row| GoneRow { table: row.table, key: row.key }), 0..3);
    let rows = (vec(row_snapshot(), 0..3), gone, option::of(id()));
    (parts, rows, option::of(timestamp()), vec(log_members(), 0..2), super::centres::clock()).prop_map(
        |(parts, (entered, gone, rights), delivered, members, clock)| {
            let (to, more, changes, snapshots, outcomes, declined) = parts;
            Advance {
                to,
                more,
                changes,
                snapshots,
                outcomes,
                declined,
                entered,
                delivered,
                is_owed: more,
                members,
                clock,
                gone,
                rights,
            }
        },
    )
}

pub fn goodbye() -> impl Strategy<Value = Goodbye> {
    use GoodbyeReason::{Limit, OtherUser, Protocol, Replaced, Schema, Slow, Unauthorized, Unavailable, Version};
    let all = vec![Version, Unauthorized, Schema, Protocol, Limit, Slow, Replaced, Unavailable, OtherUser];
    let reason = prop::sample::select(all);
    let duration = (any::<u64>(), 0u32..1_000_000_000).prop_map(|(s, ns)| Duration::new(s, ns));
    (reason, ".{0,8}", option::of(duration)).prop_map(|(reason, message, retry_after)| Goodbye {
        reason,
        message,
        retry_after,
    })
}

pub fn whole_millis() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_millis)
}

pub fn from_gateway() -> BoxedStrategy<FromGateway> {
    let clock = option::of(any::<u64>());
    let centre = option::of(super::centres::name());
    let user = (id(), option::of(id()), option::of(whole_millis()));
    let parts = (version(), id(), any::<bool>(), clock, centre, any::<bool>(), user);
    let welcome = parts.prop_map(|(version, store, resumed, clock_micros, centre, moved, user)| Welcome {
        version,
        store: StoreIncarnation(store),
        resumed,
        clock_micros,
        centre,
        moved,
        client: ClientId(user.0),
        subject: user.1,
        token_left: user.2,
    });
    prop_oneof![
        1 => welcome.prop_map(FromGateway::Welcome),
        1 => Just(FromGateway::SchemaWanted),
        6 => advance().prop_map(FromGateway::Advance),
        1 => any::<u32>().prop_map(FromGateway::Pong),
        1 => counter().prop_map(FromGateway::Stored),
        1 => whole_millis().prop_map(FromGateway::Renewed),
        1 => goodbye().prop_map(FromGateway::Goodbye),
    ]
    .boxed()
}
