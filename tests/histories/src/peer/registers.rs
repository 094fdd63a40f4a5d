//! Registers, with what may be assumed of a strictly serializable store: that a transaction's write follows its read, that each register is
//! linearizable, and the order of timestamps if all are known.

use std::collections::{HashMap, HashSet};

use adya::history::{Mop, OpType, ReadValue, Scalar};
use adya::{Opts, Workload};

use super::{PeerVerdict, Translated, Translation};
use crate::history::{History, Outcome};
use crate::operation::{Object, Operation, Register, Value};

/// Up to so many transactions real time may say which value came first. It walks on from each one until it meets the register again, which
/// takes time with the square of the history.
const BY_TIME: usize = 4000;

pub fn check(history: &History) -> PeerVerdict {
    let mut translation = Translation::new(seen(history));
    for transaction in history.all() {
        let wrote = transaction.operations.iter().filter_map(|operation| match *operation {
            Operation::Write { register, value } => Some((Object::Register(register), value)),
            Operation::Read { .. }
            | Operation::Append { .. }
            | Operation::ReadList { .. }
            | Operation::Add { .. }
            | Operation::ReadCounter { .. }
            | Operation::Transfer { .. }
            | Operation::ReadAccount { .. }
            | Operation::ReadBank { .. }
            | Operation::Insert { .. }
            | Operation::Remove { .. }
            | Operation::Contains { .. }
            | Operation::ReadSet { .. } => None,
        });
        let Some(standing) = translation.standing(transaction, wrote) else { continue };
        let reads_count = matches!(transaction.outcome, Outcome::Committed(_));
        let operations: Vec<Mop> = transaction
            .operations
            .iter()
            .filter_map(|operation| translate(&mut translation, operation, reads_count))
            .collect();
        translation.push(transaction, standing, operations);
    }
    let options = Opts {
        wfr_keys: true,
        linearizable_keys: translation.transactions.len() <= BY_TIME,
        transaction_order: order(&translation.transactions),
        ..Opts::default()
    };
    translation.judge(Workload::RwRegister, &options)
}

fn translate(translation: &mut Translation, operation: &Operation, reads_count: bool) -> Option<Mop> {
    match *operation {
        Operation::Write { register: Register(register), value } => {
            let key = translation.name(Scalar::Int(register.into()));
            Some(Mop::Write { key, value: translation.value(value) })
        }
        Operation::Read { register: Register(register), value } if reads_count => {
            let key = translation.name(Scalar::Int(register.into()));
            let value = value.map_or(ReadValue::Nil, |value| ReadValue::Scalar(translation.value(value)));
            Some(Mop::Read { key, value })
        }
        Operation::Read { .. }
        | Operation::Append { .. }
        | Operation::ReadList { .. }
        | Operation::Add { .. }
        | Operation::ReadCounter { .. }
        | Operation::Transfer { .. }
        | Operation::ReadAccount { .. }
        | Operation::ReadBank { .. }
        | Operation::Insert { .. }
        | Operation::Remove { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => None,
    }
}

/// The order of timestamps, if every transaction that wrote has one: it would take those without for the first.
fn order(transactions: &[Translated]) -> Option<HashMap<u64, i64>> {
    let writers = || {
        let all = transactions.iter().enumerate().filter(|(_, one)| matches!(one.kind, OpType::Ok));
        all.filter(|(_, one)| one.operations.iter().any(|operation| matches!(operation, Mop::Write { .. })))
    };
    let stamped: Option<Vec<(u64, usize)>> =
        writers().map(|(place, transaction)| Some((transaction.timestamp?, place))).collect();
    let mut stamped = stamped?;
    stamped.sort_unstable();
    Some(stamped.into_iter().enumerate().map(|(rank, (_, place))| (place as u64, rank as i64)).collect())
}

/// What transactions that committed saw.
fn seen(history: &History) -> HashSet<(Object, Value)> {
    let mut seen = HashSet::new();
    for transaction in history.all().filter(|one| matches!(one.outcome, Outcome::Committed(_))) {
        for operation in &transaction.operations {
            if let Operation::Read { register, value: Some(value) } = operation {
                seen.insert((Object::Register(*register), *value));
            }
        }
    }
    seen
}
