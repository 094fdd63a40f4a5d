//! Which queries a changed row may have come into.
//!
//! Queries of one shape, which look at the same fields and leave the same ones a single value, are kept by where their answers stand in several orders: of the
//! fields that they fix, of each field, of primary keys. The orders of which the row's place is known are asked side by side, and the one that ends first counts.
//! Invariant: of a row that is known whole, every query is found that selects it; of one that is not, every query whose answer it may become by the columns
//! that were written. The work is in proportion to the shapes, their orders, and the queries in whose range the row stands in the order in which these are fewest.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{ColumnId, Field, IndexKey, KeyRange, KnownRow, Query, Row, RowKey, TableId};

use super::{Place, QueryId};
use crate::following::index::ranges::RangeIndex;

#[derive(Debug, Default)]
pub struct Candidates {
    alike: BTreeMap<TableId, BTreeMap<Shape, Alike>>,
}

/// What queries have in common that are kept together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Shape {
    /// A row may come in whatever is written: it is there from then on.
    live: bool,
    /// All that are looked at.
    columns: BTreeSet<ColumnId>,
    /// Those that its bounds are of, with whether only one value is asked for.
    fields: BTreeMap<Field, bool>,
}

/// Queries of one shape.
#[derive(Debug)]
struct Alike {
    orders: Vec<Order>,
}

/// Queries by where their answers stand.
#[derive(Debug)]
struct Order {
    by: By,
    ranges: RangeIndex<QueryId>,
}

#[derive(Debug)]
enum By {
    /// Fields of which one value is asked for, then the primary key.
    Fixed(Vec<Field>),
    /// What a field lies between.
    Field(Field),
}

impl Candidates {
    pub fn insert(&mut self, query: &Query, id: QueryId) {
        let shape = Shape::of(query);
        let orders = || shape.orders().map(|by| Order { by, ranges: RangeIndex::default() }).collect();
        let of_table = self.alike.entry(query.table).or_default();
        let alike = of_table.entry(shape.clone()).or_insert_with(|| Alike { orders: orders() });
        for own in &mut alike.orders {
            own.by.ranges_of(query).iter().for_each(|range| own.ranges.insert(range, id));
        }
    }

    pub fn remove(&mut self, query: &Query, id: QueryId) {
        let shape = Shape::of(query);
        let Some(of_table) = self.alike.get_mut(&query.table) else { return };
        let Some(alike) = of_table.get_mut(&shape) else { return };
        for own in &mut alike.orders {
            own.by.ranges_of(query).iter().for_each(|range| own.ranges.remove(range, id));
        }
        if alike.orders.iter().all(|own| own.ranges.is_empty()) {
            of_table.remove(&shape);
        }
        if of_table.is_empty() {
            self.alike.remove(&query.table);
        }
    }

    pub fn has_some_of(&self, table: TableId) -> bool {
        self.alike.contains_key(&table)
    }

    /// Which may select a row.
    pub fn of_row(&self, (table, key): &Place, row: &Row) -> BTreeSet<QueryId> {
        let of_table = self.alike.get(table).into_iter().flatten();
        of_table.flat_map(|(_, alike)| alike.find(key, row, |_| true)).collect()
    }

    /// Which may select a row since these writes to it, though not all of it is known.
    pub fn of_writes<'a>(&'a self, place: &'a Place, known: &'a KnownRow<'a>) -> impl Iterator<Item = QueryId> + 'a {
        let of_table = self.alike.get(&place.0).into_iter().flatten();
        let touched =
            of_table.filter(|(shape, _)| shape.live || shape.columns.iter().any(|own| known.is_written(*own)));
        touched.flat_map(|(_, alike)| alike.find(&place.1, known.row(), |column| known.is_known(column)))
    }

    pub fn is_empty(&self) -> bool {
        self.alike.is_empty()
    }
}

impl Shape {
    fn of(query: &Query) -> Shape {
        let fields = query.index.iter().chain(query.conditions.iter().map(|own| &own.field));
        let fields = fields.map(|field| (field.clone(), query.leaves_one_value(field)));
        Shape { live: query.live, columns: query.columns(), fields: fields.collect() }
    }

    fn orders(&self) -> impl Iterator<Item = By> {
        let fixed = self.fields.iter().filter(|(_, is_fixed)| **is_fixed).map(|(field, _)| field.clone());
        let fixed: Vec<Field> = fixed.collect();
        let by_key = (!fixed.is_empty()).then(|| By::Fixed(Vec::new()));
        let by_field = self.fields.keys().cloned().map(By::Field);
        [By::Fixed(fixed)].into_iter().chain(by_key).chain(by_field)
    }
}

impl By {
    fn fields(&self) -> &[Field] {
        match self {
            By::Fixed(fields) => fields,
            By::Field(field) => std::slice::from_ref(field),
        }
    }

    /// Where the answers of a query stand in this order. A row is in one of these at most.
    fn ranges_of(&self, query: &Query) -> Vec<KeyRange> {
        match self {
            By::Fixed(fields) => vec![query.range_in(fields)],
            By::Field(field) => query.stretches_of(field),
        }
    }
}

impl Alike {
    /// In whose ranges a row stands of which these columns are known.
    fn find(&self, key: &RowKey, row: &Row, is_known: impl Fn(ColumnId) -> bool) -> Vec<QueryId> {
        let is_placed = |own: &&Order| own.by.fields().iter().all(|field| field.column().is_none_or(&is_known));
        let placed = self.orders.iter().filter(is_placed);
        let matches = placed.map(|own| {
            let place = IndexKey::new(own.by.fields().iter().map(|field| field.value(key, row)), key);
            own.ranges.matches(place)
        });
        shortest(matches.collect())
    }
}

/// All of the one that ends first. They are walked through side by side, so that no long one costs more than the shortest.
fn shortest(mut all: Vec<impl Iterator<Item = QueryId>>) -> Vec<QueryId> {
    let mut found = vec![Vec::new(); all.len()];
    loop {
        for (walk, found) in all.iter_mut().zip(&mut found) {
            match walk.next() {
                Some(id) => found.push(id),
                None => return std::mem::take(found),
            }
        }
        if all.is_empty() {
            return Vec::new();
        }
    }
}
