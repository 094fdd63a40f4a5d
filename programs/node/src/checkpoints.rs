//! When to write a checkpoint: when a restart would have to replay much more than a checkpoint holds.
//!
//! Invariant: at most one is under way.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoints {
    /// A journal of fewer bytes is left alone.
    journal_bytes_min: u64,
    state: State,
    /// Of the last complete one.
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Writing {
        bytes: u64,
    },
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    Begin,
    NextChunk,
}

impl Checkpoints {
    pub(crate) const CHUNK_BYTES: usize = 256 << 10;
    /// A checkpoint holds the last minute again, whatever the one before held of it: under constant load this is how much it costs.
    pub(crate) const TIMES_THE_LAST: u64 = 4;

    pub(crate) fn new(journal_bytes_min: u64) -> Checkpoints {
        Checkpoints { journal_bytes_min, state: State::Idle, bytes: 0 }
    }

    pub(crate) fn on_synced(&mut self, bytes_since_checkpoint: u64) -> Step {
        let due_at = self.journal_bytes_min.max(Checkpoints::TIMES_THE_LAST * self.bytes);
        match self.state {
            State::Idle if bytes_since_checkpoint >= due_at => {
                self.state = State::Writing { bytes: 0 };
                Step::Begin
            }
            State::Idle | State::Writing { .. } => Step::Nothing,
        }
    }

    pub(crate) fn wrote(&mut self, chunk_bytes: usize) {
        if let State::Writing { bytes } = &mut self.state {
            *bytes += chunk_bytes as u64;
        }
    }

    pub(crate) fn on_finished(&mut self, bytes_since_checkpoint: u64) -> Step {
        if let State::Writing { bytes } = self.state {
            self.bytes = bytes;
        }
        self.state = State::Idle;
        self.on_synced(bytes_since_checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_begins_when_the_journal_has_outgrown_the_last_one() {
        let mut checkpoints = Checkpoints::new(64 << 20);
        assert_eq!(checkpoints.on_synced(63 << 20), Step::Nothing);
        assert_eq!(checkpoints.on_synced(64 << 20), Step::Begin);
        assert_eq!(checkpoints.on_synced(640 << 20), Step::Nothing, "one at a time");
        checkpoints.wrote(40 << 20);
        assert_eq!(checkpoints.on_finished(50 << 20), Step::Nothing);
        assert_eq!(checkpoints.on_synced(159 << 20), Step::Nothing);
        assert_eq!(checkpoints.on_synced(160 << 20), Step::Begin);
    }
}
