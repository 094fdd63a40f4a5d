//! Whether queries have the answers that they had, whatever the store takes for a change of them.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Query, Read, Row, RowKey, TableId, Timestamp, Transaction, Write};

use crate::plan::Plan;

type Rows<'a> = BTreeMap<(TableId, &'a RowKey), Row>;

/// Each committed transaction that asked something is answered at its timestamp as in the beginning.
pub(super) fn answers_hold(plan: &Plan, at: &BTreeMap<usize, Timestamp>) -> bool {
    let of = |(which, at): (&usize, &Timestamp)| (*at, &plan.submissions[*which].transaction);
    let in_order: BTreeMap<Timestamp, &Transaction> = at.iter().map(of).collect();
    if !in_order.values().any(|own| queries(own).next().is_some()) {
        return true;
    }
    let mut beginning = Rows::new();
    apply(&mut beginning, &plan.opening);
    let mut rows = beginning.clone();
    in_order.values().all(|own| {
        let hold = queries(own).all(|query| answers(query, &rows) == answers(query, &beginning));
        apply(&mut rows, own.writes());
        hold
    })
}

fn queries(transaction: &Transaction) -> impl Iterator<Item = &Query> {
    transaction.reads.iter().filter_map(|read| match read {
        Read::Query(query) => Some(&**query),
        Read::Cell { .. } | Read::Range { .. } => None,
    })
}

fn answers<'a>(query: &Query, rows: &Rows<'a>) -> BTreeSet<&'a RowKey> {
    let selected = rows.iter().filter(|((table, key), row)| *table == query.table && query.selects(key, row));
    selected.map(|((_, key), _)| *key).collect()
}

fn apply<'a>(rows: &mut Rows<'a>, writes: &'a [Write]) {
    for Write { cell, operation } in writes {
        let row = rows.entry((cell.table, &cell.row)).or_default();
        row.apply(cell.column, operation).expect("a column has one type");
    }
}
