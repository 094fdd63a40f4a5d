//! Blobs at the gateway: connections to `/blobs`, and the leases and seals that they commit and that submissions spend.

pub mod leases;
pub mod links;
pub mod quotas;
pub mod revoking;
pub mod rows;
