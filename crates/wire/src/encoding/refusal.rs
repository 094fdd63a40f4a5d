//! Refusals of the store.
//!
//! Invariant: the names of cell types are those of [`iolite_values::CellState::name`], so that a refusal that was read equals the one that
//! was written.

use iolite_store::{ConfigurationFault, Refusal};
use iolite_values::{TableId, Timestamp, TypeMismatch};

use crate::DecodeError;
use crate::generated::proto::{self, CellType, refusal::Why};

use super::cell::{name, named, row_key};
use super::reader::required;

const CELL_TYPES: [(CellType, &str); 12] = [
    (CellType::Row, "row"),
    (CellType::Scalar, "scalar"),
    (CellType::Register, "register"),
    (CellType::Counter, "counter"),
    (CellType::Set, "set"),
    (CellType::List, "list"),
    (CellType::Map, "map"),
    (CellType::Text, "text"),
    (CellType::MergingCounter, "merging counter"),
    (CellType::MergingRegister, "merging register"),
    (CellType::MergingSet, "merging set"),
    (CellType::MergingRow, "merging row"),
];

pub(crate) fn write(refusal: &Refusal) -> proto::Refusal {
    let moment =
        |asked: Timestamp, most: Timestamp| proto::RefusedMoment { asked: asked.as_u64(), most: most.as_u64() };
    let why = match refusal {
        Refusal::NotResolved { asked, resolved } => Why::NotResolved(moment(*asked, *resolved)),
        Refusal::TooFarAhead { asked, limit } => Why::TooFarAhead(moment(*asked, *limit)),
        Refusal::Type { cell, mismatch } => Why::Type(proto::RefusedType {
            cell: Some(name(cell)),
            is: cell_type(mismatch.is).into(),
            wants: cell_type(mismatch.wants).into(),
        }),
        Refusal::TransactionTooLarge { bytes_max } => Why::TransactionTooLarge(*bytes_max as u64),
        Refusal::RowTooLarge { table, key, bytes_max } => Why::RowTooLarge(proto::RefusedRow {
            table: table.0,
            key: key.as_bytes().to_vec(),
            bytes_max: *bytes_max as u64,
        }),
        Refusal::OtherShard { table } => Why::OtherShard(table.0),
        Refusal::Configuration(fault) => Why::Configuration(fault_number(*fault).into()),
    };
    proto::Refusal { why: Some(why) }
}

pub(crate) fn read(refusal: proto::Refusal) -> Result<Refusal, DecodeError> {
    let moment = |moment: &proto::RefusedMoment| (Timestamp::from_u64(moment.asked), Timestamp::from_u64(moment.most));
    Ok(match required(refusal.why, "a refusal of no known reason")? {
        Why::NotResolved(own) => {
            let (asked, resolved) = moment(&own);
            Refusal::NotResolved { asked, resolved }
        }
        Why::TooFarAhead(own) => {
            let (asked, limit) = moment(&own);
            Refusal::TooFarAhead { asked, limit }
        }
        Why::Type(own) => {
            let mismatch = TypeMismatch { is: type_name(own.is)?, wants: type_name(own.wants)? };
            Refusal::Type { cell: named(required(own.cell, "a refusal without its cell")?)?, mismatch }
        }
        Why::TransactionTooLarge(bytes_max) => Refusal::TransactionTooLarge { bytes_max: count(bytes_max) },
        Why::RowTooLarge(own) => {
            Refusal::RowTooLarge { table: TableId(own.table), key: row_key(&own.key)?, bytes_max: count(own.bytes_max) }
        }
        Why::OtherShard(table) => Refusal::OtherShard { table: TableId(table) },
        Why::Configuration(number) => Refusal::Configuration(fault(number)?),
    })
}

fn fault_number(fault: ConfigurationFault) -> proto::ConfigurationFault {
    match fault {
        ConfigurationFault::Unfit => proto::ConfigurationFault::Unfit,
        ConfigurationFault::Outside => proto::ConfigurationFault::Outside,
    }
}

fn fault(number: i32) -> Result<ConfigurationFault, DecodeError> {
    match proto::ConfigurationFault::try_from(number) {
        Ok(proto::ConfigurationFault::Unfit) => Ok(ConfigurationFault::Unfit),
        Ok(proto::ConfigurationFault::Outside) => Ok(ConfigurationFault::Outside),
        Ok(proto::ConfigurationFault::Unspecified) | Err(_) => {
            Err(DecodeError::malformed("a fault of a configuration of no known kind"))
        }
    }
}

/// A number of a peer that may have more bits than this process.
pub(crate) fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn cell_type(name: &str) -> CellType {
    let found = CELL_TYPES.iter().find(|(_, own)| *own == name);
    found.map(|(own, _)| *own).expect("a mismatch is between types of cells")
}

fn type_name(number: i32) -> Result<&'static str, DecodeError> {
    let unknown = DecodeError::malformed("a cell of no known type");
    let cell_type = CellType::try_from(number).map_err(|_| unknown)?;
    CELL_TYPES.iter().find(|(own, _)| *own == cell_type).map(|(_, name)| *name).ok_or(unknown)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use iolite_values::{AddWins, CellState, LastWriter, LifeCounter, Lives, Merged, MergedState, Value};

    use super::*;

    #[test]
    fn every_type_of_a_cell_has_its_name_here() {
        let merged = |state| CellState::Merged(Box::new(Merged::new(state, &Lives::default())));
        let states = [
            CellState::Row(true),
            CellState::Scalar(Value::Null),
            CellState::Register(Value::Null),
            CellState::Counter(0),
            CellState::Set(BTreeSet::new()),
            CellState::List(Vec::new()),
            CellState::Map(BTreeMap::new()),
            CellState::Text(Box::default()),
            merged(MergedState::Counter(LifeCounter::default())),
            merged(MergedState::Register(LastWriter::default())),
            merged(MergedState::Set(AddWins::default())),
            merged(MergedState::Lives(Lives::default())),
        ];
        for state in &states {
            // No other arm: a new type does not compile before it is here.
            match state {
                CellState::Row(_)
                | CellState::Scalar(_)
                | CellState::Register(_)
                | CellState::Counter(_)
                | CellState::Set(_)
                | CellState::List(_)
                | CellState::Map(_)
                | CellState::Text(_) => {}
                CellState::Merged(merged) => match merged.state() {
                    MergedState::Counter(_)
                    | MergedState::Register(_)
                    | MergedState::Set(_)
                    | MergedState::Lives(_) => {}
                },
            }
            assert_eq!(type_name(cell_type(state.name()).into()), Ok(state.name()));
        }
        let names: BTreeSet<&str> = states.iter().map(CellState::name).collect();
        assert_eq!(names, CELL_TYPES.iter().map(|(_, name)| *name).collect());
        assert!(type_name(CellType::Unspecified.into()).is_err());
    }
}
