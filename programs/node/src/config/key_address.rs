//! Where an issuer publishes the keys that verify its tokens (JWKS).
//!
//! Invariant: nobody on the way can give other keys: the address is of TLS, or on this machine.

/// An address of `https`, or of `http` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAddress(String);

impl KeyAddress {
    /// None: it is no such address.
    pub(super) fn parse(text: &str) -> Option<KeyAddress> {
        let is_long_enough = |rest: &str| !rest.is_empty() && !rest.starts_with('/');
        let is_good = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => is_long_enough(rest),
            (None, Some(rest)) => is_on_this_machine(rest),
            (None, None) => false,
        };
        is_good.then(|| KeyAddress(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether the host of an address is this machine. Who names another user before the host, or another host behind it, gets no.
fn is_on_this_machine(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !host.contains(['@', '\\']) && iolite_host::is_loopback_host(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_by_tls_or_from_this_machine() {
        for good in ["https://a.example/keys", "http://127.0.0.1:8080/keys", "http://localhost/k", "http://[::1]:1/k"] {
            assert!(KeyAddress::parse(good).is_some(), "{good}");
        }
        for bad in [
            "http://a.example/keys",
            "http://127.0.0.1@a.example/keys",
            "http://127.0.0.1.a.example/keys",
            "ftp://127.0.0.1/keys",
            "https://",
            "https:///keys",
            "keys.json",
            "",
        ] {
            assert!(KeyAddress::parse(bad).is_none(), "{bad}");
        }
    }
}
