//! The durability class, as an option.

use clap::ValueEnum;
use iolite_engine::Durability;
use iolite_node::config::DurabilityWord;

/// What acknowledged means.
#[derive(Clone, Copy, ValueEnum)]
pub enum Class {
    Fsync,
    Memory,
}

impl From<Class> for DurabilityWord {
    fn from(class: Class) -> DurabilityWord {
        match class {
            Class::Fsync => DurabilityWord::Fsync,
            Class::Memory => DurabilityWord::Memory,
        }
    }
}

impl From<Class> for Durability {
    fn from(class: Class) -> Durability {
        DurabilityWord::from(class).into()
    }
}
