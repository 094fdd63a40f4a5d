//! The chunks that the rows of a backup name.
//!
//! Invariants: every name of a row is given, but for those below a node that cannot be read, which is given itself. A window keeps so many names at most;
//! windows one after the other have each name once, in the order of leases and ids.

use std::collections::BTreeSet;

use iolite_blobs::{ObjectName, Walk, blobs_of_row};
use iolite_node::{BlobStore, tables_with_blobs};
use iolite_store::RowAt;
use iolite_values::{Blob, ChunkId, Chunks, ColumnId, LeaseName, Schema, StoreIncarnation, Tree};

use crate::reading::{Copy, ReadError};
use crate::taking::BackupError;

/// The name of a chunk, whatever store it is in.
pub(crate) type Name = (LeaseName, ChunkId);

/// The rows that may name chunks, and the store that has the chunks.
pub(crate) struct Naming<'a> {
    pub copy: &'a Copy<'a>,
    pub schema: &'a Schema,
    pub chunks: &'a BlobStore,
    /// The incarnation of the store of rows.
    pub store: StoreIncarnation,
}

impl Naming<'_> {
    pub fn object(&self, (lease, chunk): Name) -> ObjectName {
        ObjectName { store: self.store, lease, chunk }
    }

    /// Walks through the trees that are wanted, and says each name as often as it stands there.
    pub async fn each(
        &self,
        is_wanted: impl Fn(&Tree) -> bool,
        mut each: impl FnMut(&RowAt, ColumnId, Name),
    ) -> Result<(), BackupError> {
        for table in tables_with_blobs(self.schema) {
            let mut pages = self.copy.table(table);
            while let Some(page) = pages.next().await? {
                for row in &page {
                    for (column, blob) in blobs_of_row(&row.row) {
                        self.walk(blob, &is_wanted, |name| each(row, column, name)).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn walk(
        &self,
        blob: &Blob,
        is_wanted: impl Fn(&Tree) -> bool,
        mut each: impl FnMut(Name),
    ) -> Result<(), BackupError> {
        let Chunks::Tree(tree) = blob.chunks() else { return Ok(()) };
        let mut walk = Walk::new(blob);
        while let Some(met) = walk.next().filter(|_| is_wanted(tree)) {
            let Some(lease) = tree.leases().get(usize::from(met.name.lease)).copied() else { continue };
            each((lease, met.name.id));
            if met.is_node()
                && let Some(content) = self.chunks.load(self.object((lease, met.name.id))).await?
            {
                // A node that is damaged is passed over. Whoever takes it says so.
                let _ = walk.enter(&content);
            }
        }
        Ok(())
    }
}

/// A table of which a row names chunks, if there is one.
pub(crate) async fn table_that_names_chunks(copy: &Copy<'_>, schema: &Schema) -> Result<Option<String>, ReadError> {
    let is_tree = |(_, blob): (ColumnId, &Blob)| matches!(blob.chunks(), Chunks::Tree(_));
    for table in tables_with_blobs(schema) {
        let mut pages = copy.table(table);
        while let Some(page) = pages.next().await? {
            if page.iter().any(|row| blobs_of_row(&row.row).any(is_tree)) {
                return Ok(Some(schema.table_name(table).unwrap_or("?").to_owned()));
            }
        }
    }
    Ok(None)
}

/// The least names above one of them.
#[derive(Debug)]
pub(crate) struct Window {
    after: Option<Name>,
    most: usize,
    names: BTreeSet<Name>,
    /// Names above this one were left out.
    cut: Option<Name>,
}

impl Window {
    /// A window of so many names above this one. `None`: from the first one on.
    pub fn above(after: Option<Name>, most: usize) -> Window {
        Window { after, most, names: BTreeSet::new(), cut: None }
    }

    pub fn add(&mut self, name: Name) {
        if self.after.is_some_and(|after| name <= after) || self.cut.is_some_and(|cut| name > cut) {
            return;
        }
        self.names.insert(name);
        if self.names.len() > self.most {
            self.names.pop_last();
            self.cut = self.names.last().copied();
        }
    }

    /// The names in their order, and the name above which the next window begins if there is one.
    pub fn into_names(self) -> (BTreeSet<Name>, Option<Name>) {
        (self.names, self.cut)
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::Id;

    use super::*;

    #[test]
    fn windows_have_each_name_once_and_few_at_a_time() {
        let name = |number: u128| (LeaseName(Id::from_u128(number % 3)), ChunkId::of(&number.to_le_bytes()));
        // Rows name chunks in any order, and again.
        let named: Vec<Name> = (0..100).map(|number| name(number * 7 % 20)).collect();
        for most in [1, 6, 19, 20, 21] {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let mut window = Window::above(after, most);
                named.iter().for_each(|name| window.add(*name));
                let (names, cut) = window.into_names();
                assert!(names.len() <= most);
                all.extend(names);
                after = cut;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(all, BTreeSet::from_iter(named.iter().copied()).into_iter().collect::<Vec<_>>(), "{most}");
        }
    }
}
