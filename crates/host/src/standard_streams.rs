//! What a program says to whoever started it.
//!
//! Invariant: nobody has to listen to the end. `println!` panics when the reader of a pipe, such as `head`, has gone.

use std::error::Error;
use std::io::{self, ErrorKind, Write};

/// Writes the text to the standard output. A reader who has gone wants no more of it, which is no failure.
///
/// # Errors
/// Any other one, such as a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    forgive_a_reader_that_left(output.write_all(text.as_bytes()).and_then(|()| output.flush()))
}

/// Writes the line to the standard error. There is nobody to tell that it cannot be written.
pub fn warn(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The error and each of its causes as one line, without a cause that the words before it contain.
pub fn explained(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| <dyn Error>::source(*error));
    causes.map(ToString::to_string).fold(String::new(), |told, cause| match told {
        told if told.contains(&cause) => told,
        told if told.is_empty() => cause,
        told => format!("{told}: {cause}"),
    })
}

fn forgive_a_reader_that_left(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reader_that_left_is_forgiven() {
        assert!(forgive_a_reader_that_left(Err(ErrorKind::BrokenPipe.into())).is_ok());
        let full = forgive_a_reader_that_left(Err(ErrorKind::StorageFull.into()));
        assert_eq!(full.map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
    }
}
