//! What a cache counts for its rows is not below what the allocator hands out for them, and not far above it.

#![allow(unsafe_code, clippy::disallowed_macros, reason = "an allocator that counts, and what it counted is printed")]

mod harness;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::{key, notes};
use iolite_values::{
    Author, CellState, ColumnId, Edit, Insertion, Operation, Row, RowKey, TableId, Text, Unit, Value, row_footprint,
};

struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

/// What an allocator keeps beside each piece, and rounds it up to.
fn piece(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16).max(32)
}

// SAFETY: it hands everything to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(piece(layout.size()), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(piece(layout.size()), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Cells = fn(i64) -> Vec<CellState>;
type Rows = BTreeMap<(TableId, RowKey), Row>;

fn rows(cells: impl Fn(i64) -> Vec<CellState>) -> Rows {
    let row = |id| {
        let cells = cells(id).into_iter().enumerate().map(|(column, state)| (ColumnId(column as u32 + 1), state));
        ((notes(), key(id)), Row::from_parts(true, cells))
    };
    (0..1000).map(row).collect()
}

fn text(id: i64, bytes: usize) -> Value {
    Value::from(format!("{id:0bytes$}"))
}

/// A text that was typed letter by letter, of which some come at its begin.
fn typed(at_begin: impl Fn(u32) -> bool) -> CellState {
    let author = Author(1);
    let mut text = Text::default();
    let mut last = None;
    for number in 0..300 {
        let left = if at_begin(number) { None } else { last };
        let first = Unit::new(author, number);
        let inserted = Some(Insertion { first, left, right: None, text: "x".into() });
        text.apply(&Arc::new(Edit { inserted, removed: Vec::new() }));
        last = Some(first);
    }
    CellState::Text(Box::new(text))
}

/// Rows whose cells came one after the other, which leaves room behind them.
fn grown(columns: u32) -> Rows {
    let row = |id| {
        let mut row = Row::default();
        (1..=columns).for_each(|column| row.apply(ColumnId(column), &Operation::Add(id)).expect("a counter"));
        ((notes(), key(id)), row)
    };
    (0..1000).map(row).collect()
}

fn check(name: &str, rows: impl FnOnce() -> Rows) {
    let before = ALLOCATED.load(Ordering::Relaxed);
    let rows = rows();
    let taken = ALLOCATED.load(Ordering::Relaxed) - before;
    let counted: usize = rows.iter().map(|((_, key), row)| row_footprint(key, row)).sum();
    println!("{name}: {taken} bytes taken, {counted} counted: {:.2}", counted as f64 / taken as f64);
    assert!(counted >= taken, "{name}: {taken} bytes are taken and {counted} counted");
    assert!(counted <= 2 * taken, "{name}: {taken} bytes are taken and {counted} counted");
}

/// One test, so that no other one allocates meanwhile.
#[test]
fn rows_take_no_more_memory_than_they_count() {
    let shapes: [(&str, Cells); 9] = [
        ("one counter", |id| vec![CellState::Counter(id)]),
        ("short texts", |id| vec![CellState::Scalar(text(id, 10)), CellState::Scalar(text(id, 3))]),
        ("a long text", |id| vec![CellState::Scalar(text(id, 5000))]),
        ("many columns", |id| (0..30).map(|_| CellState::Scalar(text(id, 8))).collect()),
        ("a list", |id| vec![CellState::List((0..100).map(|n| text(id + n, 12)).collect())]),
        ("a set", |id| vec![CellState::Set((0..100).map(|n| text(id * 100 + n, 12)).collect())]),
        ("a map", |id| vec![CellState::Map((0..50).map(|n| (format!("key {n}").into(), text(id + n, 12))).collect())]),
        ("a text, typed on", |_| vec![typed(|_| false)]),
        ("a text, typed all over", |_| vec![typed(|number| number % 3 == 0)]),
    ];
    for (name, cells) in shapes {
        check(name, || rows(cells));
    }
    for columns in [1, 5, 9] {
        check(&format!("{columns} cells that came one by one"), || grown(columns));
    }
}
