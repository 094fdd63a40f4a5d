//! The buckets of objects: which server runs the coordinators of which objects.
//!
//! Invariants: a bucket is taken only from a server that has no lease, by a commit that a renewal of its lease is in conflict with. A plan holds at the timestamp
//! of the feed at which it was made: an exchange that cannot commit as of then is over, and the next plan decides. A server coordinates what it holds only
//! while its own lease holds. A server that is alone in its store coordinates all of them, and no row says so.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::RowAt;
use iolite_values::{Bucket, Cell, ColumnId, NodeId, NodeName, Operation, Row, RowKey, TableId, Value, Write};

use crate::nodes;
use crate::rows::{Rows, Undecided};
use crate::tables::{BUCKETS_TABLE, Place, Unreadable, node_of_text, text};
use crate::tasks::{Done, Step};

const HOLDER: &str = "holder";

/// A bucket goes from one server to another, or is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub bucket: Bucket,
    pub from: Option<NodeId>,
    pub to: Option<NodeId>,
}

#[derive(Debug, Default)]
pub struct Buckets {
    holders: BTreeMap<Bucket, NodeId>,
    /// The rows are being read, and these writes came since.
    since: Option<Vec<Write>>,
    /// The buckets that the host was told it coordinates.
    told: BTreeSet<Bucket>,
    /// The buckets of which the host is to be told who holds them.
    unsaid: BTreeSet<Bucket>,
    /// The server of this process, which is alone in its store.
    alone: Option<NodeId>,
}

impl Buckets {
    /// The store has begun anew: nothing is known of it yet, but for what the host was told.
    pub fn begin_anew(&mut self) -> Buckets {
        Buckets { told: std::mem::take(&mut self.told), ..Buckets::default() }
    }

    pub fn begin_reading(&mut self) {
        self.since = Some(Vec::new());
    }

    pub fn load(&mut self, rows: Vec<RowAt>) {
        let named = rows.into_iter().filter_map(|row| Some((bucket_of(&row.key)?, holder(&row.row).ok()??)));
        self.holders = named.collect();
        self.unsaid = Bucket::all().collect();
        for write in self.since.take().unwrap_or_default() {
            self.apply(&write);
        }
    }

    /// Takes a write of the feed.
    pub fn fold(&mut self, write: &Write) {
        match &mut self.since {
            Some(since) => since.push(write.clone()),
            None => self.apply(write),
        }
    }

    fn apply(&mut self, write: &Write) {
        let Some(bucket) = bucket_of(&write.cell.row).filter(|_| write.cell.column == ColumnId::of(HOLDER)) else {
            return;
        };
        let Operation::Put(Value::String(text)) = &write.operation else { return };
        self.set_holder(bucket, node_of_text(text));
    }

    fn set_holder(&mut self, bucket: Bucket, holder: Option<NodeId>) {
        let before = match holder {
            Some(node) => self.holders.insert(bucket, node),
            None => self.holders.remove(&bucket),
        };
        if before != holder {
            self.unsaid.insert(bucket);
        }
    }

    /// The server of this process has registered. Nobody else has the store, so it has all buckets.
    pub fn hold_all(&mut self, own: NodeId) {
        self.alone = Some(own);
        Bucket::all().for_each(|bucket| self.set_holder(bucket, Some(own)));
    }

    pub fn alone(&self) -> Option<NodeId> {
        self.alone
    }

    /// Whether the host was told that it coordinates these objects.
    pub fn is_own(&self, bucket: Bucket) -> bool {
        self.told.contains(&bucket)
    }

    /// The buckets whose holders are known now, or are others than before.
    pub fn new_holders(&mut self) -> Vec<(Bucket, Option<NodeId>)> {
        let unsaid = std::mem::take(&mut self.unsaid);
        unsaid.into_iter().map(|bucket| (bucket, self.holders.get(&bucket).copied())).collect()
    }

    /// The next exchanges of the own server. `servers`: those that may have a lease, and the own one; a share is an even part for each.
    pub fn plan(&self, own: NodeId, servers: &BTreeSet<NodeId>) -> Vec<Exchange> {
        if self.since.is_some() {
            return Vec::new();
        }
        let names: BTreeSet<NodeName> = servers.iter().map(|server| server.name).collect();
        let share = usize::from(Bucket::COUNT).div_ceil(names.len().max(1));
        let held: Vec<Bucket> = Bucket::all().filter(|bucket| self.holders.get(bucket) == Some(&own)).collect();
        let given_up = held.iter().skip(share).map(|bucket| Exchange { bucket: *bucket, from: Some(own), to: None });
        // Each server begins at another place, so that they seldom want the same bucket.
        let rank = names.iter().position(|name| *name == own.name).unwrap_or_default();
        let in_order = Bucket::all().cycle().skip(rank * share % usize::from(Bucket::COUNT)).take(Bucket::COUNT.into());
        let free = in_order.filter(|bucket| self.holders.get(bucket).is_none_or(|holder| !servers.contains(holder)));
        let taken = free.take(share.saturating_sub(held.len()));
        let taken = taken.map(|bucket| Exchange { bucket, from: self.holders.get(&bucket).copied(), to: Some(own) });
        given_up.chain(taken).collect()
    }

    /// The changes to tell the host. `own`: the own server, while it has a lease.
    pub fn changes(&mut self, own: Option<NodeId>, given_up: &BTreeSet<Bucket>) -> Vec<(Bucket, bool)> {
        let held = self.holders.iter().filter(|(_, holder)| own == Some(**holder)).map(|(bucket, _)| *bucket);
        let held: BTreeSet<Bucket> = held.filter(|bucket| !given_up.contains(bucket)).collect();
        let ends = self.told.difference(&held).map(|bucket| (*bucket, false));
        let changes = ends.chain(held.difference(&self.told).map(|bucket| (*bucket, true))).collect();
        self.told = held;
        changes
    }
}

impl Exchange {
    pub fn place(&self) -> Place {
        let key = RowKey::new(&[Value::Int(self.bucket.number().into())]).expect("a number is short");
        Place { table: TableId::of(BUCKETS_TABLE), key }
    }

    /// The holder, and the marks of both servers: who is marked has no lease, until it renews it and so takes the mark away.
    pub fn guards(&self) -> Vec<Cell> {
        let servers = [self.from, self.to].into_iter().flatten();
        let marks = servers.map(|node| nodes::mark_cell(&Place::of_node(node.name)));
        std::iter::once(self.place().cell(HOLDER)).chain(marks).collect()
    }

    pub fn step(&self, rows: &Rows) -> Result<Step<Done>, Undecided> {
        let row = rows.get(&self.place())?;
        if row.map_or(Ok(None), holder)? != self.from {
            return Ok(Step::Tell(Done::Over));
        }
        let text = self.to.map(|node| node.to_string()).unwrap_or_default();
        let created = if row.is_none() { self.place().create(None) } else { Vec::new() };
        let put = self.place().put(HOLDER, Value::string(text));
        Ok(Step::Change(created.into_iter().chain([put]).collect(), Done::Over))
    }
}

fn bucket_of(key: &RowKey) -> Option<Bucket> {
    let [Value::Int(number)] = <[Value; 1]>::try_from(key.values().ok()?).ok()? else { return None };
    u8::try_from(number).ok().and_then(Bucket::new)
}

fn holder(row: &Row) -> Result<Option<NodeId>, Unreadable> {
    let text = text(row, HOLDER)?;
    if text.is_empty() { Ok(None) } else { node_of_text(text).map(Some).ok_or(Unreadable) }
}
