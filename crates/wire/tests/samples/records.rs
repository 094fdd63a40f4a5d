//! Every record of the journal, of a checkpoint and of a client's storage.

use std::collections::BTreeMap;

use iolite_values::{Attempt, ClientId, Counter, Id, Interest, Level, Operation, Row, Timestamp, TransactionId};
use iolite_wire::client_storage::{
    Bound, MutationStatus, StoredInterest, StoredLog, StoredLogCall, StoredMeta, StoredMutation, StoredRow,
};
use iolite_wire::journal::{
    CheckpointChunk, CheckpointClient, CheckpointCommit, CheckpointMeta, CheckpointRow, Completed, CompletedDecision,
    Completion, HistoryEntry, JournalRecord, Settled,
};

use iolite_wire::logs::{LogEntry, LogState};
use iolite_wire::message::RowSnapshot;

use super::centres::token;
use super::session::{client, schema, store};
use super::values::{
    cell, column, every_effect, every_operation, every_state, key, later_operations, ranges, table, time, write,
};
use crate::decoders::Content;

pub fn transaction() -> TransactionId {
    TransactionId { client: client(), counter: Counter(42) }
}

fn completed(decision: CompletedDecision) -> Completed {
    let (transaction, attempt, at) = (transaction(), Attempt(2), time(5));
    Completed { transaction, attempt, at, level: Level::Strict, decision, is_home: true }
}

fn row(base: Row) -> CheckpointRow {
    let entry = |(micros, operation)| HistoryEntry { at: time(micros), column: column(), operation };
    let history = (100..).zip(every_operation()).map(entry).collect();
    CheckpointRow { table: table(), key: key("chair"), base, base_at: time(3), history }
}

fn commit(micros: u64) -> CheckpointCommit {
    let writes = Some(vec![write(Operation::Add(1))]);
    CheckpointCommit {
        at: time(micros),
        transaction: transaction(),
        attempt: Attempt(1),
        level: Level::Strict,
        writes,
        is_home: true,
    }
}

fn remembered() -> CheckpointClient {
    let completion =
        |(counter, settled)| (Counter(counter), Completion { attempt: Attempt(1), at: time(counter), settled });
    let completions = (42..).zip([Settled::Committed, Settled::Aborted]).map(completion).collect();
    CheckpointClient { client: client(), acknowledged: Counter(41), completions }
}

pub fn mutation(status: MutationStatus, ticket: Option<Id>) -> StoredMutation {
    StoredMutation {
        counter: Counter(42),
        name: "moveChair".into(),
        arguments: "{\"x\":1}".into(),
        called_at_micros: 1_740_000_000_000_000,
        ticket,
        status,
        log: None,
        effects: None,
        unsent: false,
    }
}

fn meta(store: Option<iolite_values::StoreIncarnation>) -> StoredMeta {
    StoredMeta {
        device: client(),
        next_counter: Counter(43),
        store,
        at: time(0),
        acknowledged: Counter(41),
        user: "ada".into(),
        schema: schema(),
        secret: store.map(|_| iolite_values::DeviceSecret([5; 16])),
        others_know_client: store.is_none(),
        unsent_after: None,
        centre_token: None,
        bound: store.map(|_| Bound { client: client(), subject: None }),
        rights: None,
    }
}

fn entry() -> LogEntry {
    LogEntry {
        origin: None,
        counter: Counter(42),
        called_at_micros: 1_740_000_000_000_000,
        seed: [9; 16],
        operation: "setCell".into(),
        version: 1,
        arguments: "{\"at\":\"B2\"}".into(),
        turns: false,
    }
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    [journal(), checkpoint(), client_storage()].concat()
}

fn journal() -> Vec<(&'static str, &'static str, Content)> {
    let record = |record| Content::Journal(vec![record]);
    let decisions =
        [CompletedDecision::Committed(every_operation().into_iter().map(write).collect()), CompletedDecision::Aborted];
    vec![
        ("journal_record", "a ceiling", record(JournalRecord::Ceiling(time(0)))),
        (
            "completed",
            "a commit of every operation, an abort, one that is read committed, and a commit of later operations",
            {
                let abort = Completed { level: Level::ReadCommitted, ..completed(CompletedDecision::Aborted) };
                let later =
                    completed(CompletedDecision::Committed(later_operations().into_iter().map(write).collect()));
                let all = decisions.map(completed).into_iter().chain([abort, later]);
                Content::Journal(all.map(JournalRecord::Completed).collect())
            },
        ),
        ("acknowledged_through", "an acknowledgement", {
            record(JournalRecord::Acknowledged { client: client(), through: Counter(42) })
        }),
    ]
}

fn checkpoint() -> Vec<(&'static str, &'static str, Content)> {
    let chunk = |chunk| Content::Checkpoint(vec![chunk]);
    let marks = CheckpointMeta { low_watermark: time(1), ceiling: Timestamp::MAX, reads_through: time(3) };
    vec![
        ("checkpoint_chunk", "no rows", chunk(CheckpointChunk::Rows(Vec::new()))),
        ("checkpoint_rows", "two rows", chunk(CheckpointChunk::Rows(vec![row(every_state()), row(Row::default())]))),
        ("checkpoint_row", "one row", chunk(CheckpointChunk::Rows(vec![row(Row::default())]))),
        ("history_entry", "every operation as history", chunk(CheckpointChunk::Rows(vec![row(Row::default())]))),
        ("checkpoint_commits", "two commits", chunk(CheckpointChunk::Commits(vec![commit(1), commit(2)]))),
        ("checkpoint_commit", "one commit, and one of a snapshot", {
            let weaker = CheckpointCommit { level: Level::Snapshot, ..commit(1) };
            Content::Checkpoint([commit(1), weaker].map(|one| CheckpointChunk::Commits(vec![one])).into())
        }),
        ("checkpoint_clients", "two clients", {
            let other = CheckpointClient { completions: BTreeMap::new(), ..remembered() };
            chunk(CheckpointChunk::Clients(vec![remembered(), other]))
        }),
        ("checkpoint_client", "one client", chunk(CheckpointChunk::Clients(vec![remembered()]))),
        ("completion", "a commit and an abort", chunk(CheckpointChunk::Clients(vec![remembered()]))),
        ("checkpoint_meta", "the marks", chunk(CheckpointChunk::Meta(marks))),
    ]
}

fn client_storage() -> Vec<(&'static str, &'static str, Content)> {
    let interests = ranges().into_iter().map(|range| Interest::Range { table: table(), range });
    let interests = interests.chain([Interest::Cell(cell("chair"))]).map(|interest| StoredInterest { interest });
    let waiting = mutation(MutationStatus::Waiting, Some(Id::from_u128(0x7a)));
    let rejected = mutation(MutationStatus::Rejected("the budget is spent".into()), None);
    let quarantined = mutation(MutationStatus::Quarantined("no such column".into()), None);
    let kept = mutation(MutationStatus::Kept, None);
    let unsent = StoredMutation { unsent: true, ..mutation(MutationStatus::Waiting, None) };
    let stored_row = StoredRow { table: table(), key: key("chair"), row: every_state() };
    vec![
        (
            "stored_mutation",
            "one that waits, one rejected, one in quarantine, one kept, one that was never sent",
            Content::Mutation(vec![waiting, rejected, quarantined, kept, unsent]),
        ),
        ("stored_log_call", "an operation of a log", {
            let log =
                StoredLogCall { log: "sheet".into(), instance: key("budget"), seed: [7; 16], committed: Some(time(5)) };
            let waiting = mutation(MutationStatus::Waiting, None);
            Content::Mutation(vec![StoredMutation { log: Some(log), ..waiting }])
        }),
        ("stored_effects", "a call that has taken place in a table that merges", {
            let waiting = mutation(MutationStatus::Waiting, None);
            Content::Mutation(vec![StoredMutation {
                effects: Some(every_effect().into_iter().map(write).collect()),
                ..waiting
            }])
        }),
        ("stored_log", "a log that is replayed up to a place", {
            let (log, instance) = ("sheet".to_owned(), key("budget"));
            Content::Log(vec![StoredLog { log, instance, page: 3, place: 127, index: 512 }])
        }),
        ("log_entry", "an operation as it is called, and the last one of a page as others read it", {
            let called = entry();
            let told = LogEntry { origin: Some(Id::from_u128(0x7a)), turns: true, ..entry() };
            Content::LogEntry(vec![called, told])
        }),
        ("log_state", "the state of a log, a row of it", {
            let StoredRow { table, key, row } = stored_row.clone();
            Content::LogState(vec![LogState { rows: vec![RowSnapshot { table, key, row }] }])
        }),
        ("stored_row", "a row with every type of cell", Content::Row(vec![stored_row])),
        ("stored_interest", "three ranges and a cell", Content::Interest(interests.collect())),
        (
            "stored_meta",
            "with a store, without, of a device that sent nothing after a call, of one of several data centres, and of a user",
            {
                let unsent = StoredMeta { unsent_after: Some(Counter(40)), ..meta(Some(store())) };
                let moving = StoredMeta { centre_token: Some(token()), ..meta(Some(store())) };
                let of_user = Bound { client: ClientId(Id::from_u128(0x7b)), subject: Some(Id::from_u128(0x7c)) };
                let of_user = StoredMeta { bound: Some(of_user), ..meta(Some(store())) };
                Content::Meta(vec![meta(Some(store())), meta(None), unsent, moving, of_user])
            },
        ),
    ]
}
