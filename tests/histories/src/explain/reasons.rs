//! Why one transaction comes before another, in words.

use std::fmt::Display;

use super::Link;
use crate::operation::{Object, Operation, Value};
use crate::own::{Basis, EdgeKind, Index};
use crate::violation::TransactionNumber;

pub fn name(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::WriteWrite => "ww",
        EdgeKind::WriteRead => "wr",
        EdgeKind::ReadWrite => "rw",
        EdgeKind::RealTime => "real time",
        EdgeKind::Follow => "between",
    }
}

pub fn reason(index: &Index<'_>, link: &Link) -> String {
    let Link { from, to, .. } = *link;
    let (first, second) = (format!("T{}", from.0), format!("T{}", to.0));
    let Some(object) = link.about else {
        let gap = index.invoked(to).saturating_sub(index.acknowledged(from));
        return format!("{first} was acknowledged {}.{:03} us before {second} began", gap / 1000, gap % 1000);
    };
    let written = |number| Written(written(index, number, object));
    let said = match link.kind {
        EdgeKind::WriteWrite => {
            format!(
                "{first} changed {object} ({}), and {second} changed it after that ({})",
                written(from),
                written(to)
            )
        }
        EdgeKind::WriteRead => format!("{second} saw of {object} what {first} changed ({})", written(from)),
        EdgeKind::ReadWrite => format!("{first} did not see of {object} what {second} changed ({})", written(to)),
        EdgeKind::RealTime | EdgeKind::Follow => format!("{first} ended before {second} began"),
    };
    match link.basis {
        Basis::Data | Basis::RealTime => said,
        Basis::Elsewhere => format!("{said}, as the order of who wrote it elsewhere and who saw it says"),
        Basis::Versions => format!("{said}, as the times of who saw which value say"),
    }
}

/// What a transaction did to an object.
struct Written(Vec<String>);

impl Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

fn written(index: &Index<'_>, number: TransactionNumber, object: Object) -> Vec<String> {
    index.transaction(number).operations.iter().filter_map(|operation| change(operation, object)).collect()
}

fn change(operation: &Operation, object: Object) -> Option<String> {
    let value = |of: Object, sign: &str, value: Value| (of == object).then(|| format!("{sign}{value}"));
    match *operation {
        Operation::Write { register, value: written } => value(Object::Register(register), "= ", written),
        Operation::Append { list, value: appended } => value(Object::List(list), "+ ", appended),
        Operation::Insert { set, value: inserted } => value(Object::Set(set), "+ ", inserted),
        Operation::Remove { set, value: removed } => value(Object::Set(set), "- ", removed),
        Operation::Add { counter, amount } => (Object::Counter(counter) == object).then(|| format!("{amount:+}")),
        Operation::Transfer { bank, from, to, amount } => {
            if Object::Account(bank, from) == object {
                return Some(format!("{:+}", amount.wrapping_neg()));
            }
            (Object::Account(bank, to) == object).then(|| format!("{amount:+}"))
        }
        Operation::Read { .. }
        | Operation::ReadList { .. }
        | Operation::ReadCounter { .. }
        | Operation::ReadAccount { .. }
        | Operation::ReadBank { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => None,
    }
}
