//! What transactions do, as data: the same for every system that is measured.
//!
//! Invariant: the plans of a client follow from the seed and its number alone, so every system gets the same ones.
//! Source: TAPIR (TOCS 2018) 7.1.3 and 7.5.

mod plan;
mod retwis;
mod value;

use std::sync::Arc;

use clap::ValueEnum;

pub use crate::draws::{KeyNumber, Random, Zipf};
pub use plan::{Mode, Plan, Step};
pub use retwis::KEYS_OF_TRANSACTION;
pub use value::{Value, Writer};

/// What `iolite bench` knows of transactions by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransactionWorkload {
    /// The functions of a Twitter clone as transactions of up to 10 reads, as TAPIR was measured with
    RetwisTapir,
    /// A read, an increment and a write of one key in each transaction
    YcsbT,
}

impl TransactionWorkload {
    pub fn name(self) -> String {
        self.to_possible_value().expect("no workload is hidden").get_name().to_owned()
    }

    pub fn default_keys(self) -> u64 {
        match self {
            TransactionWorkload::RetwisTapir => 100_000,
            TransactionWorkload::YcsbT => 1_000_000,
        }
    }

    /// The paper's 0.75; for YCSB-T it names none, and its other runs of single keys are uniform (7.6).
    pub fn default_zipf(self) -> f64 {
        match self {
            TransactionWorkload::RetwisTapir => 0.75,
            TransactionWorkload::YcsbT => 0.0,
        }
    }
}

/// The plans of one client, one after the other.
#[derive(Debug)]
pub struct Plans {
    workload: TransactionWorkload,
    zipf: Arc<Zipf>,
    random: Random,
}

impl Plans {
    pub fn of(workload: TransactionWorkload, zipf: Arc<Zipf>, seed: u64, client: u16) -> Plans {
        Plans { workload, zipf, random: Random::of(seed, u64::from(client)) }
    }

    pub fn next(&mut self) -> Plan {
        match self.workload {
            TransactionWorkload::RetwisTapir => retwis::plan(&self.zipf, &mut self.random),
            TransactionWorkload::YcsbT => Plan::of(vec![Step::Increment(self.zipf.key(&mut self.random))]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(seed: u64, client: u16) -> Vec<Plan> {
        let mut plans = Plans::of(TransactionWorkload::RetwisTapir, Arc::new(Zipf::new(1000, 0.75)), seed, client);
        (0..100).map(|_| plans.next()).collect()
    }

    #[test]
    fn plans_follow_from_seed_and_client_alone() {
        assert_eq!(plans(1, 1), plans(1, 1));
        assert_ne!(plans(1, 1), plans(1, 2));
        assert_ne!(plans(1, 1), plans(2, 1));
    }

    #[test]
    fn a_transaction_of_ycsb_t_increments_one_key() {
        let zipf = Arc::new(Zipf::new(10, 0.0));
        let mut plans = Plans::of(TransactionWorkload::YcsbT, zipf, 1, 1);
        for _ in 0..100 {
            let plan = plans.next();
            assert!(matches!(plan.steps(), [Step::Increment(_)]), "{plan:?}");
            assert_eq!(plan.mode(), Mode::ReadWrite);
        }
    }
}
