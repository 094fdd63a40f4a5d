//! At which levels a scene's clients run their transactions.

use iolite_values::Level;

use super::random::Random;

/// The levels of the clients' transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Levels {
    /// Strict and serializable.
    Serial,
    All,
}

impl Levels {
    pub fn draw(self, random: &mut Random, only_reads: bool) -> Level {
        let drawn = random.below(100);
        match self {
            Levels::Serial if drawn < 40 => Level::Serializable,
            Levels::Serial => Level::Strict,
            Levels::All if drawn < 25 && !only_reads => Level::ReadCommitted,
            Levels::All if drawn < 60 && !only_reads => Level::Snapshot,
            Levels::All if drawn < 70 => Level::Serializable,
            Levels::All => Level::Strict,
        }
    }
}
