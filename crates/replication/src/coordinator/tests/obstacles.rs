//! What stays undecided and is in the way.

use iolite_store::Request;
use iolite_values::Timestamp;

use super::bench::{Bench, Said, at, commit, objected, transaction};
use crate::node::{Ask, Objection, ProposalId};

/// How many proposals are made in ten seconds, when each meets the same one.
fn proposals_in_ten_seconds(bench: &mut Bench, request: Request, with: ProposalId) -> usize {
    let mut open = bench.request(1, request);
    let (mut proposals, begun) = (0, bench.now.instant);
    while bench.now.instant.since(begun).as_secs() < 10 {
        for said in std::mem::take(&mut open) {
            if let Said::Asks(number, Ask::Prepare { .. }) = said {
                proposals += 1;
                open.extend(bench.answer(number, objected(Objection::Busy { with })));
            }
        }
        if open.is_empty() {
            open = bench.wait().1;
        }
    }
    proposals
}

#[test]
fn what_stays_undecided_is_met_once_a_second_in_the_end() {
    let mut bench = Bench::open();
    let stuck = |at: Timestamp, counter| ProposalId { at, ..id_of(counter) };
    let first = proposals_in_ten_seconds(&mut bench, commit(1), stuck(at(1), 8));
    assert!((20..=80).contains(&first), "{first}");
    let later = proposals_in_ten_seconds(&mut bench, commit(2), stuck(at(1), 8));
    assert!((10..=80).contains(&later), "{later}");
}

fn id_of(counter: u64) -> ProposalId {
    let transaction = transaction(counter);
    ProposalId { at: Timestamp::ZERO, transaction: transaction.id, attempt: transaction.attempt }
}

/// Others are quick, so whoever is in the way is another one each time.
#[test]
fn what_is_in_the_way_for_a_moment_is_not_waited_for_longer() {
    let mut bench = Bench::open();
    let mut open = bench.request(1, commit(1));
    let mut longest = 0;
    for other in 0..50 {
        let with = ProposalId { at: at(other), ..id_of(9 + other) };
        while let Some(Said::Asks(number, _)) =
            open.iter().find(|said| matches!(said, Said::Asks(_, Ask::Prepare { .. })))
        {
            open = bench.answer(*number, objected(Objection::Busy { with }));
        }
        let begun = bench.now.instant;
        while !open.iter().any(|said| matches!(said, Said::Asks(_, Ask::Prepare { .. }))) {
            open = bench.wait().1;
        }
        longest = longest.max(bench.now.instant.since(begun).as_millis());
    }
    assert!((10..=50).contains(&longest), "{longest}");
}
