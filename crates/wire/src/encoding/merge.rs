//! Effects of tables that merge, and what they left.
//!
//! Invariant: one effect, and one state, have one encoding: what is read is compared with what is written for it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{
    AddWins, Effect, HybridTime, LastWriter, LifeCounter, Lives, Mark, MergedState, Stamp, Value, map_of, set_of,
};

use crate::DecodeError;
use crate::generated::proto::{self, MergeKind, MergedType};

use super::reader::each;
use super::value;

pub(crate) fn write_effect(effect: &Effect) -> proto::MergeEffect {
    let mut message = proto::MergeEffect::default();
    let marks = |seen: &BTreeSet<Mark>| seen.iter().map(|mark| mark.0).collect();
    let kind = match effect {
        Effect::Add { life, amount } => {
            (message.life, message.amount) = (life.0, *amount);
            MergeKind::Add
        }
        Effect::Assign { stamp, value } => {
            (message.mark, message.time) = (stamp.mark.0, stamp.time.0);
            message.value = Some(value::write(value));
            MergeKind::Assign
        }
        Effect::Insert { value, mark } => {
            (message.mark, message.value) = (mark.0, Some(value::write(value)));
            MergeKind::Insert
        }
        Effect::Remove { value, seen } => {
            (message.value, message.seen) = (Some(value::write(value)), marks(seen));
            MergeKind::Remove
        }
        Effect::Touch { life, mark, seen } => {
            (message.life, message.mark, message.seen) = (life.0, mark.0, marks(seen));
            MergeKind::Touch
        }
        Effect::Bury { seen } => {
            message.seen = marks(seen);
            MergeKind::Bury
        }
    };
    message.kind = kind.into();
    message
}

pub(crate) fn read_effect(message: proto::MergeEffect) -> Result<Effect, DecodeError> {
    let unknown = DecodeError::malformed("an effect of no known kind");
    let kind = MergeKind::try_from(message.kind).map_err(|_| unknown)?;
    let (mark, life) = (Mark(message.mark), Mark(message.life));
    let seen = || set_of(message.seen.iter().copied().map(Mark));
    let value = || value::read_required(message.value.clone());
    let effect = match kind {
        MergeKind::Unspecified => return Err(unknown),
        MergeKind::Add => Effect::Add { life, amount: message.amount },
        MergeKind::Assign => Effect::Assign { stamp: stamp(message.time, mark), value: value()? },
        MergeKind::Insert => Effect::Insert { value: value()?, mark },
        MergeKind::Remove => Effect::Remove { value: value()?, seen: seen() },
        MergeKind::Touch => Effect::Touch { life, mark, seen: seen() },
        MergeKind::Bury => Effect::Bury { seen: seen() },
    };
    if write_effect(&effect) != message {
        return Err(DecodeError::malformed("an effect has its own parts only, and its marks in order"));
    }
    Ok(effect)
}

pub(crate) fn write_state(state: &MergedState) -> proto::MergedState {
    let mut message = proto::MergedState::default();
    let own = match state {
        MergedState::Counter(counter) => {
            (message.lives, message.sums) = counter.sums().map(|(life, sum)| (life.0, sum)).unzip();
            MergedType::Counter
        }
        MergedState::Register(register) => {
            if let Some((stamp, value)) = register.last() {
                (message.mark, message.time) = (stamp.mark.0, stamp.time.0);
                message.values = vec![value::write(value)];
            }
            MergedType::Register
        }
        MergedState::Set(set) => {
            for (value, marks) in set.marks() {
                message.values.push(value::write(value));
                push_marks(&mut message, marks);
            }
            MergedType::Set
        }
        MergedState::Lives(lives) => {
            for (life, marks) in lives.marks() {
                message.lives.push(life.0);
                push_marks(&mut message, marks);
            }
            MergedType::Lives
        }
    };
    message.r#type = own.into();
    message
}

fn push_marks(message: &mut proto::MergedState, marks: &BTreeSet<Mark>) {
    message.counts.push(u32::try_from(marks.len()).expect("a row has a bound far below"));
    message.marks.extend(marks.iter().map(|mark| mark.0));
}

pub(crate) fn read_state(message: proto::MergedState) -> Result<MergedState, DecodeError> {
    let unknown = DecodeError::malformed("a cell that merges is of no known type");
    let lives = || message.lives.iter().copied().map(Mark);
    let values = || each(message.values.clone(), value::read);
    let state = match MergedType::try_from(message.r#type).map_err(|_| unknown)? {
        MergedType::Unspecified => return Err(unknown),
        MergedType::Counter => {
            MergedState::Counter(LifeCounter::from_sums(map_of(lives().zip(message.sums.iter().copied()))))
        }
        MergedType::Register => {
            let value: Option<Value> = values()?.into_iter().next();
            let last = value.map(|value| (stamp(message.time, Mark(message.mark)), value));
            MergedState::Register(LastWriter::from_last(last))
        }
        MergedType::Set => MergedState::Set(AddWins::from_marks(by_counts(&message, values()?))),
        MergedType::Lives => MergedState::Lives(Lives::from_marks(by_counts(&message, lives().collect()))),
    };
    if write_state(&state) != message {
        return Err(DecodeError::malformed("a cell that merges has its own parts only, in order and once each"));
    }
    Ok(state)
}

/// The marks of each member or life. Where counts and marks do not fit, what is made of them is not what was read.
fn by_counts<K: Ord>(message: &proto::MergedState, keys: Vec<K>) -> BTreeMap<K, BTreeSet<Mark>> {
    let mut marks = message.marks.iter().copied().map(Mark);
    let own = keys.into_iter().zip(&message.counts);
    map_of(own.map(|(key, count)| (key, set_of(marks.by_ref().take(*count as usize)))))
}

fn stamp(time: u64, mark: Mark) -> Stamp {
    Stamp { time: HybridTime(time), mark }
}
