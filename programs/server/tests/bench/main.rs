//! `iolite bench`, which measures real clusters, counts what they send, and compares. Nothing of the pool runs beside these tests.

mod beside;
mod killed_game;
mod rights;
mod rows;
mod swiftsocial;
mod views;
mod workloads;
