//! The check of what a client writes to the pages of logs.
//!
//! Invariant: a transaction that writes to a page appends one entry, which is of this call and of nobody by name; it may create the page before, and close
//! it behind. Nothing else of a page can be changed or taken away by a client.
//! Source: Iolite's own.

use iolite_values::{ColumnId, ListOrder, LogPages, Operation, Read, RowKey, TransactionId, Value, Write};
use iolite_wire::logs::LogEntry;

use crate::origin_of;

/// Why a client may not write this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("a transaction that writes to a log appends one entry to one page, and does nothing else")]
    NoAppend,
    #[error("a page is closed by the entry that says so, and by no other")]
    Turn,
    #[error("the entry is of another call, or says who made it: the gateway says that")]
    Forged,
    #[error("these bytes are no entry of a log: {0}")]
    NoEntry(#[from] iolite_wire::DecodeError),
    #[error("with its author the entry is too large: {0}")]
    TooLarge(#[from] iolite_wire::EncodeError),
    #[error("a page of a log has a number from 0 on")]
    NoPage,
}

/// The writes of an append as the store is to have them: its entry says who made it.
///
/// # Errors
/// [`Refused`]: they are not those of an append of this call.
pub fn admit(id: TransactionId, reads: &[Read], writes: &[Write]) -> Result<Vec<Write>, Refused> {
    let row = writes.first().map(|write| &write.cell.row).ok_or(Refused::NoAppend)?;
    if LogPages::read_key(row).is_none() {
        return Err(Refused::NoPage);
    }
    let of_page = |table, own: &RowKey| table == LogPages::table() && own == row;
    let all_of_page = writes.iter().all(|write| of_page(write.cell.table, &write.cell.row))
        && reads.iter().all(|read| matches!(read, Read::Cell { cell, .. } if of_page(cell.table, &cell.row)));
    if !all_of_page {
        return Err(Refused::NoAppend);
    }
    let (mut entry, mut closes) = (None, false);
    for (place, Write { cell, operation }) in writes.iter().enumerate() {
        match operation {
            Operation::Create if cell.column == ColumnId::ROW && place == 0 => {}
            Operation::Append { value: Value::Bytes(bytes), order: ListOrder::Commit }
                if cell.column == LogPages::entries_column() && entry.is_none() =>
            {
                entry = Some(LogEntry::decode(bytes)?);
            }
            Operation::Put(Value::Bool(true)) if cell.column == LogPages::closed_column() && !closes => closes = true,
            _ => return Err(Refused::NoAppend),
        }
    }
    let entry = entry.ok_or(Refused::NoAppend)?;
    if entry.turns != closes {
        return Err(Refused::Turn);
    }
    if entry.counter != id.counter || entry.origin.is_some() {
        return Err(Refused::Forged);
    }
    let signed: Value = Value::Bytes(LogEntry { origin: Some(origin_of(id.client)), ..entry }.encode()?.into());
    let with_origin = |write: &Write| match &write.operation {
        Operation::Append { value: _, order } => {
            Write { operation: Operation::Append { value: signed.clone(), order: *order }, ..write.clone() }
        }
        _ => write.clone(),
    };
    Ok(writes.iter().map(with_origin).collect())
}

#[cfg(test)]
mod tests {
    use iolite_values::{Cell, ClientId, Counter, Id, LogId, Row};

    use super::*;
    use crate::{Page, append_to};

    const ID: TransactionId = TransactionId { client: ClientId(Id::from_u128(5)), counter: Counter(7) };

    fn entry() -> LogEntry {
        LogEntry {
            origin: None,
            counter: ID.counter,
            called_at_micros: 3,
            seed: [1; 16],
            operation: "set".into(),
            version: 0,
            arguments: "{}".into(),
            turns: false,
        }
    }

    fn log() -> LogId {
        LogId::new("sheet", &Value::from("budget")).expect("short")
    }

    fn append(row: Option<&Row>, entry: LogEntry) -> (Vec<Read>, Vec<Write>) {
        append_to(&log(), 0, Page::of(row), entry).expect("it is small")
    }

    fn applied(row: &mut Row, writes: &[Write]) {
        writes.iter().for_each(|write| row.apply(write.cell.column, &write.operation).expect("it fits"));
    }

    #[test]
    fn an_append_is_admitted_and_says_who_made_it_and_not_which_client_it_is() {
        let (reads, writes) = append(None, entry());
        let admitted = admit(ID, &reads, &writes).expect("an append");
        let mut row = Row::default();
        applied(&mut row, &admitted);
        let page = Page::of(Some(&row));
        let stored = LogEntry::decode(page.entry(0).expect("it is there")).expect("an entry");
        assert_eq!(stored, LogEntry { origin: Some(origin_of(ID.client)), ..entry() });
        assert!(!admitted.iter().any(|write| format!("{write:?}").contains(&ID.client.0.to_string())));
        assert_eq!(admit(ID, &reads, &writes), Ok(admitted), "sent again it is the same");
    }

    #[test]
    fn an_append_has_read_whether_its_page_is_there_and_open() {
        let (reads, _) = append(None, entry());
        let key = log().page(0).expect("short");
        let cells = [Cell::row(LogPages::table(), key.clone()), LogPages::closed(key)];
        let whole = cells.map(|cell| Read::Cell { cell, element: iolite_values::Element::Whole });
        assert_eq!(reads, whole);
    }

    #[test]
    fn the_entry_that_fills_a_page_turns_it() {
        let mut row = Row::default();
        for place in 0..crate::PAGE_ENTRIES_MAX {
            let page = Page::of(Some(&row));
            assert!(!page.is_closed() && page.exists() == (place > 0));
            let (reads, writes) = append(Some(&row), entry());
            applied(&mut row, &admit(ID, &reads, &writes).expect("an append"));
        }
        let page = Page::of(Some(&row));
        let turns = |place| LogEntry::decode(page.entry(place).expect("there")).expect("an entry").turns;
        assert!(page.is_closed() && turns(127) && !turns(126) && page.entry(128).is_none());
        let long = LogEntry { arguments: "x".repeat(crate::PAGE_BYTES_MAX / 3), ..entry() };
        let mut row = Row::default();
        for _ in 0..3 {
            let (_, writes) = append(Some(&row), long.clone());
            applied(&mut row, &writes);
        }
        assert!(Page::of(Some(&row)).is_closed(), "so many bytes fill it as well");
    }

    #[test]
    fn nothing_but_the_append_of_this_call_is_admitted() {
        let (reads, writes) = append(None, entry());
        let refused = |change: &dyn Fn(&mut Vec<Write>)| {
            let mut writes = writes.clone();
            change(&mut writes);
            admit(ID, &reads, &writes).expect_err("it is refused")
        };
        let page = log().page(0).expect("short");
        let other = log().page(1).expect("short");
        let with = |changed: LogEntry| {
            let bytes = changed.encode().expect("it is small");
            Operation::Append { value: Value::Bytes(bytes.into()), order: ListOrder::Commit }
        };
        let closing = Write { cell: LogPages::closed(page.clone()), operation: Operation::Put(Value::Bool(true)) };
        assert_eq!(refused(&|own| own.clear()), Refused::NoAppend);
        assert_eq!(refused(&|own| drop(own.pop())), Refused::NoAppend, "a page without an entry");
        assert_eq!(refused(&|own| own.push(own[1].clone())), Refused::NoAppend, "two entries");
        assert_eq!(refused(&|own| own[1].cell = LogPages::entries(other.clone())), Refused::NoAppend, "two pages");
        assert_eq!(refused(&|own| own[0].operation = Operation::Delete), Refused::NoAppend);
        assert_eq!(refused(&|own| own[0].cell.row = RowKey::new(&[Value::Int(1)]).expect("short")), Refused::NoPage);
        assert_eq!(
            refused(&|own| own.push(closing.clone())),
            Refused::Turn,
            "closed behind an entry that does not say so"
        );
        assert_eq!(refused(&|own| own[1].operation = with(LogEntry { turns: true, ..entry() })), Refused::Turn);
        let opening = Write { operation: Operation::Put(Value::Bool(false)), ..closing.clone() };
        assert_eq!(refused(&|own| own.push(opening.clone())), Refused::NoAppend, "opened again");
        let others = LogEntry { origin: Some(Id::from_u128(1)), ..entry() };
        assert_eq!(refused(&|own| own[1].operation = with(others.clone())), Refused::Forged);
        let of_other_call = LogEntry { counter: Counter(8), ..entry() };
        assert_eq!(refused(&|own| own[1].operation = with(of_other_call.clone())), Refused::Forged);
        let garbage = Operation::Append { value: Value::Bytes([255].as_slice().into()), order: ListOrder::Commit };
        assert!(matches!(refused(&|own| own[1].operation = garbage.clone()), Refused::NoEntry(_)));
        let life = Write { cell: LogPages::closed(page.clone()), operation: Operation::Create };
        assert_eq!(refused(&|own| own[0] = life.clone()), Refused::NoAppend, "a cell that is no life");
        assert_eq!(refused(&|own| own.swap(0, 1)), Refused::NoAppend, "a page that is created behind its entry");
        assert_eq!(refused(&|own| own[1].cell = LogPages::closed(page.clone())), Refused::NoAppend, "another column");
        let turning = with(LogEntry { turns: true, ..entry() });
        let turns = |own: &mut Vec<Write>, more: &[&Write]| {
            own[1].operation = turning.clone();
            own.extend(more.iter().copied().cloned());
        };
        let elsewhere = Write { cell: LogPages::entries(page.clone()), ..closing.clone() };
        assert_eq!(refused(&|own| turns(own, &[&elsewhere])), Refused::NoAppend, "closed in another column");
        assert_eq!(refused(&|own| turns(own, &[&closing, &closing])), Refused::NoAppend, "closed twice");
        let Operation::Append { value, .. } = with(entry()) else { unreachable!("it appends") };
        let strict = Operation::Append { value, order: ListOrder::Strict };
        assert_eq!(refused(&|own| own[1].operation = strict.clone()), Refused::NoAppend, "in another order");
        let set_at = Operation::SetAt { index: 0, value: Value::Bytes([1].as_slice().into()) };
        assert_eq!(refused(&|own| own[1].operation = set_at.clone()), Refused::NoAppend, "a rewritten entry");
        let cell = Cell::row(iolite_values::TableId::of("cells"), page);
        let read = Read::Cell { cell, element: iolite_values::Element::Whole };
        assert_eq!(admit(ID, &[read], &writes), Err(Refused::NoAppend), "a read of another table");
    }
}
