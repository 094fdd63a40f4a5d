//! Messages: what they say, and how they are encoded.

pub mod message;
