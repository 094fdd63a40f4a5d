//! Two other ways to the same cells: the definitions, over the set of all effects, and the types of the crate `crdts`.

use std::collections::BTreeMap;

use crdts::{CmRDT, Dot, LWWReg, Orswot, VClock, orswot};

use super::*;

/// The cells after these effects, whatever their order.
pub(super) fn by_definition(effects: &[Effect]) -> Cells {
    let buried =
        |mark: &Mark| effects.iter().any(|other| matches!(other, Effect::Bury { seen } if seen.contains(mark)));
    let replaced = |own: &Mark, mark: &Mark| {
        let sees =
            |other: &Effect| matches!(other, Effect::Touch { life, seen, .. } if life == own && seen.contains(mark));
        effects.iter().any(sees)
    };
    let removed = |own: &Value, mark: &Mark| {
        let sees =
            |other: &Effect| matches!(other, Effect::Remove { value, seen } if value == own && seen.contains(mark));
        effects.iter().any(sees)
    };
    let (mut lives, mut sums, mut members) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut last = None;
    for effect in effects {
        match effect {
            Effect::Touch { life, mark, .. } if !buried(mark) && !replaced(life, mark) => {
                lives.entry(*life).or_insert_with(BTreeSet::new).insert(*mark);
            }
            Effect::Insert { value, mark } if !removed(value, mark) => {
                members.entry(value.clone()).or_insert_with(BTreeSet::new).insert(*mark);
            }
            Effect::Add { life, amount } => *sums.entry(*life).or_insert(0) += amount,
            Effect::Assign { stamp, value } => last = last.max(Some((*stamp, value.clone()))),
            Effect::Touch { .. } | Effect::Insert { .. } | Effect::Remove { .. } | Effect::Bury { .. } => {}
        }
    }
    Cells {
        lives: MergedState::Lives(Lives::from_marks(lives)),
        counter: MergedState::Counter(LifeCounter::from_sums(sums)),
        register: MergedState::Register(LastWriter::from_last(last)),
        set: MergedState::Set(AddWins::from_marks(members)),
    }
}

/// Sets, rows and registers are those of `crdts`, where each mark is an actor of its own. A row is a set of its lives there. It has no counter of lives.
pub(super) fn check_with_crdts(effects: &[Effect], cells: &Cells) {
    let (mut lives, mut set) = (Orswot::<Mark, Mark>::new(), Orswot::<Value, Mark>::new());
    let mut register = LWWReg { val: Value::Null, marker: None };
    for effect in effects {
        match effect {
            Effect::Touch { life, mark, seen } => {
                lives.apply(removal(seen, [*life]));
                lives.apply(orswot::Op::Add { dot: Dot::new(*mark, 1), members: vec![*life] });
            }
            Effect::Bury { seen } => lives.apply(removal(seen, lives.read().val)),
            Effect::Insert { value, mark } => {
                set.apply(orswot::Op::Add { dot: Dot::new(*mark, 1), members: vec![value.clone()] });
            }
            Effect::Remove { value, seen } => set.apply(removal(seen, [value.clone()])),
            Effect::Assign { stamp, value } => register.update(value.clone(), Some(*stamp)),
            Effect::Add { .. } => {}
        }
    }
    let own_lives = cells.lives().marks().map(|(life, _)| life).collect();
    assert_eq!(lives.read().val, own_lives);
    assert_eq!(set.read().val, cells.set().members().cloned().collect());
    assert_eq!(cells.register.plain(cells.lives()), CellState::Register(register.val));
}

fn removal<M>(seen: &BTreeSet<Mark>, members: impl IntoIterator<Item = M>) -> orswot::Op<M, Mark> {
    let clock: VClock<Mark> = seen.iter().map(|mark| Dot::new(*mark, 1)).collect();
    orswot::Op::Rm { clock, members: members.into_iter().collect() }
}
