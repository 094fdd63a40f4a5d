//! Runs what starts systems of real processes, until its end or until somebody stops it.

use std::future::Future;

use anyhow::bail;
use iolite_host::{Shutdown, stop_on_signals};

/// Blocks this thread. Servers die with the thread that starts them, so it is this one that polls the future; when a signal ends it, the
/// future is dropped, and takes down what it has started.
///
/// # Errors
/// The future's, and that it was stopped.
pub fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let shutdown = Shutdown::new();
        let mut stop = shutdown.listen();
        stop_on_signals(shutdown)?;
        tokio::select! {
            () = stop.wait() => bail!("stopped before the end"),
            outcome = future => outcome,
        }
    })
}
