//! What processes that serve say of themselves.

use std::io::IsTerminal;

use tracing::Level;

/// On standard error, in colours where people look.
pub fn to_stderr() {
    begin(Level::INFO);
}

/// Only what is wrong: for commands that end.
pub fn warnings_to_stderr() {
    begin(Level::WARN);
}

fn begin(level: Level) {
    let logs = tracing_subscriber::fmt().with_max_level(level).with_ansi(std::io::stderr().is_terminal());
    logs.with_writer(std::io::stderr).init();
}
