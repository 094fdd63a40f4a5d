//! Printing. A reader that takes the first lines only, as `head` does, does not make it fail.

use std::io::{ErrorKind, Write};

/// Prints a text that ends its own lines.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

pub fn warn(text: &str) {
    // Where nobody can be told, nobody is.
    _ = writeln!(std::io::stderr(), "{text}");
}
