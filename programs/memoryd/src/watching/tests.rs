//! The daemon's choices among regions of this process.

use iolite_memory::policy::{Part, Verdict};
use iolite_memory::{Region, Restore, Slot};

use super::*;
use crate::programs::tests::{program_of, region};

const PAGE: u64 = 4096;

/// Three programs, each with one page.
struct Bed {
    programs: Programs,
    regions: Vec<(Region, Slot)>,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed { programs: Programs::default(), regions: (0..3).map(|_| region()).collect() };
        for (number, (region, _)) in (0..).zip(&bed.regions) {
            region.foreground(Restore::OnDemand).expect("all is in memory");
            bed.programs.add(number, program_of(region)).expect("there are few");
        }
        bed
    }

    fn rest(&self, number: usize) {
        self.regions[number].0.background();
        self.programs.note_sides(&self.programs.all());
    }

    fn look(&self, watch: &Watch) -> Look {
        look(&self.programs, watch).expect("a number can be read")
    }

    fn verdicts(&self) -> Vec<Option<Verdict>> {
        let answers = self.programs.list().into_iter();
        answers
            .filter_map(|answer| if let FromDaemon::Program(program) = answer { Some(program.verdict) } else { None })
            .collect()
    }

    fn choices(&self) -> Vec<Choice> {
        let answers = self.programs.list().into_iter();
        answers.filter_map(|answer| if let FromDaemon::Choice(choice) = answer { Some(choice) } else { None }).collect()
    }
}

/// The memory of the three programs, and a reserve that is not there.
fn watch(reserve_bytes: u64) -> Watch {
    Watch { limit: Limit::Regions { bytes: 3 * PAGE }, reserve_bytes: Some(reserve_bytes), floor_bytes: 0 }
}

#[test]
fn the_program_that_rests_longest_gives_and_status_says_why() {
    let bed = Bed::new();
    bed.rest(2);
    bed.rest(1);
    assert_eq!(bed.look(&watch(PAGE / 2)), Look::Near);
    let gives = Verdict::Gives { bytes: PAGE / 2 + PAGE / 8 };
    assert_eq!(bed.verdicts(), [Verdict::Foreground, Verdict::NotNeeded, gives].map(Some));
    let choices = bed.choices();
    let [choice] = &choices[..] else { panic!("one choice, not {choices:?}") };
    assert_eq!((choice.part, choice.free_bytes, choice.taken_bytes), (Part::Everything, 0, PAGE));
    assert_eq!(bed.look(&watch(PAGE / 2)), Look::Near, "the reserve is there, and not much more");
    assert_eq!((bed.look(&watch(PAGE / 4)), bed.choices().len()), (Look::Plenty, 1));
}

#[test]
fn a_program_that_came_back_begins_a_new_rest() {
    let bed = Bed::new();
    bed.rest(2);
    bed.rest(1);
    bed.regions[2].0.foreground(Restore::OnDemand).expect("all is in memory");
    assert!(bed.programs.note_sides(&bed.programs.all()));
    bed.rest(2);
    bed.look(&watch(PAGE / 2));
    let gives = Verdict::Gives { bytes: PAGE / 2 + PAGE / 8 };
    assert_eq!(bed.verdicts(), [Verdict::Foreground, gives, Verdict::NotNeeded].map(Some));
}

#[test]
fn nothing_is_taken_from_the_foreground_however_short_memory_is() {
    let bed = Bed::new();
    assert_eq!(bed.look(&watch(3 * PAGE)), Look::Nothing);
    assert!(bed.choices().is_empty());
    let memory = bed.programs.watched.list().into_iter().next();
    let short = 3 * PAGE + 3 * PAGE / 4;
    assert!(matches!(memory, Some(FromDaemon::Memory(memory)) if memory.short_bytes == short));
}

#[test]
fn the_reserve_is_a_twentieth_of_the_limit_and_never_more_than_all() {
    let memory = Memory { limit_bytes: 100, free_bytes: 50 };
    let reserve = |reserve_bytes| Watch { reserve_bytes, ..watch(0) }.settings(memory).reserve_bytes;
    assert_eq!([None, Some(7), Some(101)].map(reserve), [5, 7, 100]);
}

#[test]
fn the_last_choices_are_told() {
    let watched = Watched::default();
    for asked_bytes in 0..40 {
        let (pid, name, part) = (1, "test".to_owned(), Part::Cold);
        watched.tell_choice(Choice {
            pid,
            name,
            part,
            free_bytes: 0,
            asked_bytes,
            taken_bytes: 1,
            milliseconds_ago: 0,
        });
    }
    let told = watched.list();
    assert_eq!(told.len(), CHOICES_TOLD);
    assert!(matches!(&told[0], FromDaemon::Choice(choice) if choice.asked_bytes == 8));
}
