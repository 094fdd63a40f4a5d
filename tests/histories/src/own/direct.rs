//! What is wrong with a read by itself: it saw what aborted, what was overwritten at once, what nobody wrote, what came later, or twice the same.

use std::collections::{HashMap, HashSet};

use super::index::{Access, Index, Standing};
use super::lists::ListOrder;
use crate::class::Class;
use crate::explain;
use crate::operation::{List, Object, Operation, Value};
use crate::violation::{Findings, TransactionNumber};

pub fn check(index: &Index<'_>, findings: &mut Findings) {
    let mut check = Check { index, findings };
    for (object, accesses) in index.accesses() {
        for &access in accesses.iter().filter(|access| index.reads_count(access.transaction)) {
            check.read(object, access);
        }
        if let Object::List(list) = object {
            check.list(list, &index.lists[&list]);
        }
    }
    check.banks();
}

struct Check<'a, 'h> {
    index: &'a Index<'h>,
    findings: &'a mut Findings,
}

impl Check<'_, '_> {
    fn read(&mut self, object: Object, access: Access) {
        match self.index.operation(access) {
            Operation::Read { value: Some(value), .. } | Operation::Contains { value, found: true, .. } => {
                self.value(object, *value, access);
                self.intermediate(object, *value, access);
            }
            Operation::ReadSet { values, .. } => {
                self.doubled(object, values, access);
                for &value in values {
                    self.value(object, value, access);
                    self.intermediate(object, value, access);
                }
            }
            Operation::ReadList { values, .. } => {
                if let Some(&last) = values.last() {
                    self.intermediate(object, last, access);
                }
                self.own_later(object, values, access);
            }
            Operation::Read { value: None, .. }
            | Operation::Contains { found: false, .. }
            | Operation::Write { .. }
            | Operation::Append { .. }
            | Operation::Insert { .. }
            | Operation::Remove { .. }
            | Operation::Add { .. }
            | Operation::ReadCounter { .. }
            | Operation::Transfer { .. }
            | Operation::ReadAccount { .. }
            | Operation::ReadBank { .. } => {}
        }
    }

    /// The elements of a list: once for its longest read, and for each that is not its beginning.
    fn list(&mut self, list: List, order: &ListOrder) {
        let object = Object::List(list);
        let Some(reader) = order.reader else { return };
        let longest = Access { transaction: reader, operation: 0 };
        self.doubled(object, &order.longest, longest);
        order.longest.iter().for_each(|&value| self.origin(object, value, reader));
        self.appends_in_order(object, order, reader);
        for &access in &order.others {
            let Operation::ReadList { values, .. } = self.index.operation(access) else { continue };
            self.doubled(object, values, access);
            values.iter().for_each(|&value| self.origin(object, value, access.transaction));
            let same = values.iter().zip(&order.longest).take_while(|(one, other)| one == other).count();
            let at = |values: &[Value]| values.get(same).map_or("nothing more".to_owned(), Value::to_string);
            let (one, other) = (at(values), at(&order.longest));
            self.add(Class::IncompatibleOrder, &[reader, access.transaction], || {
                format!("after {same} equal elements of {object}, T{} read {other} and T{} read {one}: no order of appends gives both",
                    reader.0, access.transaction.0)
            });
        }
    }

    /// The appends of one transaction are in a list in the order in which it made them, and none is left out before another.
    fn appends_in_order(&mut self, object: Object, order: &ListOrder, reader: TransactionNumber) {
        let mut met: HashMap<TransactionNumber, usize> = HashMap::new();
        for (value, writer) in order.longest.iter().zip(&order.writers) {
            let Some(writer) = *writer else { continue };
            let appends = self.index.transaction(writer).operations.iter();
            let mut appends = appends.filter_map(|operation| written(operation, object));
            let count = met.entry(writer).or_default();
            let expected = appends.nth(*count);
            *count += 1;
            if expected != Some(*value) && expected.is_some() {
                self.add(Class::IncompatibleOrder, &[writer, reader], || {
                    format!(
                        "T{} read {value} in {object} where T{} had appended another value first",
                        reader.0, writer.0
                    )
                });
                return;
            }
        }
    }

    fn value(&mut self, object: Object, value: Value, access: Access) {
        self.origin(object, value, access.transaction);
        self.own_later(object, &[value], access);
    }

    /// Whether a value that was read comes from a transaction that may have committed.
    fn origin(&mut self, object: Object, value: Value, reader: TransactionNumber) {
        let Some(writer) = self.index.writer(object, value).map(|writer| writer.transaction) else {
            self.add(Class::PhantomRead, &[reader], || {
                format!("T{} read {value} from {object}, and nobody wrote it", reader.0)
            });
            return;
        };
        if self.index.standing(writer) == Standing::Aborted {
            self.add(Class::G1a, &[writer, reader], || {
                format!("T{} read {value} from {object}, of T{}, which aborted (dirty read)", reader.0, writer.0)
            });
        }
    }

    /// Values that a read saw although its own transaction wrote them only later.
    fn own_later(&mut self, object: Object, values: &[Value], access: Access) {
        let reader = access.transaction;
        let later = self.index.transaction(reader).operations[access.operation as usize..].iter();
        let written = later.filter(|operation| operation.is_write()).filter_map(|operation| written(operation, object));
        for value in written.filter(|value| values.contains(value)) {
            self.add(Class::FutureRead, &[reader], || {
                format!("T{} read {value} from {object} before it wrote that itself", reader.0)
            });
        }
    }

    /// Whether the transaction that wrote this changed the object again, so that nobody else may see it as the last.
    fn intermediate(&mut self, object: Object, value: Value, access: Access) {
        let Some(writer) = self.index.writer(object, value) else { return };
        if writer.transaction == access.transaction {
            return;
        }
        let later = &self.index.transaction(writer.transaction).operations[writer.operation as usize + 1..];
        let overwritten = later.iter().any(|operation| match object {
            Object::Set(_) => matches!(operation, Operation::Remove { set, value: removed } if Object::Set(*set) == object && *removed == value),
            Object::Register(_) | Object::List(_) | Object::Counter(_) | Object::Account(..) => {
                written(operation, object).is_some()
            }
        });
        if overwritten {
            let (writer, reader) = (writer.transaction, access.transaction);
            self.add(Class::G1b, &[writer, reader], || {
                format!(
                    "T{} read {value} from {object}, which T{} itself then changed again (intermediate read)",
                    reader.0, writer.0
                )
            });
        }
    }

    fn doubled(&mut self, object: Object, values: &[Value], access: Access) {
        let mut met = HashSet::with_capacity(values.len());
        if let Some(value) = values.iter().find(|&&value| !met.insert(value)) {
            let reader = access.transaction;
            self.add(Class::DoubledElement, &[reader], || format!("T{} read {value} twice in {object}", reader.0));
        }
    }

    fn banks(&mut self) {
        for reader in self.index.numbers().filter(|&number| self.index.reads_count(number)) {
            for operation in &self.index.transaction(reader).operations {
                self.bank(reader, operation);
            }
        }
    }

    fn bank(&mut self, reader: TransactionNumber, operation: &Operation) {
        let (bank, balances) = match operation {
            Operation::ReadBank { bank, balances } => (*bank, balances.as_slice()),
            Operation::ReadAccount { bank, balance, .. } => (*bank, std::slice::from_ref(balance)),
            Operation::Write { .. }
            | Operation::Read { .. }
            | Operation::Append { .. }
            | Operation::ReadList { .. }
            | Operation::Add { .. }
            | Operation::ReadCounter { .. }
            | Operation::Transfer { .. }
            | Operation::Insert { .. }
            | Operation::Remove { .. }
            | Operation::Contains { .. }
            | Operation::ReadSet { .. } => return,
        };
        let Some(setup) = self.index.history.setup.bank(bank) else { return };
        let sum: i128 = balances.iter().map(|&balance| i128::from(balance)).sum();
        if matches!(operation, Operation::ReadBank { .. }) && sum != setup.sum() {
            self.add(Class::BankSum, &[reader], || {
                format!(
                    "T{} read {sum} in all accounts of bank {}, which hold {} together",
                    reader.0,
                    bank.0,
                    setup.sum()
                )
            });
        }
        if let Some(&balance) = balances.iter().find(|&&balance| balance < setup.lowest) {
            self.add(Class::BankLimit, &[reader], || {
                format!("T{} read a balance of {balance} in bank {}, the lowest is {}", reader.0, bank.0, setup.lowest)
            });
        }
    }

    fn add(&mut self, class: Class, about: &[TransactionNumber], what: impl FnOnce() -> String) {
        let index = self.index;
        self.findings.add(class, || explain::fact(index, class, what(), about));
    }
}

/// The value that an operation writes to an object.
fn written(operation: &Operation, object: Object) -> Option<Value> {
    match *operation {
        Operation::Write { register, value } => (Object::Register(register) == object).then_some(value),
        Operation::Append { list, value } => (Object::List(list) == object).then_some(value),
        Operation::Insert { set, value } => (Object::Set(set) == object).then_some(value),
        Operation::Read { .. }
        | Operation::ReadList { .. }
        | Operation::Add { .. }
        | Operation::ReadCounter { .. }
        | Operation::Transfer { .. }
        | Operation::ReadAccount { .. }
        | Operation::ReadBank { .. }
        | Operation::Remove { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => None,
    }
}
