//! What processes that serve say of themselves.

use std::io::IsTerminal;

/// On standard error, in colours where people look.
pub fn to_stderr() {
    tracing_subscriber::fmt().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).init();
}
