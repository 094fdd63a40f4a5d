//! What a server has for clients, embedded or as a gateway of a cluster: the gateway machine, and the site on its port.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolite_access::{Access, DevelopmentToken};
use iolite_catalog::SchemaPolicy;
use iolite_gateway::{Broken, Gateway, Limits, Settings, Without};
use iolite_host::{Endpoint, Metrics, Origins, Probes, SessionHandler, Site, random_id};
use iolite_values::{ClientId, Id};

/// Whether sessions are served, for `/readyz`.
#[derive(Debug, Default)]
pub(crate) struct Ready(AtomicBool);

impl Ready {
    pub fn set(&self, is_ready: bool) {
        self.0.store(is_ready, Ordering::Relaxed);
    }
}

impl Probes for Ready {
    fn is_ready(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) fn gateway(token: &str, schemas: SchemaPolicy, without: Without) -> Gateway {
    Gateway::new(Settings {
        client: ClientId(Id::from_u128(random_id())),
        access: Access::Development(DevelopmentToken::new(token)),
        schemas,
        limits: Limits::default(),
        broken: Broken::Nothing,
        without,
    })
}

/// Sessions, probes, metrics and the page; and for pages and programs of this machine, if they are told a token, what they need to connect.
pub(crate) fn site<H: SessionHandler>(
    endpoint: Endpoint<H>,
    origins: Origins,
    metrics: Metrics,
    ready: Arc<Ready>,
    told_token: Option<&str>,
    app: Option<&Path>,
) -> Site {
    let mut site = Site::new(metrics, ready).with_sessions(endpoint, origins);
    if let Some(token) = told_token {
        let own = serde_json::json!({ "token": token, "url": "/sync" });
        site = site.with_own_json("/iolite.json", own.to_string());
    }
    match (app, told_token) {
        (Some(app), _) => site.with_files(app.to_owned()),
        // A developer looks at this address, and wants to know what to do next.
        (None, Some(_)) => site.with_page(include_str!("welcome.html")),
        (None, None) => site.with_greeting("Iolite is running, without an app: name its folder by `app`.\n".into()),
    }
}
