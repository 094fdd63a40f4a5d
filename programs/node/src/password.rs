//! The password of a database, or of a user of etcd, read from where its owner put it.
//!
//! Invariant: a message never quotes it.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
use crate::config::PasswordPlace;

/// Why there is no password.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("the password file {} cannot be read: {source}. Correct `password_file`, or make it readable for this user", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the password file {} is empty: write the password into it", file.display())]
    Empty { file: PathBuf },
    #[error("the password file {} can be read by everybody on this machine: take that right away (chmod o= {})", file.display(), file.display())]
    Exposed { file: PathBuf },
    #[cfg(feature = "postgres")]
    #[error(
        "the variable {0} of the environment is not set, or empty: set it to the password, or correct `password_variable`"
    )]
    NoVariable(String),
}

/// What a file holds, or a variable.
#[cfg(feature = "postgres")]
pub(crate) fn read_password(place: &PasswordPlace) -> Result<Option<String>, PasswordError> {
    match place {
        PasswordPlace::None => Ok(None),
        PasswordPlace::File(file) => read_password_file(file).map(Some),
        PasswordPlace::Variable(name) => {
            let found = std::env::var(name).ok().filter(|password| !password.is_empty());
            found.map(Some).ok_or_else(|| PasswordError::NoVariable(name.clone()))
        }
    }
}

/// What a file holds, but for the end of its line. A file that everybody can read is refused.
pub(crate) fn read_password_file(file: &Path) -> Result<String, PasswordError> {
    let unreadable = |source| PasswordError::Unreadable { file: file.to_owned(), source };
    #[cfg(unix)]
    {
        let metadata = std::fs::metadata(file).map_err(unreadable)?;
        // Its group may: whoever hands out secrets often goes by groups.
        if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o007 != 0 {
            return Err(PasswordError::Exposed { file: file.to_owned() });
        }
    }
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() { Err(PasswordError::Empty { file: file.to_owned() }) } else { Ok(password.to_owned()) }
}

#[cfg(all(test, unix, feature = "postgres"))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_everybody_can_read_is_refused_and_no_message_quotes_it() {
        let file = std::env::temp_dir().join(format!("iolite-password-{}", std::process::id()));
        let place = PasswordPlace::File(file.clone());
        let missing = read_password(&place).expect_err("it is not there");
        assert!(matches!(missing, PasswordError::Unreadable { .. }), "{missing}");
        std::fs::write(&file, " se cret \n").expect("a temporary file");
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("its own file");
        let exposed = read_password(&place).expect_err("others can read it").to_string();
        assert!(exposed.contains("chmod o=") && !exposed.contains("cret"), "{exposed}");
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("its own file");
        assert_eq!(read_password(&place).expect("it is protected").as_deref(), Some(" se cret "));
        std::fs::write(&file, "\n").expect("a temporary file");
        assert!(matches!(read_password(&place), Err(PasswordError::Empty { .. })));
        std::fs::remove_file(file).expect("it is there");
        let unset = PasswordPlace::Variable("IOLITE_NO_SUCH_VARIABLE".into());
        assert!(read_password(&unset).expect_err("it is not set").to_string().contains("IOLITE_NO_SUCH_VARIABLE"));
    }
}
