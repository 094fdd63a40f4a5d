//! Any record of the journal, of a checkpoint and of a client's storage.

use iolite_values::{ClientId, Counter, DeviceSecret, SchemaHash, StoreIncarnation, TransactionId};
use iolite_wire::client_storage::{
    Bound, EndedAs, MutationStatus, StoredEnd, StoredInterest, StoredLog, StoredLogCall, StoredMeta, StoredMutation,
    StoredRow,
};
use iolite_wire::journal::{
    CheckpointChunk, CheckpointClient, CheckpointCommit, CheckpointMeta, CheckpointRow, Completed, CompletedDecision,
    Completion, HistoryEntry, JournalRecord, Settled,
};
use iolite_wire::logs::{LogEntry, LogState};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::centres::token;
use super::nodes;
use super::session::{attempt, counter, row_snapshot};
use super::values::{column, id, interest, key, operation, row, table, timestamp, writes};

pub fn client() -> impl Strategy<Value = ClientId> {
    id().prop_map(ClientId)
}

pub fn transaction() -> impl Strategy<Value = TransactionId> {
    (client(), counter()).prop_map(|(client, counter)| TransactionId { client, counter })
}

pub fn completed() -> impl Strategy<Value = Completed> {
    let decision = prop_oneof![writes().prop_map(CompletedDecision::Committed), Just(CompletedDecision::Aborted)];
    (transaction(), attempt(), timestamp(), nodes::level(), decision, any::<bool>()).prop_map(
        |(transaction, attempt, at, level, decision, is_home)| Completed {
            transaction,
            attempt,
            at,
            level,
            decision,
            is_home,
        },
    )
}

pub fn journal_record() -> BoxedStrategy<JournalRecord> {
    prop_oneof![
        nodes::entry().prop_map(JournalRecord::Entry),
        nodes::term().prop_map(JournalRecord::Term),
        nodes::view().prop_map(JournalRecord::Joined),
        nodes::record_part().prop_map(JournalRecord::Master),
        Just(JournalRecord::Superseded),
        timestamp().prop_map(JournalRecord::Complete),
        nodes::snapshot_part().prop_map(JournalRecord::Snapshot),
        nodes::configuration().prop_map(JournalRecord::Configured),
        nodes::split().prop_map(JournalRecord::Split),
        completed().prop_map(JournalRecord::Completed),
        (client(), counter()).prop_map(|(client, through)| JournalRecord::Acknowledged { client, through }),
        timestamp().prop_map(JournalRecord::Ceiling),
    ]
    .boxed()
}

fn checkpoint_row() -> impl Strategy<Value = CheckpointRow> {
    let entry =
        (timestamp(), column(), operation()).prop_map(|(at, column, operation)| HistoryEntry { at, column, operation });
    (table(), key(), row(), timestamp(), vec(entry, 0..4))
        .prop_map(|(table, key, base, base_at, history)| CheckpointRow { table, key, base, base_at, history })
}

fn checkpoint_commit() -> impl Strategy<Value = CheckpointCommit> {
    (timestamp(), transaction(), attempt(), nodes::level(), option::of(writes()), any::<bool>()).prop_map(
        |(at, transaction, attempt, level, writes, is_home)| CheckpointCommit {
            at,
            transaction,
            attempt,
            level,
            writes,
            is_home,
        },
    )
}

fn checkpoint_client() -> impl Strategy<Value = CheckpointClient> {
    let settled = prop_oneof![Just(Settled::Committed), Just(Settled::Aborted)];
    let completion =
        (attempt(), timestamp(), settled).prop_map(|(attempt, at, settled)| Completion { attempt, at, settled });
    let completions = vec((counter(), completion), 0..4).prop_map(|each| each.into_iter().collect());
    (client(), counter(), completions).prop_map(|(client, acknowledged, completions)| CheckpointClient {
        client,
        acknowledged,
        completions,
    })
}

pub fn checkpoint_chunk() -> BoxedStrategy<CheckpointChunk> {
    let meta = (timestamp(), timestamp(), timestamp())
        .prop_map(|(low_watermark, ceiling, reads_through)| CheckpointMeta { low_watermark, ceiling, reads_through });
    prop_oneof![
        vec(checkpoint_row(), 0..3).prop_map(CheckpointChunk::Rows),
        vec(checkpoint_commit(), 0..3).prop_map(CheckpointChunk::Commits),
        vec(checkpoint_client(), 0..3).prop_map(CheckpointChunk::Clients),
        meta.prop_map(CheckpointChunk::Meta),
        vec(journal_record(), 0..3).prop_map(CheckpointChunk::Records),
    ]
    .boxed()
}

pub fn stored_mutation() -> BoxedStrategy<StoredMutation> {
    let status = prop_oneof![
        Just(MutationStatus::Kept),
        Just(MutationStatus::Waiting),
        ".{0,8}".prop_map(MutationStatus::Rejected),
        ".{0,8}".prop_map(MutationStatus::Quarantined)
    ];
    let log = (".{0,8}", key(), any::<[u8; 16]>(), option::of(timestamp()))
        .prop_map(|(log, instance, seed, committed)| StoredLogCall { log, instance, seed, committed });
    let parts = (counter(), ".{0,8}", ".{0,8}", any::<u64>(), option::of(id()), status, option::of(log));
    let parts = (parts, option::of(writes()), any::<bool>());
    parts
        .prop_map(|((counter, name, arguments, called_at_micros, ticket, status, log), effects, unsent)| {
            StoredMutation { counter, name, arguments, called_at_micros, ticket, status, log, effects, unsent }
        })
        .boxed()
}

pub fn stored_log() -> BoxedStrategy<StoredLog> {
    let place = (any::<u64>(), any::<u64>(), any::<u64>());
    (".{0,8}", key(), place)
        .prop_map(|(log, instance, (page, place, index))| StoredLog { log, instance, page, place, index })
        .boxed()
}

pub fn log_state() -> BoxedStrategy<LogState> {
    vec(row_snapshot(), 0..4).prop_map(|rows| LogState { rows }).boxed()
}

pub fn log_entry() -> BoxedStrategy<LogEntry> {
    let call = (option::of(id()), 1..u64::MAX, any::<u64>(), any::<[u8; 16]>());
    let operation = (".{1,8}", any::<u32>(), ".{0,8}", any::<bool>());
    (call, operation)
        .prop_map(|((origin, counter, called_at_micros, seed), (operation, version, arguments, turns))| LogEntry {
            origin,
            counter: Counter(counter),
            called_at_micros,
            seed,
            operation,
            version,
            arguments,
            turns,
        })
        .boxed()
}

pub fn stored_row() -> BoxedStrategy<StoredRow> {
    (table(), key(), row()).prop_map(|(table, key, row)| StoredRow { table, key, row }).boxed()
}

pub fn stored_interest() -> BoxedStrategy<StoredInterest> {
    interest().prop_map(|interest| StoredInterest { interest }).boxed()
}

pub fn stored_meta() -> BoxedStrategy<StoredMeta> {
    let parts = (client(), counter(), option::of(id()), timestamp(), counter(), ".{0,8}", any::<[u8; 16]>());
    let known = (option::of(any::<[u8; 16]>()), any::<bool>(), option::of(counter()), option::of(token()));
    let bound = option::of((client(), option::of(id())).prop_map(|(client, subject)| Bound { client, subject }));
    let bound = (bound, option::of(id()));
    (parts, known, bound)
        .prop_map(
            |(
                (client, next_counter, store, at, acknowledged, user, schema),
                (secret, others_know_client, unsent_after, centre_token),
                (bound, rights),
            )| {
                StoredMeta {
                    device: client,
                    next_counter,
                    store: store.map(StoreIncarnation),
                    at,
                    acknowledged,
                    user,
                    schema: SchemaHash(schema),
                    secret: secret.map(DeviceSecret),
                    others_know_client,
                    unsent_after,
                    centre_token,
                    bound,
                    rights,
                }
            },
        )
        .boxed()
}

pub fn stored_end() -> BoxedStrategy<StoredEnd> {
    let how = prop_oneof![
        timestamp().prop_map(EndedAs::Confirmed),
        Just(EndedAs::ConfirmedEarlier),
        ".{0,8}".prop_map(EndedAs::Rejected),
        ".{0,8}".prop_map(EndedAs::Quarantined),
        ".{0,8}".prop_map(EndedAs::Cancelled),
        Just(EndedAs::Overruled),
    ];
    let parts = (option::of(counter()), option::of(id()), how);
    parts.prop_map(|(counter, ticket, how)| StoredEnd { counter, ticket, how }).boxed()
}
