//! The suite that every [`crate::Store`] passes. (being built)
