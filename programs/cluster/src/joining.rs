//! Replicas that run to become members: one that ends is told as what it is, with its last words, and not as one that does not answer.

use std::process::Child;
use std::time::Duration;

use crate::{ClusterError, LocalNode, OperatorError};

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Those of one change.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    /// With its process, where this command has started it.
    nodes: Vec<(LocalNode, Option<Child>)>,
}

impl Joining {
    pub fn add(&mut self, node: LocalNode, child: Option<Child>) {
        self.nodes.push((node, child));
    }

    /// Does the work, unless one of them ends meanwhile. The work is given up then.
    ///
    /// # Errors
    /// [`ClusterError::Ended`], and those of the work.
    pub async fn beside<T>(&mut self, work: impl Future<Output = Result<T, OperatorError>>) -> Result<T, ClusterError> {
        tokio::select! {
            biased;
            done = work => Ok(done?),
            error = self.first_end() => Err(error),
        }
    }

    async fn first_end(&mut self) -> ClusterError {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            for (node, child) in &mut self.nodes {
                let alive = match child {
                    Some(child) => node.expect_alive(child),
                    None => node.expect_running(),
                };
                if let Err(error) = alive {
                    return error;
                }
            }
        }
    }
}
