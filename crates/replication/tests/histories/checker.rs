//! What has to hold of a history, whatever failed.
//!
//! The journal says what committed. From it a model of plain rows is built in timestamp order, and everything that clients and gateways were told is
//! held to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iolite_machine::Machine;
use iolite_replication::journal::{CheckpointChunk, JournalRecord};
use iolite_replication::node::{Configuration, Epoch, ProposalId, ShardId};
use iolite_replication::{Logged, Replica, decisions};
use iolite_store::conformance::first_committer_wins;
use iolite_store::{CommitReply, Completion, CompletionDecision, ReadReply};
use iolite_values::{
    Attempt, ColumnId, Commutativity, Interest, Level, Operation, Read, Row, RowKey, TableId, Timestamp, TransactionId,
    Write, disturbs, writes_commute,
};

use super::client::Submission;
use super::cluster::Cluster;
use super::reader::Validated;
use super::workload::everything;

#[derive(Debug)]
pub enum Violation {
    Twice(String),
    Lost(String),
    StaleRead(String),
    NotStrict(String),
    LostUpdate(String),
    CreatedTwice(String),
    Feed(String),
    Recovery(String),
    Stuck(String),
    TwoConfigurations(String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Twice(what) => write!(f, "took effect twice: {what}"),
            Violation::Lost(what) => write!(f, "was told and is not so: {what}"),
            Violation::StaleRead(what) => write!(f, "committed on what was not true: {what}"),
            Violation::NotStrict(what) => write!(f, "no order agrees with timestamps and real time: {what}"),
            Violation::LostUpdate(what) => write!(f, "overwrote what its snapshot did not have: {what}"),
            Violation::CreatedTwice(what) => write!(f, "created a row that was there: {what}"),
            Violation::Feed(what) => write!(f, "the feed is not what committed: {what}"),
            Violation::Recovery(what) => write!(f, "recovered another state: {what}"),
            Violation::TwoConfigurations(what) => write!(f, "an epoch has two configurations: {what}"),
            Violation::Stuck(what) => write!(f, "does not come to an end: {what}"),
        }
    }
}

struct Committed {
    at: Timestamp,
    transaction: TransactionId,
    attempt: Attempt,
    /// All shards' together; those of one row in order.
    writes: Vec<Write>,
    is_abort: bool,
}

/// How many transactions read a past that had been changed, as was reported before they were submitted.
pub fn check(cluster: &Cluster) -> Result<u64, Violation> {
    check_configurations(cluster)?;
    let decided = decided(cluster)?;
    check_told(cluster, &decided)?;
    let committed: Vec<Committed> = decided.into_values().filter(|own| !own.is_abort).collect();
    check_feeds(cluster, &committed)?;
    let submissions = submissions(cluster);
    let validated: Vec<&Validated> = cluster.clients.iter().flat_map(|client| &client.validated).collect();
    check_reads(&committed, &submissions, &validated)?;
    check_first_committers(&committed, &submissions)?;
    check_strict(cluster, &committed, &submissions, &validated)?;
    Ok(in_the_past(cluster, &committed, &submissions))
}

/// Nobody was refused what the store had told before.
pub fn check_refusals(cluster: &Cluster) -> Result<(), Violation> {
    match cluster.clients.iter().flat_map(|client| &client.refused).next() {
        Some(refusal) => Err(Violation::Lost(refusal.to_string())),
        None => Ok(()),
    }
}

/// All replicas of a shard have gone over to the same configurations.
fn check_configurations(cluster: &Cluster) -> Result<(), Violation> {
    let mut known: BTreeMap<(ShardId, Epoch), Configuration> = BTreeMap::new();
    let nodes = cluster.nodes.values().chain(&cluster.turned_off);
    for record in nodes.flat_map(|node| node.disk.records()) {
        let JournalRecord::Configured(configuration) = JournalRecord::decode(record).unwrap() else { continue };
        // What a replica was made with says only in which group that was.
        if configuration.previous().is_none() {
            continue;
        }
        let epoch = (configuration.group().shard, configuration.group().epoch);
        if *known.entry(epoch).or_insert_with(|| configuration.clone()) != configuration {
            return Err(Violation::TwoConfigurations(format!("{epoch:?}")));
        }
    }
    Ok(())
}

/// What was decided, in timestamp order, as the journals of all replicas have it: each transaction and each timestamp once, the same at every replica
/// of a shard, and at none both ways.
fn decided(cluster: &Cluster) -> Result<BTreeMap<Timestamp, Committed>, Violation> {
    let mut parts: BTreeMap<(ProposalId, ShardId), Logged> = BTreeMap::new();
    let mut aborted = BTreeSet::new();
    let nodes = cluster.nodes.values().chain(&cluster.turned_off);
    for (shard, node) in nodes.map(|node| (node.replica.group().shard, node)) {
        let records = node.disk.records().iter().map(|record| JournalRecord::decode(record).unwrap());
        for (id, logged) in decisions(&records.collect::<Vec<_>>()) {
            let Some(logged) = logged else {
                aborted.insert(id);
                continue;
            };
            if parts.entry((id, shard)).or_insert_with(|| logged.clone()).commit != logged.commit {
                return Err(Violation::Twice(format!("{id:?} differs between replicas")));
            }
        }
    }
    let mut decided: BTreeMap<Timestamp, Committed> = BTreeMap::new();
    let is_of = |id: ProposalId, shard| parts.contains_key(&(id, shard));
    let inherited = |id, shard| cluster.ancestors(shard).into_iter().any(|ancestor| is_of(id, ancestor));
    for ((id, shard), logged) in &parts {
        // A part of a shard tells of what committed there before as well.
        if inherited(*id, *shard) {
            continue;
        }
        if aborted.contains(id) {
            return Err(Violation::Twice(format!("{id:?} was committed and aborted")));
        }
        let own = decided.entry(id.at).or_insert_with(|| Committed {
            at: id.at,
            transaction: id.transaction,
            attempt: id.attempt,
            writes: Vec::new(),
            is_abort: logged.is_abort,
        });
        if own.transaction != id.transaction {
            return Err(Violation::Twice(format!("{:?}", id.at)));
        }
        own.writes.extend(logged.commit.writes.iter().cloned());
    }
    let mut transactions = BTreeSet::new();
    match decided.values().find(|own| !transactions.insert(own.transaction)) {
        Some(own) => Err(Violation::Twice(format!("{:?}", own.transaction))),
        None => Ok(decided),
    }
}

/// What clients were told is in the journals.
fn check_told(cluster: &Cluster, decided: &BTreeMap<Timestamp, Committed>) -> Result<(), Violation> {
    for (transaction, reply, _) in cluster.clients.iter().flat_map(|client| &client.told) {
        let CommitReply::Completed(Completion { attempt, at, decision }) = reply else { continue };
        let is_so = decided.get(at).is_some_and(|own| {
            let is_abort = *decision == CompletionDecision::Aborted;
            (own.transaction, own.attempt, own.is_abort) == (*transaction, *attempt, is_abort)
        });
        if !is_so {
            return Err(Violation::Lost(format!("{transaction:?}: {reply:?}")));
        }
    }
    Ok(())
}

/// Every gateway's feed is what committed since it became ready.
fn check_feeds(cluster: &Cluster, committed: &[Committed]) -> Result<(), Violation> {
    for gateway in &cluster.gateways {
        let ready = gateway.ready.expect("healed");
        let resolved = gateway.resolved().expect("healed");
        let told = gateway.segments.iter().flat_map(|segment| &segment.commits);
        let told: Vec<_> = told.map(|commit| (commit.at, commit.transaction, by_row(&commit.writes))).collect();
        let due = committed.iter().filter(|commit| commit.at > ready && commit.at <= resolved);
        let due: Vec<_> = due.map(|commit| (commit.at, commit.transaction, by_row(&commit.writes))).collect();
        if told != due {
            return Err(Violation::Feed(format!("{} commits told, {} due", told.len(), due.len())));
        }
    }
    Ok(())
}

/// The writes, row by row: across rows their order says nothing.
fn by_row(writes: &[Write]) -> Vec<Write> {
    let mut writes = writes.to_vec();
    writes.sort_by(|a, b| (a.cell.table, &a.cell.row).cmp(&(b.cell.table, &b.cell.row)));
    writes
}

fn submissions(cluster: &Cluster) -> BTreeMap<(TransactionId, Attempt), &Submission> {
    let all = cluster.clients.iter().flat_map(|client| &client.submissions);
    all.map(|submission| ((submission.transaction.id, submission.transaction.attempt), submission)).collect()
}

type Model = BTreeMap<(TableId, RowKey), Row>;

/// What each transaction saw is the state just below its timestamp, what was called valid is the state at its snapshot, and no row was created that was there.
fn check_reads(
    committed: &[Committed],
    submissions: &BTreeMap<(TransactionId, Attempt), &Submission>,
    validated: &[&Validated],
) -> Result<(), Violation> {
    let mut readers = validated.to_vec();
    readers.sort_by_key(|own| own.snapshot);
    let mut readers = readers.into_iter().peekable();
    let mut model = Model::new();
    for commit in committed {
        while let Some(own) = readers.next_if(|own| own.snapshot < commit.at) {
            check_seen(&model, &own.reads, &own.seen, own)?;
        }
        let submission = submissions[&(commit.transaction, commit.attempt)];
        check_seen(&model, &submission.transaction.reads, &submission.seen, &(commit.transaction, commit.at))?;
        for write in &commit.writes {
            let row = model.entry((write.cell.table, write.cell.row.clone())).or_default();
            if write.operation == Operation::Create && row.exists() {
                return Err(Violation::CreatedTwice(format!("{:?} at {:?}", write.cell.row, commit.at)));
            }
            row.apply(write.cell.column, &write.operation).expect("types were checked");
        }
    }
    readers.try_for_each(|own| check_seen(&model, &own.reads, &own.seen, own))
}

fn check_seen(model: &Model, reads: &[Read], seen: &[ReadReply], by: &impl fmt::Debug) -> Result<(), Violation> {
    for (read, seen) in reads.iter().zip(seen) {
        let seen: Vec<_> = seen.rows.iter().map(|row| ((row.table, row.key.clone()), row.row.clone())).collect();
        if !same_as_read(read, &seen, &read_of(model, read)) {
            return Err(Violation::StaleRead(format!("{by:?}: {read:?}")));
        }
    }
    Ok(())
}

type Rows = Vec<((TableId, RowKey), Row)>;

fn read_of(model: &Model, read: &Read) -> Rows {
    let interest = read.interest();
    let rows = model.iter().filter_map(|((table, key), row)| {
        let part = match &interest {
            Interest::Cell(cell) => {
                if cell.table != *table || cell.row != *key {
                    return None;
                }
                let state = row.cell(cell.column).map(|state| (cell.column, state.clone()));
                Row::from_parts(row.exists(), state)
            }
            Interest::Range { table: own, range } => {
                if own != table || !range.contains(key) {
                    return None;
                }
                row.clone()
            }
            Interest::Query(query) => {
                if query.table != *table || !query.selects(key, row) {
                    return None;
                }
                row.clone()
            }
        };
        (!part.is_empty()).then(|| ((*table, key.clone()), part))
    });
    rows.collect()
}

/// A part of a collection was read: only that part has to be the same.
fn same_as_read(read: &Read, seen: &Rows, now: &Rows) -> bool {
    use iolite_values::{CellState, Element};
    let (cell, element) = match read {
        Read::Cell { cell, element } => (cell, element),
        Read::Range { .. } => return seen == now,
        // What of the answers was read has reads of its own: no others have come in.
        Read::Query(_) => return now.iter().all(|(id, _)| seen.iter().any(|(own, _)| own == id)),
    };
    let state = |rows: &Rows| rows.first().and_then(|(_, row)| row.cell(cell.column).cloned());
    match (element, state(seen), state(now)) {
        (Element::Member(value), seen, now) => {
            let holds = |state| matches!(state, Some(CellState::Set(set)) if set.contains(value));
            holds(seen) == holds(now)
        }
        (Element::UpTo(last), seen, now) => {
            let members = |state| match state {
                Some(CellState::Set(set)) => set.range(..=last).cloned().collect(),
                _ => Vec::new(),
            };
            members(seen) == members(now)
        }
        (Element::Slice { from, to }, seen, now) => {
            let elements = |state| match state {
                Some(CellState::List(list)) => list.into_iter().take(*to as usize).skip(*from as usize).collect(),
                _ => Vec::new(),
            };
            elements(seen) == elements(now)
        }
        (Element::Entry(key), seen, now) => {
            let entry = |state| match state {
                Some(CellState::Map(map)) => map.get(key).cloned(),
                _ => None,
            };
            entry(seen) == entry(now)
        }
        (Element::Author(author), seen, now) => {
            let units = |state| match state {
                Some(CellState::Text(text)) => text.count(*author),
                _ => 0,
            };
            units(seen) == units(now)
        }
        // The row's life belongs to the cell that says it; a cell is empty or not whatever the row does.
        (Element::Whole | Element::Index(_), seen_state, now_state) => {
            let exists = |rows: &Rows| rows.first().is_some_and(|(_, row)| row.exists());
            seen_state == now_state && (cell.column != iolite_values::ColumnId::ROW || exists(seen) == exists(now))
        }
    }
}

/// There is an order of all commits, and of all reads that were called valid, that agrees with timestamps wherever two do not commute, and with real time.
fn check_strict(
    cluster: &Cluster,
    committed: &[Committed],
    submissions: &BTreeMap<(TransactionId, Attempt), &Submission>,
    validated: &[&Validated],
) -> Result<(), Violation> {
    let ended = ended(cluster);
    let begun = |commit: &Committed| submissions[&(commit.transaction, commit.attempt)].submitted_at_step;
    let reads = |commit: &Committed| -> &[Read] {
        let transaction = &submissions[&(commit.transaction, commit.attempt)].transaction;
        match transaction.level {
            Level::Strict | Level::Snapshot | Level::ReadCommitted => &transaction.reads,
            // These may be of a past; that they are true at its timestamp is checked before.
            Level::Serializable => &[],
        }
    };
    let level = |commit: &Committed| submissions[&(commit.transaction, commit.attempt)].transaction.level;
    let order = |a: &Committed, b: &Committed| {
        let mut pairs = a.writes.iter().flat_map(|write| b.writes.iter().map(move |other| (write, other)));
        pairs.any(|(own, other)| are_in_order((level(a), own), (level(b), other)))
            || observe(reads(a), &b.writes)
            || observe(reads(b), &a.writes)
    };
    let count = committed.len();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count + validated.len()];
    for (a, first) in committed.iter().enumerate() {
        for (b, second) in committed.iter().enumerate() {
            let real_time = ended.get(&first.transaction).is_some_and(|end| *end < begun(second));
            if a != b && (real_time || (a < b && order(first, second))) {
                after[a].push(b);
            }
        }
    }
    place_readers(validated, committed, &ended, begun, &mut after);
    match cycle(&after) {
        None => Ok(()),
        Some(index) => Err(Violation::NotStrict(match committed.get(index) {
            Some(commit) => format!("{:?}", commit.transaction),
            None => format!("{:?}", validated[index - count]),
        })),
    }
}

/// Two read committed transactions may put in any order; rows come and go in one.
fn are_in_order((level, own): (Level, &Write), (other_level, other): (Level, &Write)) -> bool {
    let life = [own, other].iter().any(|write| write.cell.column == ColumnId::ROW);
    let ordered = life || [level, other_level].iter().any(|level| *level != Level::ReadCommitted);
    ordered && writes_commute(own, other) == Commutativity::Conflict
}

/// At the level of a snapshot nobody wrote, between the snapshot and the commit, what does not commute with the commit's writes.
fn check_first_committers(
    committed: &[Committed],
    submissions: &BTreeMap<(TransactionId, Attempt), &Submission>,
) -> Result<(), Violation> {
    for commit in committed {
        let transaction = &submissions[&(commit.transaction, commit.attempt)].transaction;
        let mut between = committed.iter().filter(|other| other.at > transaction.snapshot && other.at < commit.at);
        let first = between.find(|other| first_committer_wins(transaction.level, &commit.writes, &other.writes));
        if let Some(first) = first {
            return Err(Violation::LostUpdate(format!("{:?} by {:?}", first.transaction, commit.transaction)));
        }
    }
    Ok(())
}

/// When the outcome of a transaction was first told.
fn ended(cluster: &Cluster) -> BTreeMap<TransactionId, u64> {
    let mut ended: BTreeMap<TransactionId, u64> = BTreeMap::new();
    for (transaction, reply, step) in cluster.clients.iter().flat_map(|client| &client.told) {
        if matches!(reply, CommitReply::Completed(_)) {
            let end = ended.entry(*transaction).or_insert(*step);
            *end = (*end).min(*step);
        }
    }
    ended
}

fn in_the_past(
    cluster: &Cluster,
    committed: &[Committed],
    submissions: &BTreeMap<(TransactionId, Attempt), &Submission>,
) -> u64 {
    let ended = ended(cluster);
    let is_passed = |own: &&Committed| {
        let submission = submissions[&(own.transaction, own.attempt)];
        let earlier =
            |other: &&Committed| ended.get(&other.transaction).is_some_and(|end| *end < submission.submitted_at_step);
        let mut later = committed.iter().filter(|other| other.at > own.at).filter(earlier);
        later.any(|other| observe(&submission.transaction.reads, &other.writes))
    };
    committed.iter().filter(is_passed).count() as u64
}

fn observe(reads: &[Read], writes: &[Write]) -> bool {
    reads.iter().any(|read| disturbs(writes, read))
}

/// Reads that were called valid, behind the commits: after what they show and before what they do not.
fn place_readers(
    validated: &[&Validated],
    committed: &[Committed],
    ended: &BTreeMap<TransactionId, u64>,
    begun: impl Fn(&Committed) -> u64,
    after: &mut [Vec<usize>],
) {
    let readers = || (committed.len()..).zip(validated);
    for (reader, own) in readers() {
        for (index, commit) in committed.iter().enumerate() {
            let is_shown = observe(&own.reads, &commit.writes).then_some(commit.at <= own.snapshot);
            if is_shown == Some(true) || ended.get(&commit.transaction).is_some_and(|end| *end < own.asked_at_step) {
                after[index].push(reader);
            }
            if is_shown == Some(false) || own.told_at_step < begun(commit) {
                after[reader].push(index);
            }
        }
        let later = readers().filter(|(_, other)| own.told_at_step < other.asked_at_step);
        after[reader].extend(later.map(|(index, _)| index));
    }
}

/// Something on a cycle, if there is one: what is left when whatever has nothing before it is taken away again and again.
fn cycle(after: &[Vec<usize>]) -> Option<usize> {
    let mut before = vec![0; after.len()];
    for next in after.iter().flatten() {
        before[*next] += 1;
    }
    let mut free: Vec<usize> = (0..after.len()).filter(|index| before[*index] == 0).collect();
    while let Some(index) = free.pop() {
        for next in &after[index] {
            before[*next] -= 1;
            if before[*next] == 0 {
                free.push(*next);
            }
        }
    }
    before.iter().position(|count| *count > 0)
}

/// A replica that lost nothing is the same after a restart, but for the history that it collected already.
pub fn check_same_state(mut before: Replica, recovered: &mut Replica) -> Result<(), Violation> {
    recovered.validate();
    let low_watermark = before.low_watermark().max(recovered.low_watermark());
    let commits = |replica: &Replica| -> Vec<_> {
        replica.versions().commits(low_watermark, Timestamp::MAX).unwrap().cloned().collect()
    };
    let expected = commits(&before);
    if commits(recovered) != expected {
        return Err(Violation::Recovery("other recent commits".into()));
    }
    for at in expected.iter().map(|commit| commit.at).chain([low_watermark, Timestamp::MAX]) {
        let read = |replica: &Replica| {
            replica.versions().clone().read_at(&everything(), at, iolite_store::ReadLimit::NONE, usize::MAX).unwrap()
        };
        if read(&before) != read(recovered) {
            let difference = format!("{:?}\ninstead of\n{:?}", read(recovered), read(&before));
            return Err(Violation::Recovery(format!("other rows at {at:?}, above {low_watermark:?}: {difference}")));
        }
    }
    // On a copy's copy: reading a checkpoint out of the running replica would end the one that it may be writing.
    let clients = |replica: &mut Replica| -> Vec<_> {
        replica.begin_checkpoint();
        let chunks = std::iter::from_fn(|| replica.next_chunk(usize::MAX));
        let decoded = chunks.map(|chunk| CheckpointChunk::decode(&chunk).unwrap());
        decoded.filter(|chunk| matches!(chunk, CheckpointChunk::Clients(_))).collect()
    };
    if clients(&mut before) != clients(recovered) {
        return Err(Violation::Recovery("other completion records".into()));
    }
    Ok(())
}
