//! Which shard has what: ranges of rows, and the completion records of clients.
//!
//! Invariant: every row, and every client's records, are in exactly one shard.
//! Completion records are placed as if they were rows of a table of their own, so that they move with a shard like rows.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{ClientId, KeyRange, RowKey, TableId};

use crate::completions::{client_key, completions_table};
use crate::configuration::{configuration_key, configurations_table};
use crate::extent::Extent;
use crate::node::{Group, ReplicaId, ShardId, Split};

/// A place between rows. Sorted as rows are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub table: TableId,
    /// A key, or a bound of keys.
    pub key: RowKey,
}

impl Place {
    pub fn first() -> Place {
        Place { table: TableId(0), key: RowKey::bound(&[]) }
    }

    /// Where a client's completion records are.
    pub fn of_client(client: ClientId) -> Place {
        Place { table: completions_table(), key: client_key(client) }
    }
}

/// All shards, each beginning where the last one ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardMap {
    starts: BTreeMap<Place, ShardId>,
    groups: BTreeMap<ShardId, Group>,
    /// Shards that have ended. Proposals that they had a say in name them still.
    ended: BTreeMap<ShardId, Split>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardMapError {
    #[error("no shard has the first row: begin one at the very beginning")]
    NoFirst,
    #[error("shard {} begins twice, or has the number or the place of another: each has its own", .0.0)]
    Twice(ShardId),
    #[error("there is no shard {}, or it has ended: look up who has its rows now", .0.0)]
    Unknown(ShardId),
    #[error("the place lies outside of shard {}, or where it begins: take one between its rows", .0.0)]
    Outside(ShardId),
    #[error("replica {} keeps a shard already: a replica keeps one, take another", .0.0)]
    Taken(ReplicaId),
}

impl ShardMap {
    /// # Errors
    /// [`ShardMapError`].
    pub fn new(shards: impl IntoIterator<Item = (Place, Group)>) -> Result<ShardMap, ShardMapError> {
        let mut map = ShardMap { starts: BTreeMap::new(), groups: BTreeMap::new(), ended: BTreeMap::new() };
        for (start, group) in shards {
            let shard = group.shard;
            if map.groups.insert(shard, group).is_some() || map.starts.insert(start, shard).is_some() {
                return Err(ShardMapError::Twice(shard));
            }
        }
        if map.starts.first_key_value().is_some_and(|(start, _)| *start == Place::first()) {
            Ok(map)
        } else {
            Err(ShardMapError::NoFirst)
        }
    }

    /// One shard for everything, of one replica.
    pub fn alone() -> ShardMap {
        ShardMap::one(Group::alone(ShardId::default(), ReplicaId::default()))
    }

    /// One shard for everything.
    pub fn one(group: Group) -> ShardMap {
        ShardMap::new([(Place::first(), group)]).expect("it begins at the beginning")
    }

    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values()
    }

    pub fn group(&self, shard: ShardId) -> Option<&Group> {
        self.groups.get(&shard)
    }

    /// A later group keeps a shard.
    ///
    /// # Panics
    /// When there is no such shard.
    pub fn set_group(&mut self, group: Group) {
        let known = self.groups.get_mut(&group.shard).expect("a shard of this map");
        *known = group;
    }

    /// The rows of a shard; none of one that has ended.
    pub fn extent(&self, shard: ShardId) -> Option<Extent> {
        let (from, _) = self.starts.iter().find(|(_, own)| **own == shard)?;
        let next = self.starts.range((Bound::Excluded(from), Bound::Unbounded)).next();
        Some(Extent { from: from.clone(), until: next.map(|(start, _)| start.clone()) })
    }

    /// Whether a shard of this map can end so: for who writes it.
    ///
    /// # Errors
    /// [`ShardMapError`].
    pub fn check_split(&self, split: &Split) -> Result<(), ShardMapError> {
        let parent = split.parent().shard;
        let extent = self.extent(parent).ok_or(ShardMapError::Unknown(parent))?;
        if !extent.is_cut_by(split) {
            return Err(ShardMapError::Outside(parent));
        }
        let is_known = |part: &&Group| self.groups.contains_key(&part.shard) || self.ended.contains_key(&part.shard);
        if let Some(part) = [split.lower(), split.upper()].into_iter().find(is_known) {
            return Err(ShardMapError::Twice(part.shard));
        }
        let all = self.groups.values().flat_map(Group::members);
        let is_taken = |replica: &&ReplicaId| split.lower().contains(**replica) || split.upper().contains(**replica);
        match all.copied().find(|replica| is_taken(&replica)) {
            Some(replica) => Err(ShardMapError::Taken(replica)),
            None => Ok(()),
        }
    }

    /// A shard has ended so. Says whether that was new.
    pub fn split(&mut self, split: &Split) -> bool {
        let (parent, (table, key)) = (split.parent().shard, split.at());
        let at = Place { table, key: key.clone() };
        let Some(Extent { from, .. }) = self.extent(parent).filter(|extent| extent.is_cut_by(split)) else {
            return false;
        };
        for (start, group) in [(from, split.lower()), (at, split.upper())] {
            self.starts.insert(start, group.shard);
            self.groups.insert(group.shard, group.clone());
        }
        self.groups.remove(&parent);
        self.ended.insert(parent, split.clone());
        true
    }

    /// How shards have ended, those first whose parts have ended too.
    pub fn splits(&self) -> impl Iterator<Item = &Split> {
        // Parts have later numbers than the shard that they were.
        self.ended.values()
    }

    /// How a shard has ended.
    pub fn ended(&self, shard: ShardId) -> Option<&Split> {
        self.ended.get(&shard)
    }

    /// Who answers for a shard: itself, or, once it has ended, the one that has its lower part.
    pub fn standing_for(&self, shard: ShardId) -> ShardId {
        let mut standing = shard;
        while let Some(split) = self.ended.get(&standing) {
            standing = split.lower().shard;
        }
        standing
    }

    pub fn of_row(&self, table: TableId, key: &RowKey) -> ShardId {
        // What a shard says of itself is kept by itself.
        if table == configurations_table()
            && let Some(shard) = self.groups.keys().find(|shard| configuration_key(**shard) == *key)
        {
            return *shard;
        }
        self.of(&Place { table, key: key.clone() })
    }

    pub fn of_client(&self, client: ClientId) -> ShardId {
        self.of(&Place::of_client(client))
    }

    fn of(&self, place: &Place) -> ShardId {
        let (_, shard) = self.starts.range(..=place).next_back().expect("some shard begins at the beginning");
        *shard
    }

    /// The parts of a range, each with its shard, in order.
    pub fn of_range(&self, table: TableId, range: &KeyRange) -> Vec<(ShardId, KeyRange)> {
        if table == configurations_table() {
            return self.groups.keys().map(|shard| (*shard, range.clone())).collect();
        }
        let mut parts = Vec::new();
        let mut lower = range.lower.clone();
        let mut shard = self.of(&Place { table, key: RowKey::bound(&lower) });
        for (start, next) in &self.starts {
            let inside = start.table == table
                && start.key.as_bytes() > &*lower
                && range.upper.as_ref().is_none_or(|upper| start.key.as_bytes() < &**upper);
            if inside {
                let upper: Arc<[u8]> = start.key.as_bytes().into();
                parts.push((shard, KeyRange { lower: lower.clone(), upper: Some(upper.clone()) }));
                (lower, shard) = (upper, *next);
            }
        }
        parts.push((shard, KeyRange { lower, upper: range.upper.clone() }));
        parts
    }
}

#[cfg(test)]
mod tests {
    use crate::node::Epoch;

    use super::*;

    fn group(shard: u32) -> Group {
        Group::new(ShardId(shard), Epoch(0), &[ReplicaId(shard.into())]).unwrap()
    }

    fn bound(bytes: &[u8]) -> Place {
        Place { table: TableId(5), key: RowKey::bound(bytes) }
    }

    fn range(lower: &[u8], upper: Option<&[u8]>) -> KeyRange {
        KeyRange { lower: lower.into(), upper: upper.map(Into::into) }
    }

    #[test]
    fn a_range_is_cut_where_shards_begin() {
        let shards = [(Place::first(), group(0)), (bound(&[3]), group(1)), (bound(&[7]), group(2))];
        let map = ShardMap::new(shards).unwrap();
        let parts = map.of_range(TableId(5), &KeyRange::all());
        let expected = [
            (ShardId(0), range(&[], Some(&[3]))),
            (ShardId(1), range(&[3], Some(&[7]))),
            (ShardId(2), range(&[7], None)),
        ];
        assert_eq!(parts, expected);
        assert_eq!(map.of_range(TableId(5), &range(&[3], Some(&[7]))), [(ShardId(1), range(&[3], Some(&[7])))]);
        assert_eq!(map.of_range(TableId(4), &KeyRange::all()), [(ShardId(0), KeyRange::all())]);
        assert_eq!(map.of_range(TableId(6), &KeyRange::all()), [(ShardId(2), KeyRange::all())]);
        assert_eq!(map.of_row(TableId(5), &RowKey::bound(&[3])), ShardId(1));
    }

    #[test]
    fn a_shard_that_ends_leaves_its_rows_to_two_others() {
        let shards = [(Place::first(), group(0)), (bound(&[3]), group(1)), (bound(&[7]), group(2))];
        let before = ShardMap::new(shards).unwrap();
        let split = |at: &[u8]| Split::new(group(1), (TableId(5), RowKey::bound(at)), group(3), group(4)).unwrap();
        let mut map = before.clone();
        assert!(map.split(&split(&[5])) && !map.split(&split(&[5])));
        let owners = [&[2], &[3], &[5], &[6], &[7]].map(|key: &[u8; 1]| map.of_row(TableId(5), &RowKey::bound(key)).0);
        assert_eq!(owners, [0, 3, 4, 4, 2]);
        assert_eq!([0, 1, 2].map(|shard| map.standing_for(ShardId(shard)).0), [0, 3, 2]);
        assert_eq!(map.groups().map(|group| group.shard.0).collect::<Vec<_>>(), [0, 2, 3, 4]);
        // A place of another shard, or the very beginning, cuts nothing.
        for at in [[3], [2], [7]] {
            let mut map = before.clone();
            assert!(!map.split(&split(&at)) && map == before);
        }
    }

    #[test]
    fn a_split_that_would_leave_no_map_is_told_before_it_is_written() {
        let shards = [(Place::first(), group(0)), (bound(&[3]), group(1)), (bound(&[7]), group(2))];
        let map = ShardMap::new(shards).unwrap();
        let new = |shard| Group::new(ShardId(shard), Epoch(0), &[ReplicaId(u64::from(shard) + 10)]).unwrap();
        let check = |at: &[u8], lower, upper| {
            map.check_split(&Split::new(group(1), (TableId(5), RowKey::bound(at)), lower, upper).unwrap())
        };
        assert_eq!(check(&[5], new(3), new(4)), Ok(()));
        for at in [[3], [2], [7]] {
            assert_eq!(check(&at, new(3), new(4)), Err(ShardMapError::Outside(ShardId(1))));
        }
        assert_eq!(check(&[5], new(3), new(2)), Err(ShardMapError::Twice(ShardId(2))));
        let taken = Group::new(ShardId(4), Epoch(0), &[ReplicaId(2)]).unwrap();
        assert_eq!(check(&[5], new(3), taken), Err(ShardMapError::Taken(ReplicaId(2))));
        let mut after = map.clone();
        assert!(after.split(&Split::new(group(1), (TableId(5), RowKey::bound(&[5])), new(3), new(4)).unwrap()));
        let again = Split::new(group(1), (TableId(5), RowKey::bound(&[6])), new(5), new(6)).unwrap();
        assert_eq!(after.check_split(&again), Err(ShardMapError::Unknown(ShardId(1))));
    }

    #[test]
    fn a_map_without_a_beginning_or_with_two_of_one_is_refused() {
        assert_eq!(ShardMap::new([(bound(&[3]), group(0))]), Err(ShardMapError::NoFirst));
        let twice = [(Place::first(), group(0)), (bound(&[3]), group(0))];
        assert_eq!(ShardMap::new(twice), Err(ShardMapError::Twice(ShardId(0))));
    }
}
