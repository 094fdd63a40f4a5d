//! The policy over worlds that are written out, and over worlds that are drawn.

use proptest::prelude::*;

use super::*;

const SETTINGS: Settings = Settings { reserve_bytes: 80, floor_bytes: 10 };

fn program(number: u64, rests_since: Option<u64>, numbers: [u64; 3]) -> Numbers {
    let [resident_bytes, reclaimable_bytes, cold_bytes] = numbers;
    Numbers { number, rests_since, resident_bytes, reclaimable_bytes, cold_bytes }
}

fn order(number: u64, part: Part, bytes_max: u64) -> Order {
    Order { number, part, bytes_max }
}

#[test]
fn nothing_is_taken_while_the_reserve_is_there() {
    let programs = vec![program(1, Some(1), [50, 50, 50])];
    assert_eq!(plan(SETTINGS, &World { free_bytes: 80, programs }), None);
}

#[test]
fn cold_objects_go_first_and_who_rested_longest_gives_first() {
    let programs = vec![
        program(1, Some(9), [50, 50, 20]),
        program(2, None, [90, 90, 90]),
        program(3, Some(4), [60, 60, 30]),
        program(4, Some(5), [60, 0, 0]),
        program(5, Some(6), [10, 10, 10]),
        program(6, Some(10), [50, 50, 0]),
    ];
    let plan = plan(SETTINGS, &World { free_bytes: 30, programs }).expect("the reserve is not there");
    let orders = [order(3, Part::Cold, 30), order(1, Part::Cold, 20), order(3, Part::Everything, 20)];
    assert_eq!(plan.orders, orders);
    let verdicts = [
        (1, Verdict::Gives { bytes: 20 }),
        (2, Verdict::Foreground),
        (3, Verdict::Gives { bytes: 50 }),
        (4, Verdict::NothingSaved),
        (5, Verdict::AtFloor),
        (6, Verdict::NotNeeded),
    ];
    assert_eq!((plan.verdicts, plan.short_bytes), (verdicts.to_vec(), 0));
}

#[test]
fn what_no_program_can_give_is_told() {
    let programs = vec![program(1, Some(1), [50, 50, 0])];
    let plan = plan(SETTINGS, &World { free_bytes: 0, programs }).expect("the reserve is not there");
    assert_eq!((plan.orders, plan.short_bytes), (vec![order(1, Part::Everything, 40)], 60));
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let bytes = || 0..200_u64;
    (proptest::option::of(0..9_u64), bytes(), bytes(), bytes())
        .prop_map(|(rests_since, resident, reclaimable, cold)| program(0, rests_since, [resident, reclaimable, cold]))
}

proptest! {
    /// A table may lie: more cold bytes than reclaimable ones, more of these than resident ones.
    #[test]
    fn the_rules_hold_in_drawn_worlds(
        free_bytes in 0..200_u64,
        mut programs in proptest::collection::vec(numbers(), 0..9),
        reserve_bytes in 0..300_u64,
        floor_bytes in 0..50_u64,
    ) {
        (0..).zip(&mut programs).for_each(|(number, program)| program.number = number);
        let world = World { free_bytes, programs };
        let Some(plan) = plan(Settings { reserve_bytes, floor_bytes }, &world) else {
            prop_assert!(free_bytes >= reserve_bytes);
            return Ok(());
        };
        let asked: u64 = plan.orders.iter().map(|order| order.bytes_max).sum();
        prop_assert_eq!(free_bytes + asked + plan.short_bytes, reserve_bytes + reserve_bytes / 4);
        for program in &world.programs {
            let its = plan.orders.iter().filter(|order| order.number == program.number);
            let bytes: u64 = its.map(|order| order.bytes_max).sum();
            prop_assert!(bytes == 0 || program.rests_since.is_some());
            prop_assert!(bytes == 0 || program.resident_bytes - bytes >= floor_bytes);
            prop_assert!(bytes <= program.reclaimable_bytes);
            let can_give = program.resident_bytes.saturating_sub(floor_bytes).min(program.reclaimable_bytes);
            let is_left = program.rests_since.is_some() && bytes < can_give;
            prop_assert!(!is_left || plan.short_bytes == 0);
        }
        let first_warm = plan.orders.iter().position(|order| order.part == Part::Everything);
        let colds_end = plan.orders.iter().rposition(|order| order.part == Part::Cold);
        prop_assert!(first_warm.zip(colds_end).is_none_or(|(warm, cold)| cold < warm));
    }
}
