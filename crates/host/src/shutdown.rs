//! The end of a process or of one of its parts, asked for once and heard by everyone.

use std::sync::Arc;

use tokio::sync::watch;

/// Asks for the end.
#[derive(Clone, Debug)]
pub struct Shutdown {
    asked: Arc<watch::Sender<bool>>,
}

/// Hears of the end.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Receiver<bool>,
}

impl Shutdown {
    pub fn new() -> Shutdown {
        Shutdown { asked: Arc::new(watch::Sender::new(false)) }
    }

    pub fn begin(&self) {
        self.asked.send_replace(true);
    }

    pub fn listen(&self) -> Stop {
        Stop { asked: self.asked.subscribe() }
    }
}

impl Default for Shutdown {
    fn default() -> Shutdown {
        Shutdown::new()
    }
}

impl Stop {
    /// Returns once the end was asked for, or nobody is left who could.
    pub async fn wait(&mut self) {
        let _ = self.asked.wait_for(|asked| *asked).await;
    }
}

/// Begins the shutdown at Ctrl-C or SIGTERM. A second one ends the process at once.
///
/// # Errors
/// When the operating system lets nobody listen for signals.
pub fn stop_on_signals(shutdown: Shutdown) -> std::io::Result<()> {
    let mut terminate = terminations()?;
    tokio::spawn(async move {
        next_signal(&mut terminate).await;
        shutdown.begin();
        next_signal(&mut terminate).await;
        std::process::exit(130);
    });
    Ok(())
}

#[cfg(unix)]
fn terminations() -> std::io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
}

#[cfg(unix)]
async fn next_signal(terminate: &mut tokio::signal::unix::Signal) {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
fn terminations() -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
async fn next_signal(_terminate: &mut ()) {
    let _ = tokio::signal::ctrl_c().await;
}
