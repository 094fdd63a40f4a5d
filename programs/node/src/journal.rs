//! Between a store and its journal.

use iolite_host::{JournalNews, MachineJournal, Mailbox};
use tokio::sync::watch;

use crate::{JournalInput, JournalOutput};

/// Why the journal's disk failed, once it has.
pub(crate) type Failure = watch::Receiver<Option<String>>;

/// Takes the journal's news to a machine, as an input of its own.
pub(crate) fn tell<I: Send + 'static>(
    mailbox: Mailbox<I>,
    input: fn(JournalInput) -> I,
) -> (impl FnMut(JournalNews) + Send + 'static, Failure) {
    let (failures, failure) = watch::channel(None);
    let tell = move |news| {
        let news = match news {
            JournalNews::Synced { through, bytes_since_checkpoint } => {
                JournalInput::Synced { through, bytes_since_checkpoint }
            }
            JournalNews::ChunkTaken => JournalInput::ChunkTaken,
            JournalNews::CheckpointFinished { bytes_since_checkpoint } => {
                JournalInput::CheckpointFinished { bytes_since_checkpoint }
            }
            JournalNews::Failed(reason) => {
                failures.send_replace(Some(reason));
                return;
            }
        };
        mailbox.send(input(news));
    };
    (tell, failure)
}

pub(crate) fn perform(journal: &mut MachineJournal, output: JournalOutput) {
    match output {
        JournalOutput::Append(record) => journal.append(record),
        JournalOutput::Sync => journal.sync(),
        JournalOutput::BeginCheckpoint => journal.begin_checkpoint(),
        JournalOutput::CheckpointChunk(chunk) => journal.checkpoint_chunk(chunk),
        JournalOutput::FinishCheckpoint => journal.finish_checkpoint(),
    }
}

/// Waits for the disk to fail. Never comes back where it does not.
pub(crate) async fn failed(failure: &mut Failure) -> String {
    match failure.wait_for(Option::is_some).await.map(|reason| reason.clone()) {
        Ok(Some(reason)) => reason,
        Ok(None) | Err(_) => std::future::pending().await,
    }
}
