//! What is of another shard.

use iolite_machine::PersistId;
use iolite_store::{ReadLimit, Refusal};
use iolite_values::{Interest, KeyRange, Operation, Read, TableId, Timestamp, Transaction};

use super::bench::{Bench, Prepared, Said, at, blind, cell, put, read, reading, write};
use crate::completions::completions_table;
use crate::configuration::configuration_cell;
use crate::extent::Extent;
use crate::node::{Answer, Ask, Objection, Proposal, ShardId};
use crate::shards::Place;

const REFUSED: Refusal = Refusal::OtherShard { table: TableId(1) };

fn place(row: i64) -> Place {
    Place { table: cell(row).table, key: cell(row).row }
}

/// Who keeps rows 5 to 8 of the table, and nothing else.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.replica.settings.extent = Extent { from: place(5), until: Some(place(9)) };
    bench
}

/// A transaction whose client's records are elsewhere.
fn prepare(bench: &mut Bench, transaction: &Transaction) -> Answer {
    let Ask::Prepare { proposal, after } = super::bench::prepare(transaction, at(1)) else { panic!("it is a Prepare") };
    let proposal = Proposal { is_home: false, ..(*proposal).clone() };
    bench.answer(Ask::Prepare { proposal: proposal.into(), after })
}

fn is_refused(answer: &Answer) -> bool {
    let refused = Objection::Refused(REFUSED);
    matches!(answer, Answer::Voted(voted) if voted.objection == Some(refused) && voted.outcome.is_none())
}

fn range(lower: i64, upper: i64) -> (TableId, KeyRange) {
    let [lower, upper] = [lower, upper].map(|row| place(row).key.as_bytes().into());
    (cell(0).table, KeyRange { lower, upper: Some(upper) })
}

#[test]
fn proposals_that_write_or_read_rows_of_another_shard_are_refused() {
    for (row, refused) in [(4, true), (5, false), (8, false), (9, true)] {
        let mut bench = bench();
        assert_eq!(is_refused(&prepare(&mut bench, &put(1, row))), refused, "row {row} is written");
        let reads = reading(2, Timestamp::ZERO, vec![read(row)], Vec::new());
        assert_eq!(is_refused(&prepare(&mut bench, &reads)), refused, "row {row} is read");
    }
    for (lower, upper, refused) in [(5, 9, false), (4, 9, true), (5, 10, true)] {
        let (table, range) = range(lower, upper);
        let reads = reading(1, Timestamp::ZERO, vec![Read::Range { table, range }], Vec::new());
        assert_eq!(is_refused(&prepare(&mut bench(), &reads)), refused, "rows {lower} to {upper} are read");
    }
}

#[test]
fn so_is_the_outcome_of_a_client_whose_records_are_of_another_shard() {
    let refused = Refusal::OtherShard { table: completions_table() };
    assert_eq!(bench().prepare(&put(1, 5), at(1)), Prepared::Refused(refused));
}

#[test]
fn so_are_reads_at_a_timestamp() {
    let mut bench = bench();
    bench.close(at(1));
    let mut read = |interest: Interest| {
        bench.ask(Ask::ReadAt { interest, at: at(1), limit: ReadLimit::NONE, looks: usize::MAX }).pop()
    };
    let refused = Some(Said::Answer(PersistId::START, Answer::Refused(REFUSED)));
    assert_eq!(read(Interest::Cell(cell(4))), refused);
    let (table, key_range) = range(5, 10);
    assert_eq!(read(Interest::Range { table, range: key_range }), refused);
    assert!(matches!(read(Interest::Cell(cell(5))), Some(Said::Answer(_, Answer::Read(Ok(_))))));
}

#[test]
fn so_are_questions_whether_reads_are_valid() {
    for (row, expected) in [(4, Answer::Refused(REFUSED)), (5, Answer::Valid(Ok(())))] {
        let reads = [read(row)].into();
        let said = bench().ask(Ask::Validate { snapshot: Timestamp::ZERO, reads });
        assert_eq!(said, [Said::Answer(PersistId::START, expected)], "row {row}");
    }
}

#[test]
fn what_a_shard_says_of_itself_is_kept_by_itself() {
    let mut bench = bench();
    let mut write = write(5, Operation::Delete);
    write.cell = configuration_cell(ShardId::default());
    let answer = prepare(&mut bench, &blind(1, vec![write]));
    let Answer::Voted(voted) = answer else { panic!("{answer:?}") };
    assert!(!matches!(voted.objection, Some(Objection::Refused(Refusal::OtherShard { .. }))), "{voted:?}");
}
