//! Who may ask: pages of this server, and programs. Not pages of others, whatever a browser is tricked into.
//!
//! A development server trusts whoever reaches it with a secret that it hands to its own page. So a page of another site must not read that
//! secret: browsers see to that as long as no CORS header allows it; and a foreign name that is made to point at 127.0.0.1 (DNS rebinding) is
//! told by the `Host` header.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use url::Url;

/// The sites whose pages may connect beside the port's own, as their browsers name them: `https://app.example`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Arc<[String]>);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not the origin of pages: write scheme, host and, unless it is the scheme's, port, as in https://app.example"
)]
pub struct NotAnOrigin(pub String);

impl Origins {
    /// # Errors
    /// [`NotAnOrigin`]: something else than `http` or `https` and a host, or more than that.
    pub fn new(texts: &[String]) -> Result<Origins, NotAnOrigin> {
        texts
            .iter()
            .map(|text| normal(text).ok_or_else(|| NotAnOrigin(text.clone())))
            .collect::<Result<_, _>>()
            .map(Origins)
    }

    /// Whether the page that sent this is of one of them.
    pub(crate) fn hold(&self, headers: &HeaderMap) -> bool {
        text(headers, header::ORIGIN).is_some_and(|origin| self.0.iter().any(|own| own == origin))
    }
}

/// As a browser writes it: lower case, without the scheme's own port.
fn normal(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let origin = url.origin().ascii_serialization();
    // Nothing but the slash that ends every such address is left out.
    (url.as_str().strip_suffix('/') == Some(&origin)).then_some(origin)
}

/// Whether a `Host` header (or the host of an origin) names this machine's loopback interface.
pub fn is_loopback_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let address = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    address || name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Whether the request is addressed to a loopback name.
pub(crate) fn is_addressed_to_loopback(headers: &HeaderMap) -> bool {
    text(headers, header::HOST).is_some_and(is_loopback_host)
}

/// Whether a page that is not this server's sent it. Programs send no origin; a development server of the page (Vite) is another port of
/// loopback.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return false };
    let Ok(origin) = origin.to_str() else { return true };
    let Some((_scheme, host)) = origin.split_once("://") else { return true };
    let own = text(headers, header::HOST).is_some_and(|own| own.eq_ignore_ascii_case(host));
    !own && !is_loopback_host(host)
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn pages_of_named_origins_may_connect_and_others_may_not() {
        let named = ["https://App.example:443", "http://10.0.0.7:8080/"].map(str::to_owned);
        let origins = Origins::new(&named).expect("origins");
        for (origin, is_named) in [
            ("https://app.example", true),
            ("http://10.0.0.7:8080", true),
            ("http://app.example", false),
            ("https://app.example:8443", false),
            ("https://app.example.evil.example", false),
            ("null", false),
        ] {
            assert_eq!(origins.hold(&headers("gateway.example", Some(origin))), is_named, "{origin}");
        }
        assert!(!origins.hold(&headers("gateway.example", None)));
    }

    #[test]
    fn what_is_no_origin_is_refused_by_its_name() {
        for text in [
            "",
            "*",
            "app.example",
            "https://",
            "ftp://app.example",
            "https://app.example/app",
            "https://me@app.example",
            "null",
        ] {
            assert_eq!(Origins::new(&[text.to_owned()]), Err(NotAnOrigin(text.to_owned())));
        }
    }

    #[test]
    fn loopback_is_known_by_all_its_names() {
        for host in
            ["localhost", "localhost:7777", "127.0.0.1:1", "127.9.9.9", "[::1]:7777", "[::1]", "app.localhost:80"]
        {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in ["", "example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1:7777"] {
            assert!(!is_loopback_host(host), "{host}");
        }
    }

    #[test]
    fn pages_of_others_are_foreign_and_programs_are_not() {
        assert!(!is_foreign(&headers("127.0.0.1:7777", None)));
        assert!(!is_foreign(&headers("127.0.0.1:7777", Some("http://127.0.0.1:7777"))));
        assert!(!is_foreign(&headers("127.0.0.1:7777", Some("http://localhost:5173"))));
        assert!(!is_foreign(&headers("iolite.example:7777", Some("http://iolite.example:7777"))));
        for origin in ["https://evil.example", "http://localhost.evil.example", "null", "file://"] {
            assert!(is_foreign(&headers("127.0.0.1:7777", Some(origin))), "{origin}");
        }
    }
}
