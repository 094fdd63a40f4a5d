//! The ways to run the same transactions that are compared.

use crate::peer::Peer;

use super::seat::UpdateEnds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Transactions run on the person's device. An update ends when it is durable there.
    Ours,
    /// A server process in the data centre runs them. An update ends when that data centre has it.
    Cloud,
    /// The same, and an update ends when two data centres have it.
    CloudFt,
    /// Ours, and an update ends when two data centres have it.
    NaiveFt,
}

/// The place where an arm's transactions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    OnDevices(UpdateEnds),
    InDataCentres,
}

impl Arm {
    /// The arm of a peer's name, if it is one of SwiftSocial's.
    pub fn of(peer: Peer) -> Option<Arm> {
        match peer {
            Peer::Cloud => Some(Arm::Cloud),
            Peer::CloudFt => Some(Arm::CloudFt),
            Peer::NaiveFt => Some(Arm::NaiveFt),
            Peer::Etcd
            | Peer::Postgres
            | Peer::Redis
            | Peer::RedisScript
            | Peer::Hocuspocus
            | Peer::OccStore
            | Peer::LockStore
            | Peer::OccStoreUnbatched
            | Peer::LockStoreUnbatched
            | Peer::Echo
            | Peer::Rmi
            | Peer::Thrift
            | Peer::Rest => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Arm::Ours => "iolite",
            Arm::Cloud => "cloud",
            Arm::CloudFt => "cloud-ft",
            Arm::NaiveFt => "naive-ft",
        }
    }

    pub fn runs(self) -> Runs {
        match self {
            Arm::Ours => Runs::OnDevices(UpdateEnds::Durable),
            Arm::NaiveFt => Runs::OnDevices(UpdateEnds::Confirmed),
            Arm::Cloud | Arm::CloudFt => Runs::InDataCentres,
        }
    }

    /// Data centres that have an update before others see it, of so many.
    pub fn k(self, centres: usize) -> usize {
        match self {
            Arm::Ours | Arm::CloudFt | Arm::NaiveFt => centres.min(2),
            Arm::Cloud => 1,
        }
    }

    /// Whether it differs from the others with so many data centres: one alone cannot wait for two.
    pub fn is_possible(self, centres: usize) -> bool {
        match self {
            Arm::Ours | Arm::Cloud => true,
            Arm::CloudFt | Arm::NaiveFt => centres >= 2,
        }
    }
}
