//! Rows whose writers saw different parts of one history.

mod oracle;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// One row: its lives, and a column of each type.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Cells {
    lives: MergedState,
    counter: MergedState,
    register: MergedState,
    set: MergedState,
}

impl Default for Cells {
    fn default() -> Cells {
        Cells {
            lives: MergedState::Lives(Lives::default()),
            counter: MergedState::Counter(LifeCounter::default()),
            register: MergedState::Register(LastWriter::default()),
            set: MergedState::Set(AddWins::default()),
        }
    }
}

impl Cells {
    fn after<'a>(&self, effects: impl IntoIterator<Item = &'a Effect>) -> Cells {
        let mut cells = self.clone();
        effects.into_iter().for_each(|effect| cells.apply(effect));
        cells
    }

    fn apply(&mut self, effect: &Effect) {
        let cell = match effect {
            Effect::Add { .. } => &mut self.counter,
            Effect::Assign { .. } => &mut self.register,
            Effect::Insert { .. } | Effect::Remove { .. } => &mut self.set,
            Effect::Touch { .. } | Effect::Bury { .. } => &mut self.lives,
        };
        cell.apply(effect).expect("its type");
    }

    fn lives(&self) -> &Lives {
        let MergedState::Lives(lives) = &self.lives else { panic!("lives") };
        lives
    }

    fn set(&self) -> &AddWins {
        let MergedState::Set(set) = &self.set else { panic!("a set") };
        set
    }

    fn total(&self) -> CellState {
        self.counter.plain(self.lives())
    }
}

/// A call of an app.
#[derive(Clone, Debug)]
enum Call {
    Create,
    Delete,
    Add(i64),
    Assign { time: u64, value: i64 },
    Insert(i64),
    Remove(i64),
}

impl Call {
    /// The effects that a writer makes of it who sees these cells. Marks follow `first`.
    fn effects(&self, sees: &Cells, first: u64) -> Vec<Effect> {
        let mut mark = (first..).map(Mark);
        let mut next = || mark.next().expect("endless");
        let Some(life) = sees.lives().lowest() else {
            let hidden = sees.set().members().filter_map(|member| sees.set().removal(member));
            let is_creation = matches!(self, Call::Create);
            return is_creation
                .then(|| Lives::insertion(next()))
                .into_iter()
                .chain(hidden.filter(|_| is_creation))
                .collect();
        };
        let of_column = match self {
            Call::Create => return Vec::new(),
            Call::Delete => return vec![sees.lives().deletion()],
            Call::Add(amount) => Some(Effect::Add { life, amount: *amount }),
            Call::Assign { time, value } => {
                let stamp = Stamp { time: HybridTime(*time), mark: next() };
                Some(Effect::Assign { stamp, value: Value::Int(*value) })
            }
            Call::Insert(value) => Some(Effect::Insert { value: Value::Int(*value), mark: next() }),
            Call::Remove(value) => sees.set().removal(&Value::Int(*value)),
        };
        sees.lives().update(next).chain(of_column).collect()
    }
}

/// Transactions, each with how many before it its writer had seen.
type History = Vec<(usize, Vec<Effect>)>;

fn calls(count: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<(Call, prop::sample::Index)>> {
    let call = prop_oneof![
        3 => Just(Call::Create),
        2 => Just(Call::Delete),
        2 => (1i64..9).prop_map(Call::Add),
        2 => (0u64..3, 0i64..9).prop_map(|(time, value)| Call::Assign { time, value }),
        2 => (0i64..2).prop_map(Call::Insert),
        1 => (0i64..2).prop_map(Call::Remove),
    ];
    proptest::collection::vec((call, any::<prop::sample::Index>()), count)
}

/// The history of these calls, and the cells after each prefix of it.
fn history(calls: &[(Call, prop::sample::Index)]) -> (History, Vec<Cells>) {
    let (mut history, mut prefixes) = (History::new(), vec![Cells::default()]);
    for (call, sees) in calls {
        // Writers see much of the history, or nothing would ever rest on anything.
        let seen = history.len() - sees.index(history.len() + 1).min(3).min(history.len());
        let effects = call.effects(&prefixes[seen], 100 * history.len() as u64);
        prefixes.push(prefixes[history.len()].after(&effects));
        history.push((seen, effects));
    }
    (history, prefixes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_two_effects_commute_where_what_they_observed_is((calls, last) in (calls(0..9), calls(3))) {
        let (_, prefixes) = history(&calls);
        let base = prefixes.last().expect("the first one");
        let made = last.iter().zip(0..).map(|((call, sees), place)| {
            call.effects(sees.get(&prefixes), 100_000 * (1 + place))
        });
        let made: Vec<Vec<Effect>> = made.collect();
        for (a, b) in made[0].iter().flat_map(|a| made[1].iter().map(move |b| (a, b))) {
            prop_assert_eq!(base.after([a, b]), base.after([b, a]), "{:?} and {:?} on {:?}", a, b, base);
        }
        let in_order = |order: [usize; 3]| base.after(order.into_iter().flat_map(|place| &made[place]));
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            prop_assert_eq!(in_order(order), in_order([0, 1, 2]), "{:?} on {:?}", &made, base);
        }
    }

    #[test]
    fn any_causal_order_gives_what_the_definitions_say((calls, ranks) in (calls(1..14), any::<[u8; 14]>())) {
        let (history, prefixes) = history(&calls);
        let (mut left, mut cells): (BTreeSet<usize>, _) = ((0..history.len()).collect(), Cells::default());
        while !left.is_empty() {
            let may_come = |place: &usize| left.range(..history[*place].0).next().is_none();
            let next = left.iter().copied().filter(may_come).min_by_key(|place| ranks[*place]).expect("the first one left");
            left.remove(&next);
            cells = cells.after(&history[next].1);
        }
        prop_assert_eq!(&cells, prefixes.last().expect("the first one"));
        let states = [&cells.lives, &cells.counter, &cells.register, &cells.set];
        let again = states.map(MergedState::effects).concat();
        prop_assert_eq!(&cells, &Cells::default().after(&again), "its own effects make it");
        let effects: Vec<Effect> = history.into_iter().flat_map(|(_, effects)| effects).collect();
        prop_assert_eq!(&cells, &oracle::by_definition(&effects), "{:?}", &effects);
        oracle::check_with_crdts(&effects, &cells);
    }
}

/// An effect of few marks, whether a device may make it or not.
fn any_effect() -> impl Strategy<Value = Effect> {
    let mark = || (0u64..4).prop_map(Mark);
    let seen = || proptest::collection::btree_set(mark(), 0..3);
    let value = || (0i64..2).prop_map(Value::Int);
    let stamp = mark().prop_map(|mark| Stamp { time: HybridTime(1), mark });
    prop_oneof![
        (mark(), 0i64..9).prop_map(|(life, amount)| Effect::Add { life, amount }),
        (stamp, value()).prop_map(|(stamp, value)| Effect::Assign { stamp, value }),
        (value(), mark()).prop_map(|(value, mark)| Effect::Insert { value, mark }),
        (value(), seen()).prop_map(|(value, seen)| Effect::Remove { value, seen }),
        (mark(), mark(), seen()).prop_map(|(life, mark, seen)| Effect::Touch { life, mark, seen }),
        seen().prop_map(|seen| Effect::Bury { seen }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn effects_that_pass_give_equal_states_also_where_what_they_name_is_not(
        (base, a, b) in (proptest::collection::vec(any_effect(), 0..9), any_effect(), any_effect())
    ) {
        let base = Cells::default().after(&base);
        if a.passes(&b) {
            prop_assert_eq!(base.after([&a, &b]), base.after([&b, &a]));
        }
    }
}

/// The cells that a writer's calls make of these, one after the other.
fn called(cells: &Cells, first: u64, calls: &[Call]) -> (Cells, Vec<Effect>) {
    calls.iter().zip(0..).fold((cells.clone(), Vec::new()), |(sees, made), (call, place)| {
        let effects = call.effects(&sees, first + 100 * place);
        (sees.after(&effects), [made, effects].concat())
    })
}

#[test]
fn a_deletion_hides_and_an_update_at_the_same_time_brings_the_row_back_whole() {
    let (base, _) = called(&Cells::default(), 1, &[Call::Create, Call::Add(5), Call::Insert(7)]);
    let (deleted, deletion) = called(&base, 1_000, &[Call::Delete]);
    assert_eq!((deleted.lives().exist(), deleted.total()), (false, CellState::Counter(0)));
    let (_, update) = called(&base, 2_000, &[Call::Add(1)]);
    let (both, _) = (deleted.after(&update), deletion);
    assert_eq!((both.lives().exist(), both.total()), (true, CellState::Counter(6)));
    assert_eq!(both.set.plain(both.lives()), CellState::Set([Value::Int(7)].into()));
}

#[test]
fn a_row_that_is_inserted_again_counts_from_zero_and_has_no_members() {
    let calls = [Call::Create, Call::Add(5), Call::Insert(7), Call::Delete, Call::Create];
    let (again, _) = called(&Cells::default(), 1, &calls);
    assert_eq!((again.lives().exist(), again.total()), (true, CellState::Counter(0)));
    assert_eq!(again.set().members().len(), 0);
}

#[test]
fn two_inserts_at_once_are_one_row_with_two_lives_which_come_back_together() {
    let (one, _) = called(&Cells::default(), 1, &[Call::Create, Call::Add(2)]);
    let (_, other) = called(&Cells::default(), 1_000, &[Call::Create, Call::Add(3)]);
    let both = one.after(&other);
    assert_eq!((both.lives().marks().len(), both.total()), (2, CellState::Counter(5)));
    assert_eq!(both.lives().lowest(), Some(Mark(1)), "later additions name the lowest life");
    let (gone, deletion) = called(&both, 2_000, &[Call::Delete]);
    assert!(!gone.lives().exist(), "a deletion buries the marks of both");
    let (_, update) = called(&both, 3_000, &[Call::Add(1)]);
    assert_eq!(both.after(&deletion).after(&update).total(), CellState::Counter(6));
}

#[test]
fn two_deletions_at_once_take_nothing_twice() {
    let (base, _) = called(&Cells::default(), 1, &[Call::Create, Call::Add(5)]);
    let (_, deletion) = called(&base, 1_000, &[Call::Delete]);
    let (_, insertion) = called(&base.after(&deletion), 2_000, &[Call::Create, Call::Add(4)]);
    let twice = base.after(&deletion).after(&insertion).after(&deletion);
    assert_eq!(twice.total(), CellState::Counter(4));
}

#[test]
fn two_values_under_one_stamp_end_alike_in_both_orders() {
    let stamp = Stamp { time: HybridTime(1), mark: Mark(1) };
    let [a, b] = [1, 2].map(|value| Effect::Assign { stamp, value: Value::Int(value) });
    assert_eq!(Cells::default().after([&a, &b]), Cells::default().after([&b, &a]));
}

#[test]
fn an_effect_of_another_type_is_an_error_and_changes_nothing() {
    let mut counter = Cells::default().counter;
    let error = counter.apply(&Effect::Bury { seen: BTreeSet::new() }).expect_err("a counter is no row");
    assert_eq!((error.is, error.wants), ("merging counter", "merging row"));
    assert_eq!(counter, Cells::default().counter);
}
