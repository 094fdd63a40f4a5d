//! LockingTransactions and OptimisticTransactions: others see all of a transaction or nothing, and nothing before its commit was sent. What is committed is kept,
//! and comes right after what the transaction has read.
//!
//! A commit that is answered with a conflict has not happened, also not by a word that was sent before. Of two transactions that rest on one state, one commits:
//! else a number that was committed would be missing later.

use iolite_objects::CallError;
use iolite_values::ObjectName;
use iolite_wire::objects::NotRun;

use super::{Kept, OfObject, Seen, kept, wrong};
use crate::checker::{Invariant, Violation};
use crate::history::Moment;
use crate::objects::told::{Told, TransactionIndex};

/// A transaction, as others may see it.
struct Transaction {
    index: TransactionIndex,
    /// All that its methods have put in.
    ran: Vec<u64>,
    /// The first commit that may have happened was sent then.
    sent: Option<Moment>,
    /// When the commit was sent that was answered with success, and when it was answered.
    committed: Option<(Moment, Moment)>,
    has_conflict: bool,
}

pub fn check(told: &Told, object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    let mut outside = OfObject {
        seen: of.seen.iter().filter(|seen| seen.transaction.is_none()).cloned().collect(),
        kept: of.kept.iter().filter(|kept| kept.transaction.is_none()).cloned().collect(),
        births: of.births.clone(),
    };
    for (index, own) in told.transactions.iter().enumerate().filter(|(_, own)| own.object == *object) {
        let transaction = transaction(told, TransactionIndex(index), &own.commits);
        let inside: Vec<&Seen> = of.seen.iter().filter(|seen| seen.transaction == Some(transaction.index)).collect();
        let put: Vec<&Kept> = of.kept.iter().filter(|kept| kept.transaction == Some(transaction.index)).collect();
        check_inside(object, &inside, &put)?;
        for seen in &outside.seen {
            check_outside(object, &transaction, (&inside, &put), seen)?;
        }
        if let Some((ended, answered)) = transaction.committed {
            outside.kept.extend(put.into_iter().map(|kept| Kept { answered, ended, ..kept.clone() }));
        }
    }
    kept::check(object, &outside)
}

fn transaction(told: &Told, index: TransactionIndex, commits: &[crate::objects::told::WordIndex]) -> Transaction {
    let calls = told.calls.iter().filter(|call| call.transaction == Some(index));
    let ran = calls.filter(|call| !call.runs.is_empty()).map(|call| call.number).collect();
    let mut all = Transaction { index, ran, sent: None, committed: None, has_conflict: false };
    for commit in commits.iter().map(|word| &told.words[word.0]) {
        match &commit.answered {
            Some((_, Err(CallError::NotRun(NotRun::Conflict)))) => all.has_conflict = true,
            Some((_, Err(CallError::NotRun(_)))) => {}
            Some((answered, Ok(_))) => {
                all.sent = all.sent.or(Some(commit.asked));
                all.committed = Some((all.sent.unwrap_or(commit.asked), *answered));
            }
            Some((_, Err(_))) | None => all.sent = all.sent.or(Some(commit.asked)),
        }
    }
    all
}

/// A transaction sees its own writes.
fn check_inside(object: &ObjectName, inside: &[&Seen], put: &[&Kept]) -> Result<(), Violation> {
    for seen in inside {
        let lost = put.iter().find(|put| put.answered < seen.asked && !seen.list.contains(&put.number));
        if let Some(lost) = lost {
            let (number, list) = (lost.number, &seen.list);
            return wrong(
                Invariant::AllOrNothing,
                format!("a transaction has put {number} into {object}, and reads {list:?}"),
            );
        }
    }
    Ok(())
}

/// A list that others have read.
fn check_outside(
    object: &ObjectName,
    transaction: &Transaction,
    (inside, put): (&[&Seen], &[&Kept]),
    seen: &Seen,
) -> Result<(), Violation> {
    let broken = |what: String| wrong(Invariant::AllOrNothing, format!("{object} is read as {:?}: {what}", seen.list));
    let Some(first) = transaction.ran.iter().find(|number| seen.list.contains(number)) else { return Ok(()) };
    if transaction.has_conflict {
        return broken(format!("{first} is of a transaction that is said not to be committed"));
    }
    if transaction.sent.is_none_or(|sent| seen.answered < sent) {
        return broken(format!("{first} is of a transaction whose commit was not sent: {:?}", transaction.sent));
    }
    if let Some(lost) = put.iter().find(|put| !seen.list.contains(&put.number)) {
        return broken(format!("{first} is there, and {} of the same transaction is not", lost.number));
    }
    if let Some(read) = inside.iter().find(|read| !seen.list.starts_with(&read.list)) {
        return broken(format!("its transaction has read {:?}, and {first} was committed", read.list));
    }
    Ok(())
}
