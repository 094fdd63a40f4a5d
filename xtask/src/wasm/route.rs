//! Which compiler builds the browser module: rustup's, or Debian's where rustup cannot add the target.

use std::path::Path;

use anyhow::{Result, bail};

use super::{debian, rustup};

/// Forces a route: `rustup` or `debian`.
const VARIABLE: &str = "IOLITE_WASM_TOOLCHAIN";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A ready-made standard library, added by rustup.
    Rustup,
    /// Debian's own compiler; it builds the standard library from source.
    Debian,
}

impl Route {
    pub fn name(self) -> &'static str {
        match self {
            Route::Rustup => "rustup",
            Route::Debian => "debian",
        }
    }
}

pub fn choose(root: &Path) -> Result<Route> {
    match forced(std::env::var(VARIABLE).ok().as_deref())? {
        Some(route) => Ok(route),
        None if rustup::is_installed() => Ok(Route::Rustup),
        None if debian::is_installed(root) => Ok(Route::Debian),
        None if rustup::install().is_ok() => Ok(Route::Rustup),
        None => {
            println!("rustup cannot add {}: going on with Debian's compiler", super::TARGET);
            Ok(Route::Debian)
        }
    }
}

fn forced(variable: Option<&str>) -> Result<Option<Route>> {
    match variable {
        None | Some("") => Ok(None),
        Some("rustup") => Ok(Some(Route::Rustup)),
        Some("debian") => Ok(Some(Route::Debian)),
        Some(other) => bail!("{VARIABLE} is `{other}`: set it to `rustup` or `debian`, or leave it out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_forces_a_route() {
        assert_eq!(forced(Some("rustup")).unwrap(), Some(Route::Rustup));
        assert_eq!(forced(Some("debian")).unwrap(), Some(Route::Debian));
        assert_eq!(forced(None).unwrap(), None);
        assert_eq!(forced(Some("")).unwrap(), None);
    }

    #[test]
    fn an_unknown_route_is_an_error_that_names_the_known_ones() {
        let message = forced(Some("nix")).unwrap_err().to_string();
        assert!(message.contains("rustup") && message.contains("debian"));
    }
}
