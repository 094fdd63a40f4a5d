//! A map in the order of its keys, as kernels keep their rows.
//!
//! Invariants: keys ascend through all leaves; a leaf has a row, and at most [`LEAF`].
//!
//! The standard library's tree is compiled anew for each kind of row, and takes about 5 KB of the module that pages download. This one takes a tenth: it has
//! two levels, and no leaves that are merged. Each row stands in a box, so tables of all kinds of rows run the same code.

/// Rows of a leaf. With more, moving them aside takes longer than finding the leaf.
const LEAF: usize = 64;

#[derive(Debug)]
pub(crate) struct Table<K, V> {
    leaves: Vec<Vec<(K, Box<Row<V>>)>>,
    rows: usize,
}

/// All kinds of rows have one alignment: where it differs, the code of their tables does.
#[derive(Debug)]
#[repr(align(8))]
struct Row<V>(V);

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table { leaves: Vec::new(), rows: 0 }
    }
}

impl<K: Ord, V> Table<K, V> {
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The leaf and the place in it at which the row of a key is. Err: at which it would be.
    fn find(&self, key: &K) -> Result<(usize, usize), (usize, usize)> {
        let after = self.leaves.partition_point(|leaf| leaf.first().is_some_and(|(first, _)| first <= key));
        let leaf = after.saturating_sub(1);
        let Some(rows) = self.leaves.get(leaf) else { return Err((leaf, 0)) };
        match rows.binary_search_by(|(own, _)| own.cmp(key)) {
            Ok(at) => Ok((leaf, at)),
            Err(at) => Err((leaf, at)),
        }
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        let (leaf, at) = self.find(key).ok()?;
        Some(&self.leaves[leaf][at].1.0)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (leaf, at) = self.find(key).ok()?;
        Some(&mut self.leaves[leaf][at].1.0)
    }

    /// The first key, and its row.
    pub fn first(&self) -> Option<(&K, &V)> {
        let (key, row) = self.leaves.first()?.first()?;
        Some((key, &row.0))
    }

    pub fn insert(&mut self, key: K, row: V) {
        match self.find(&key) {
            Ok((leaf, at)) => self.leaves[leaf][at].1.0 = row,
            Err((leaf, at)) => self.insert_at(leaf, at, (key, Box::new(Row(row)))),
        }
    }

    fn insert_at(&mut self, mut leaf: usize, mut at: usize, row: (K, Box<Row<V>>)) {
        self.rows += 1;
        if self.leaves.is_empty() {
            self.leaves.push(Vec::new());
        }
        let rows = &mut self.leaves[leaf];
        if rows.len() >= LEAF {
            // Keys mostly ascend: a leaf that is full at its end stays full.
            let from = if at == LEAF { at } else { LEAF / 2 };
            let next = rows.split_off(from);
            self.leaves.insert(leaf + 1, next);
            if at >= from {
                (leaf, at) = (leaf + 1, at - from);
            }
        }
        self.leaves[leaf].insert(at, row);
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (leaf, at) = self.find(key).ok()?;
        self.rows -= 1;
        let (_, row) = self.leaves[leaf].remove(at);
        if self.leaves[leaf].is_empty() {
            self.leaves.remove(leaf);
        }
        Some(row.0)
    }

    /// The row of a key, which begins empty.
    pub fn row(&mut self, key: &K) -> &mut V
    where
        K: Clone,
        V: Default,
    {
        if !self.contains_key(key) {
            self.insert(key.clone(), V::default());
        }
        self.get_mut(key).expect("the row is there, or was put there")
    }

    pub fn retain(&mut self, mut stays: impl FnMut(&K) -> bool) {
        self.leaves.iter_mut().for_each(|leaf| leaf.retain(|(key, _)| stays(key)));
        self.leaves.retain(|leaf| !leaf.is_empty());
        self.rows = self.leaves.iter().map(Vec::len).sum();
    }

    pub fn clear(&mut self) {
        *self = Table::default();
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.leaves.iter().flatten().map(|(key, row)| (key, &row.0))
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, row)| row)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.leaves.iter_mut().flatten().map(|(_, row)| &mut row.0)
    }

    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.leaves.into_iter().flatten().map(|(_, row)| row.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A table and a map of the standard library hear the same, with few keys and with many.
    #[test]
    fn a_table_does_what_a_map_does() {
        for keys in [3, 200, 2_000] {
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            let mut random = 7_u64;
            for step in 0..6_000_u64 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = (random >> 33) % keys;
                if (random >> 40) % 8 < 4 + u64::from(step < 4_000) {
                    table.insert(key, step);
                    map.insert(key, step);
                } else {
                    assert_eq!(table.remove(&key), map.remove(&key));
                }
                assert_eq!((table.get(&key), table.first()), (map.get(&key), map.first_key_value()));
                assert_eq!(table.len(), map.len());
            }
            table.retain(|key| key % 3 == 0);
            map.retain(|key, _| key % 3 == 0);
            assert!(table.iter().eq(map.iter()) && table.len() == map.len());
            assert!(table.leaves.iter().all(|leaf| (1..=LEAF).contains(&leaf.len())));
        }
    }
}
