//! The one port: the app's files, the sessions' WebSocket, probes and metrics.
//!
//! Nothing here allows another site's page to read, since there is no CORS header, nor to connect, unless its origin was named: see origin.rs. Pages of
//! named origins may read one answer, the token of an anonymous user: see guests.rs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Extension, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get, post};
use tokio::net::TcpListener;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app_files::AppFiles;
use crate::commands::{self, Commands};
use crate::connections::Peer;
use crate::guests::{self, GuestRoute, Guests};
use crate::origin::{Origins, is_addressed_to_loopback, is_foreign};
use crate::session::{Endpoint, SessionHandler};
use crate::{Metrics, Stop, connections};

/// What a session reads at once. Most frames are far smaller, and a session that says nothing costs no more.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// Why a port cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("port {} is in use: stop what listens there, or choose another with --port", address.port())]
    InUse { address: SocketAddr },
    #[error("cannot listen on {address}: {source}. Choose another port with --port")]
    Io { address: SocketAddr, source: io::Error },
}

/// Listens.
///
/// # Errors
/// [`BindError`], with the address.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { address },
        _ => BindError::Io { address, source },
    })
}

/// What `/readyz` asks.
pub trait Probes: Send + Sync + 'static {
    fn is_ready(&self) -> bool;
}

/// What is served on the port.
pub struct Site {
    router: Router,
}

impl Site {
    /// Probes and metrics.
    pub fn new(metrics: Metrics, probes: Arc<dyn Probes>) -> Site {
        let router = Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(move || async move { ready(&*probes) }))
            .route("/metrics", get(move || async move { show(&metrics) }));
        Site { router }
    }

    /// Sessions, at `/sync`: of programs, of the pages of this port, and of those of these origins.
    pub fn with_sessions<H: SessionHandler>(self, endpoint: Endpoint<H>, origins: Origins) -> Site {
        self.with_sockets("/sync", endpoint, origins)
    }

    /// Connections on which chunks of blobs travel, at `/blobs`: of the same programs and pages.
    pub fn with_blobs<H: SessionHandler>(self, endpoint: Endpoint<H>, origins: Origins) -> Site {
        self.with_sockets("/blobs", endpoint, origins)
    }

    /// Connections of nodes of objects, at `/objects`: of the same programs and pages.
    pub fn with_objects<H: SessionHandler>(self, endpoint: Endpoint<H>, origins: Origins) -> Site {
        self.with_sockets("/objects", endpoint, origins)
    }

    fn with_sockets<H: SessionHandler>(mut self, path: &str, endpoint: Endpoint<H>, origins: Origins) -> Site {
        let serve = any(move |headers, upgrade| async move { sync(endpoint, &origins, &headers, upgrade) });
        self.router = self.router.route(path, serve);
        self
    }

    /// A text of JSON that this server's own pages and programs may read, on the machine that it runs on, and pages of other sites may not.
    pub fn with_own_json(mut self, path: &str, json: String) -> Site {
        let answer =
            move |Extension(peer): Extension<Peer>, headers: HeaderMap| async move { own_json(peer, &headers, json) };
        self.router = self.router.route(path, get(answer));
        self
    }

    /// Commands of operators.
    pub fn with_commands(mut self, commands: Arc<dyn Commands>) -> Site {
        let run = post(move |request: Request| commands::answer(commands.clone(), request));
        self.router = self.router.route(&format!("{}{{*command}}", commands::PATH), run);
        self
    }

    /// Tokens for users without a name, at `/token/anonymous`: of programs, of the pages of this port, and of those of these origins.
    pub fn with_guests(mut self, guests: Arc<dyn Guests>, origins: Origins) -> Site {
        let route = Arc::new(GuestRoute::new(guests, origins));
        let answer = move |Extension(peer): Extension<Peer>, method: Method, headers: HeaderMap| async move {
            route.answer(peer, &method, &headers)
        };
        self.router = self.router.route(guests::PATH, any(answer));
        self
    }

    /// The files of an app.
    pub fn with_files(mut self, files: AppFiles) -> Site {
        self.router = self.router.merge(files.router());
        self
    }

    /// A path that this server lacks, and why, for people.
    pub fn with_absent(mut self, path: &str, why: &'static str) -> Site {
        self.router = self.router.route(path, any(move || async move { (StatusCode::NOT_FOUND, why) }));
        self
    }

    /// A page of HTML at `/`, where there are no files.
    pub fn with_page(mut self, html: String) -> Site {
        self.router = self.router.route("/", get(move || async move { Html(html) }));
        self
    }

    /// A text at `/`, where there are no files.
    pub fn with_greeting(mut self, text: String) -> Site {
        self.router = self.router.route("/", get(move || async move { text }));
        self
    }

    /// Serves until it is told to stop. Sessions close themselves then.
    pub async fn serve(self, listener: TcpListener, stop: Stop) {
        let sniff = HeaderName::from_static("x-content-type-options");
        let router = self.router.layer(SetResponseHeaderLayer::overriding(sniff, HeaderValue::from_static("nosniff")));
        connections::serve(listener, router, stop).await;
    }
}

fn ready(probes: &dyn Probes) -> Response {
    if probes.is_ready() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting\n").into_response()
    }
}

fn show(metrics: &Metrics) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.render()).into_response()
}

fn own_json(peer: Peer, headers: &HeaderMap, json: String) -> Response {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    let cross_site = !matches!(site, None | Some("same-origin" | "none"));
    if cross_site || is_foreign(headers) || !is_addressed_to_loopback(headers) || !peer.is_loopback() {
        return (StatusCode::FORBIDDEN, "this is for the server's own pages, under a loopback address\n")
            .into_response();
    }
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    (headers, json).into_response()
}

fn sync<H: SessionHandler>(
    endpoint: Endpoint<H>,
    origins: &Origins,
    headers: &HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if is_foreign(headers) && !origins.hold(headers) {
        // The page is told nothing but that it cannot connect, so the operator is.
        tracing::info!(origin = ?headers.get(header::ORIGIN), host = ?headers.get(header::HOST), "a page of another site was refused: if it is yours, name it in the gateway's `origins`");
        return (
            StatusCode::FORBIDDEN,
            "a page of another site may not connect: its origin is not among the gateway's `origins`\n",
        )
            .into_response();
    }
    let bytes_max = endpoint.frame_bytes_max();
    let upgrade = upgrade.max_message_size(bytes_max).max_frame_size(bytes_max).read_buffer_size(READ_BUFFER_BYTES);
    upgrade.on_upgrade(|socket| endpoint.serve(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_on_this_machine_gets_no_token_whatever_host_they_say() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        let status = |peer: &str| own_json(Peer(peer.parse().expect("an address")), &headers, "{}".into()).status();
        for peer in ["10.0.0.7", "192.168.1.4", "fe80::1", "::ffff:10.0.0.7"] {
            assert_eq!(status(peer), StatusCode::FORBIDDEN, "{peer}");
        }
        for peer in ["127.0.0.1", "127.3.4.5", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(status(peer), StatusCode::OK, "{peer}");
        }
    }
}
