//! docs/faults.md and the code name the same faults, invariants and broken variants, and the same numbers.

use std::collections::BTreeSet;
use std::fmt::Debug;

use iolite_engine::CrashFault;
use iolite_simulation::{Broken, CentreEvent, Fault, Invariant, ObjectEvent, Occasion, RightsEvent, RowEvent};

const PAGE: &str = include_str!("../../../docs/faults.md");

/// The first column of the table whose first column has this title.
fn table(title: &str) -> BTreeSet<String> {
    let (_, after) = PAGE.split_once(&format!("\n| {title} |")).expect("the page has this table");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.split('|').nth(1).expect("a cell").trim().trim_matches('`').to_owned()).collect()
}

fn names<T: Debug>(all: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    all.into_iter().map(|one| format!("{one:?}")).collect()
}

#[test]
fn the_page_has_every_fault() {
    assert_eq!(table("Fault"), names(Fault::ALL));
    assert_eq!(table("Crash"), names(CrashFault::ALL));
}

#[test]
fn the_page_has_every_occasion() {
    assert_eq!(table("Occasion"), names(Occasion::ALL));
}

#[test]
fn the_page_has_every_row_event() {
    assert_eq!(table("Row event"), names(RowEvent::ALL));
}

#[test]
fn the_page_has_every_object_event() {
    assert_eq!(table("Object event"), names(ObjectEvent::ALL));
}

#[test]
fn the_page_has_every_rights_event() {
    assert_eq!(table("Rights event"), names(RightsEvent::ALL));
}

#[test]
fn the_page_has_every_centre_event() {
    assert_eq!(table("Centre event"), names(CentreEvent::ALL));
}

#[test]
fn the_page_has_every_broken_variant() {
    assert_eq!(table("Variant"), Broken::all().map(|broken| broken.name().to_owned()).collect());
}

#[test]
fn the_page_has_the_seeds_that_must_find_each_variant() {
    for broken in Broken::all() {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{}` |", broken.name()))).expect("it has one");
        let seeds = row.split('|').rev().nth(1).expect("a last cell").trim();
        let own = broken.seeds().map_or("seldom".to_owned(), |seeds| format!("{}..{}", seeds.start(), seeds.end()));
        assert_eq!(seeds, own, "{row}");
    }
}

#[test]
fn the_page_has_every_invariant() {
    use Invariant::{
        AllOrNothing, Allowed, Answered, Assertion, BroughtBack, Caller, Causality, ClientOrder, Conflicts, Delivery,
        DeniedForGood, Durability, Epochs, ExactlyOnce, Forward, Hidden, KeptWrites, LastState, Liveness, Merged,
        MonotonicReads, OneAtATime, OneOwner, OneSubject, Overwritten, OwnCopies, OwnWritesVisible, PendingOnce,
        Placed, ReactiveSnapshot, RealTime, Rest, Room, Serializability, Sight, Strictness, Texts, Unchanged,
        ViewPrefix,
    };
    let all = [
        Assertion,
        ExactlyOnce,
        Durability,
        Serializability,
        RealTime,
        Strictness,
        ClientOrder,
        ReactiveSnapshot,
        OwnWritesVisible,
        PendingOnce,
        MonotonicReads,
        ViewPrefix,
        Delivery,
        Texts,
        Room,
        Liveness,
        LastState,
        Rest,
        Overwritten,
        BroughtBack,
        Conflicts,
        Causality,
        Merged,
        OneOwner,
        Epochs,
        KeptWrites,
        Answered,
        Caller,
        Placed,
        Unchanged,
        OneAtATime,
        OwnCopies,
        Forward,
        AllOrNothing,
        OneSubject,
        Allowed,
        DeniedForGood,
        Hidden,
        Sight,
    ];
    // Another invariant does not compile here before it is in the list above.
    let listed = |invariant: Invariant| match invariant {
        Assertion | ExactlyOnce | Durability | Serializability | RealTime | Strictness | ClientOrder
        | ReactiveSnapshot | OwnWritesVisible | PendingOnce | MonotonicReads | ViewPrefix | Delivery | Texts | Room
        | Liveness | LastState | Rest | Overwritten | BroughtBack | Conflicts | Causality | Merged | OneOwner
        | Epochs | KeptWrites | Answered | Caller | Placed | Unchanged | OneAtATime | OwnCopies | Forward
        | AllOrNothing | OneSubject | Allowed | DeniedForGood | Hidden | Sight => true,
    };
    assert!(all.into_iter().all(listed));
    assert_eq!(table("Invariant"), names(all));
}

#[test]
fn the_page_has_the_numbers_of_the_code() {
    let report = include_str!("../src/report.rs");
    let run = include_str!("../src/run.rs");
    let world = include_str!("../src/world.rs");
    let made = include_str!("../src/world/faults_made.rs");
    let handling = include_str!("../src/world/handling.rs");
    let numbers = [
        ("fewer than 100 times", report, "FAULTS_OF_EACH_KIND: u64 = 100;"),
        ("fewer than 50 times", report, "OCCASIONS_OF_EACH_KIND: u64 = 50;"),
        ("35 times in 100 a reset tells both ends within 5 s", made, "if self.random.chance(350) {"),
        (
            "For 1 to 8 s a client's socket",
            made,
            "let until = self.moment + self.random.between(1_000, 8_000) * MILLISECOND;",
        ),
        ("up to 3 s apart", made, "let pause = self.random.between(500, 3_000) * MILLISECOND;"),
        ("(`CameBack` 30)", report, "CAME_BACK: u64 = 30;"),
        ("fewer than 20,000 mutations", report, "CONFIRMED: u64 = 20_000;"),
        ("A run of 300 seeds", report, "SEEDS: u64 = 300;"),
        ("60 and more seeds", report, "SEEDS_JUDGED_MIN: u64 = 60;"),
        ("after 40 s what it has not called is given up", run, "WORK_AT_MOST: Moment = 40 * SECOND;"),
        ("so many mutations pending (2 to 30)", include_str!("../src/habits.rs"), "random.between(2, 30)"),
        ("have ended within 5 s", run, "ANSWER_WITHIN: Moment = 5 * SECOND;"),
        ("within three minutes", run, "REST_AT_MOST: Moment = 180 * SECOND;"),
        ("two to five clients", world, "(random.between(2, 5) as usize, random.between(1, 2) as usize)"),
        ("one or two gateways", world, "(random.between(2, 5) as usize, random.between(1, 2) as usize)"),
        ("30 to 130 mutations each", world, "random.between(30, 130) as u32"),
        ("up to 5 s either way", world, "random.below(10_000_000) as i64 - 5_000_000"),
        ("7 times in 10 its machine loses power", made, "let power_cut = self.random.chance(700);"),
        ("all gateways go with it 6 times in 10", made, "let with_fronts = self.random.chance(600) || history_lost;"),
        ("1 time in 4 all replicas'", made, "let is_blackout = self.random.chance(250);"),
        (
            "For up to 3 s everything is lost",
            made,
            "let until = self.moment + self.random.between(10, 3_000) * MILLISECOND;",
        ),
        ("Half of the seeds", include_str!("../src/topology.rs"), "0..=9 => (1, 1),"),
        ("sectors of 512 bytes", include_str!("../../engine/src/memory_disk/crash.rs"), "SECTOR_BYTES: usize = 512;"),
        ("3 times in 10 for 2 to 5 s", handling, "if self.random.chance(300) { BUSY_LONG }"),
        ("for 2 to 5 s", handling, "BUSY_LONG: [Moment; 2] = [2_000 * MILLISECOND, 5_000 * MILLISECOND];"),
        ("otherwise for up to 0.4 s", handling, "BUSY_MOSTLY: Moment = 400 * MILLISECOND;"),
        ("those of eight clients in ten", include_str!("../src/habits.rs"), "(sometimes(120), 800)"),
        ("`make soak` runs 5,000", include_str!("../../../Makefile"), "simulate --seeds 1..5000"),
    ];
    for (said, source, declared) in numbers {
        assert!(source.contains(declared), "the code has no `{declared}` any more: correct the page too");
        assert!(PAGE.contains(said), "the page does not say {said:?}");
    }
}
