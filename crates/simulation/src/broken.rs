//! Variants of the system with one rule taken out. Each has to be found: that is how we know that the checks check.

/// Which rule is taken out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    SkipReadValidation,
    AcknowledgeBeforeFsync,
    NoCompletionRecords,
    RemoveAtReply,
    PublishPastResolved,
}

impl Broken {
    pub const ALL: [Broken; 5] = [
        Broken::SkipReadValidation,
        Broken::AcknowledgeBeforeFsync,
        Broken::NoCompletionRecords,
        Broken::RemoveAtReply,
        Broken::PublishPastResolved,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Broken::Nothing => "nothing",
            Broken::SkipReadValidation => "skip-read-validation",
            Broken::AcknowledgeBeforeFsync => "acknowledge-before-fsync",
            Broken::NoCompletionRecords => "no-completion-records",
            Broken::RemoveAtReply => "remove-at-reply",
            Broken::PublishPastResolved => "publish-past-resolved",
        }
    }

    pub fn from_name(name: &str) -> Option<Broken> {
        Broken::ALL.into_iter().find(|broken| broken.name() == name)
    }
}
