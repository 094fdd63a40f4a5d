//! Lanes: what is submitted, in which order, and how much at once.

use iolite_machine::WallTime;
use iolite_values::{
    Attempt, Cell, CellState, ColumnId, Element, Interest, LaneNumber, Operation, RowKey, Schema, TableId, Timestamp,
    Value, Write,
};
use iolite_wire::limits;
use iolite_wire::message::{Submit, Verdict};

use super::*;
use crate::Client;
use crate::transaction::{Missed, Stopped};
use crate::view::Overlay;

const SCHEMA: &str = r#"{"tables":{"hits":{"columns":{"id":{"type":"int"},"n":{"type":"counter"},
    "text":{"type":"string","optional":true}},"key":["id"],"live":true}}}"#;

fn cell(row: i64, column: &str) -> Cell {
    let row = RowKey::new(&[Value::Int(row)]).expect("short");
    Cell { table: TableId::of("hits"), row, column: ColumnId::of(column) }
}

fn put(row: i64, text: &str) -> Write {
    Write { cell: cell(row, "text"), operation: Operation::Put(Value::from(text)) }
}

fn missed() -> Interest {
    Interest::Cell(cell(99, "text"))
}

/// A mutation that is stored and has run.
fn saved(counter: u64, lane: u32, reads: Vec<Read>, writes: Vec<Write>) -> Entry {
    let reads = reads.into_iter().map(|read| (read, iolite_values::Digest::of(()))).collect();
    let ran = Ran { reads, assumed: BTreeSet::new(), result: RunResult::Writes(writes) };
    Entry { state: RunState::Done(ran), ..waiting(counter, lane) }
}

/// A mutation that is stored and misses something.
fn waiting(counter: u64, lane: u32) -> Entry {
    let (kind, called_at, ticket) = (MutationKind::Closure, WallTime::default(), None);
    let mutation = Mutation { counter: Counter(counter), kind, called_at, ticket, log: None };
    let missed = vec![Missed { interest: missed(), first: None }];
    let state = RunState::Missing(Stopped { missed, reads: Vec::new() });
    Entry { lane: LaneNumber(lane), state, ..Entry::new(mutation, Stage::Saved) }
}

struct Bench {
    queue: Queue,
    cache: Cache,
    schema: Schema,
    session_lanes: usize,
}

impl Bench {
    fn with_window(window: usize) -> Bench {
        let queue = Queue { windows: Windows { strong: window, ..Windows::default() }, ..Queue::default() };
        let schema = Schema::from_json(SCHEMA).expect("a good schema");
        Bench { queue, cache: Cache::default(), schema, session_lanes: 1 }
    }

    /// Each mutation with its lane, writing to a row of its own.
    fn call(&mut self, calls: impl IntoIterator<Item = (u64, u32)>) {
        for (counter, lane) in calls {
            self.queue.push(saved(counter, lane, Vec::new(), vec![put(counter as i64, "x")]));
        }
    }

    /// A mutation that waits for data which is asked for and does not come.
    fn call_in_vain(&mut self, counter: u64, lane: u32) {
        self.cache.interests.require(&missed(), None, Demand::Mutation(Counter(counter)));
        self.queue.push(waiting(counter, lane));
    }

    fn submit(&mut self) -> Option<Submit> {
        assert_eq!(self.queue.settle(&self.cache, &Overlay::default()), Step::Settled);
        let submit = self.queue.next_submission(
            self.cache.at(),
            self.session_lanes,
            &self.schema,
            |_, _| true,
            |_, _| None,
            |_| {},
        );
        self.queue.lanes.validate(self.queue.entries.iter().map(|(counter, entry)| (entry.lane, counter)));
        self.queue.validate_windows();
        submit
    }

    /// Everything that may be submitted now.
    fn submit_all(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.submit()).map(|submit| submit.counter.0).collect()
    }

    fn hear(&mut self, counter: u64, verdict: Verdict) -> Option<Decided> {
        self.queue.decide(&Outcome { counter: Counter(counter), attempt: Attempt(1), verdict })
    }

    /// Commits a mutation, and shows a confirmed state that contains it.
    fn confirm(&mut self, counter: u64) {
        assert!(self.hear(counter, Verdict::Committed(self.cache.at())).is_some());
        assert!(self.queue.remove(Counter(counter)).is_some());
    }
}

#[test]
fn a_strong_lane_has_so_many_on_their_way_until_the_confirmed_state_contains_the_first() {
    let mut bench = Bench::with_window(Windows::default().strong);
    bench.call((1..=40).map(|counter| (counter, 0)));
    assert_eq!(bench.submit_all(), (1..=32).collect::<Vec<_>>());
    let later = Timestamp::from_u64(10);
    assert_eq!(bench.hear(1, Verdict::Committed(later)), Some(Decided::Committed(later)));
    assert!(bench.submit_all().is_empty(), "it is not in the confirmed state");
    bench.queue.remove(Counter(1));
    assert_eq!(bench.submit_all(), [33]);
}

#[test]
fn each_says_which_unanswered_one_it_follows() {
    let mut bench = Bench::with_window(3);
    bench.call([(1, 0), (2, 0), (3, 0), (4, 0)]);
    let follows =
        |submits: Vec<Submit>| submits.into_iter().map(|own| own.follows.map(|one| one.0)).collect::<Vec<_>>();
    assert_eq!(follows(std::iter::from_fn(|| bench.submit()).collect()), [None, Some(1), Some(2)]);
    bench.confirm(1);
    bench.confirm(2);
    bench.confirm(3);
    assert_eq!(follows(std::iter::from_fn(|| bench.submit()).collect()), [None], "all before it have committed");
}

#[test]
fn what_read_a_pending_write_waits_and_holds_up_those_behind_it() {
    let mut bench = Bench::with_window(10);
    let read = |row| vec![Read::Cell { cell: cell(row, "text"), element: Element::Whole }];
    bench.queue.push(saved(1, 0, Vec::new(), vec![put(7, "a")]));
    bench.queue.push(saved(2, 0, read(6), vec![put(8, "b")]));
    bench.queue.push(saved(3, 0, read(7), vec![put(9, "c")]));
    bench.queue.push(saved(4, 0, Vec::new(), vec![put(10, "d")]));
    assert_eq!(bench.submit_all(), [1, 2]);
}

#[test]
fn a_window_of_two_lets_two_be_sent_and_no_more() {
    let mut bench = Bench::with_window(2);
    bench.call([(1, 0), (2, 0), (3, 0), (4, 0)]);
    assert_eq!(bench.submit_all(), [1, 2]);
    bench.confirm(1);
    assert_eq!(bench.submit_all(), [3]);
    let later = Timestamp::from_u64(10);
    assert_eq!(bench.hear(2, Verdict::Conflict(later)), Some(Decided::Again));
    bench.confirm(3);
    assert!(bench.submit_all().is_empty(), "what was refused is in front of the others");
    bench.cache.advance(later);
    let again = bench.submit().expect("the confirmed state is as far");
    assert_eq!((again.counter, again.attempt, again.snapshot), (Counter(2), Attempt(2), later));
    assert_eq!(bench.submit_all(), [4]);
}

#[test]
fn what_was_sent_in_a_window_is_sent_again_unchanged_and_in_order() {
    let mut bench = Bench::with_window(2);
    bench.call([(1, 0), (2, 0), (3, 0)]);
    let sent: Vec<Submit> = std::iter::from_fn(|| bench.submit()).collect();
    bench.queue.session_lost();
    bench.cache.advance(Timestamp::from_u64(10));
    let again: Vec<Submit> = std::iter::from_fn(|| bench.submit()).collect();
    assert_eq!((again.len(), &again), (2, &sent));
}

#[test]
fn two_lanes_are_sent_side_by_side_and_each_in_its_own_order() {
    let mut bench = Bench::with_window(1);
    bench.call([(1, 0), (2, 1), (3, 0), (4, 1)]);
    assert_eq!(bench.submit_all(), [1, 2]);
    bench.confirm(2);
    assert_eq!(bench.submit_all(), [4]);
    bench.confirm(1);
    assert_eq!(bench.submit_all(), [3]);
}

#[test]
fn a_lane_that_stands_still_holds_up_no_other_and_comes_first_among_what_is_pending() {
    let mut bench = Bench::with_window(1);
    bench.call_in_vain(1, 0);
    bench.call([(2, 1), (3, 0), (4, 1)]);
    assert_eq!(bench.submit_all(), [2]);
    bench.confirm(2);
    assert_eq!(bench.submit_all(), [4]);
    let first = bench.queue.entries().next().expect("it stands still");
    assert_eq!((first.counter(), first.status().waits_for_data), (Counter(1), true));
}

#[test]
fn a_strong_mutation_waits_for_what_it_read_of_another_lane() {
    let mut bench = Bench::with_window(1);
    let read = |row| vec![Read::Cell { cell: cell(row, "text"), element: Element::Whole }];
    bench.queue.push(saved(1, 0, Vec::new(), vec![put(7, "a")]));
    bench.queue.push(saved(2, 1, read(7), vec![put(8, "b")]));
    bench.queue.push(saved(3, 2, read(6), vec![put(9, "c")]));
    assert_eq!(bench.submit_all(), [1, 3], "the second has read what nobody has committed");
    bench.confirm(1);
    assert_eq!(
        bench.queue.settle(&bench.cache, &Overlay::default()),
        Step::Run(Counter(2)),
        "it runs again, on the confirmed state"
    );
}

#[test]
fn effects_stand_in_the_order_of_calls_whatever_the_lanes() {
    let mut bench = Bench::with_window(1);
    bench.queue.push(saved(1, 1, Vec::new(), vec![put(7, "first")]));
    bench.queue.push(saved(2, 0, Vec::new(), vec![put(7, "second")]));
    bench.queue.push(saved(3, 1, Vec::new(), vec![put(7, "third")]));
    assert_eq!(bench.submit_all(), [1, 2]);
    let shown = |bench: &Bench| {
        let row = bench.queue.overlay().row(TableId::of("hits"), &cell(7, "text").row).expect("it is written");
        row.cell(ColumnId::of("text")).cloned()
    };
    assert_eq!(shown(&bench), Some(CellState::Scalar(Value::from("third"))));
    bench.queue.remove(Counter(3));
    assert!(bench.submit_all().is_empty());
    assert_eq!(shown(&bench), Some(CellState::Scalar(Value::from("second"))));
}

#[test]
fn three_hundred_calls_over_two_lanes_are_sent_as_a_session_takes_them() {
    let mut bench = Bench::with_window(300);
    bench.call((1..=300).map(|counter| (counter, (counter % 2) as u32)));
    let most = limits::SUBMITS_OPEN.most - 2;
    let mut open = bench.submit_all();
    assert_eq!(open, (1..=most as u64).collect::<Vec<_>>(), "one of each lane may be with the store from before");
    bench.queue.session_lost();
    assert_eq!(bench.submit_all(), open, "all are sent again, and no others");
    for confirmed in 1..=300 {
        bench.confirm(confirmed);
        open.extend(bench.submit_all());
        assert!(open.len() as u64 - confirmed <= most as u64);
    }
    assert_eq!(open, (1..=300).collect::<Vec<_>>());
}

#[test]
fn a_place_is_kept_for_each_lane_of_the_session_whether_it_has_calls_or_not() {
    let mut bench = Bench::with_window(300);
    bench.session_lanes = 65;
    bench.call((1..=300).map(|counter| (counter, 0)));
    assert_eq!(bench.submit_all().len(), limits::SUBMITS_OPEN.most - 65);
}

#[test]
fn what_all_lanes_have_sent_takes_so_many_bytes_and_no_more() {
    let mut bench = Bench::with_window(10);
    let large = "x".repeat(1_000_000);
    for counter in 1..=6 {
        bench.queue.push(saved(counter, (counter % 2) as u32, Vec::new(), vec![put(counter as i64, &large)]));
    }
    assert_eq!(bench.submit_all(), [1, 2, 3, 4]);
    bench.confirm(2);
    assert_eq!(bench.submit_all(), [5]);
}

#[test]
fn what_is_larger_than_a_session_takes_is_sent_alone() {
    let mut bench = Bench::with_window(10);
    bench.call([(1, 0)]);
    let large = "x".repeat(limits::SUBMITS_OPEN_BYTES.most);
    bench.queue.push(saved(2, 1, Vec::new(), vec![put(2, &large)]));
    assert_eq!(bench.submit_all(), [1]);
    bench.confirm(1);
    assert_eq!(bench.submit_all(), [2], "the gateway refuses it, and the lane goes on");
}

#[test]
fn outcomes_that_cannot_be_acknowledged_are_so_many_and_no_more() {
    let mut bench = Bench::with_window(3);
    bench.call_in_vain(1, 0);
    bench.call([(Client::UNACKNOWLEDGED_MAX, 1), (Client::UNACKNOWLEDGED_MAX + 1, 1)]);
    assert_eq!(bench.submit_all(), [Client::UNACKNOWLEDGED_MAX]);
    bench.queue.remove(Counter(1));
    assert_eq!(bench.submit_all(), [Client::UNACKNOWLEDGED_MAX + 1]);
}

#[test]
fn a_lane_is_in_the_order_of_calls_whenever_its_mutations_come_to_it() {
    let mut lanes = Lanes::default();
    for (lane, counter) in [(0, 1), (1, 4), (0, 3), (1, 2)] {
        lanes.insert(LaneNumber(lane), Counter(counter));
    }
    assert_eq!(lanes.each().collect::<Vec<_>>(), [&[1, 3].map(Counter), &[2, 4].map(Counter)]);
}

/// A mutation that is confirmed as it was foreseen costs those behind it nothing: they are not put on the confirmed state once more.
#[test]
fn a_long_queue_that_nobody_disturbs_stays_where_it_is() {
    let add = || Write { cell: cell(7, "n"), operation: Operation::Add(1) };
    for writes in [(|counter| put(counter, "x")) as fn(i64) -> Write, |_| Write {
        cell: cell(7, "n"),
        operation: Operation::Add(1),
    }] {
        let mut bench = Bench::with_window(32);
        for counter in 1..=100 {
            bench.queue.push(saved(counter, 0, Vec::new(), vec![writes(counter as i64)]));
        }
        bench.submit_all();
        for first in (1..=100).step_by(2) {
            let to = Timestamp::from_u64(first);
            let outcome =
                |counter| Outcome { counter: Counter(counter), attempt: Attempt(1), verdict: Verdict::Committed(to) };
            let outcomes = [outcome(first), outcome(first + 1)];
            let foreseen = bench.queue.foresee(&outcomes, to, &bench.cache).expect("both are settled");
            bench.cache.advance(to);
            outcomes.iter().for_each(|outcome| drop(bench.queue.decide(outcome)));
            assert_eq!(bench.queue.sink(&foreseen, &bench.cache).len(), 2);
            assert!(bench.queue.settled >= Counter(100), "nothing is put anew");
            bench.submit_all();
        }
        assert_eq!(bench.queue.len(), 0);
    }
    let mut disturbed = Bench::with_window(1);
    disturbed.queue.push(saved(1, 0, Vec::new(), vec![add()]));
    disturbed.submit_all();
    disturbed.queue.unsettle([(cell(8, "n").table, cell(8, "n").row)]);
    assert_eq!(disturbed.queue.settled, Counter(1), "nobody stands on this row");
    disturbed.queue.unsettle([(cell(7, "n").table, cell(7, "n").row)]);
    assert_eq!(disturbed.queue.settled, Counter(0));
}
