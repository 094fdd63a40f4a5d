//! What a server has for clients, embedded or as a gateway of a cluster: the gateway machine, and the site on its port.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolite_access::{Access, DevelopmentToken, Tokens};
use iolite_catalog::SchemaPolicy;
use iolite_gateway::{Broken, Limits, Settings, Without};
use iolite_host::{AppFiles, Commands, Endpoint, Metrics, Origins, Probes, SessionHandler, Site, random_id};
use iolite_values::{ClientId, Id};

use crate::anonymous::{AnonymousTokens, NO_ANONYMOUS_USERS};
use crate::object_host::ObjectSessions;

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

/// How the tokens of clients are judged: the tokens of users if there are such, else the server's own.
pub(crate) fn access(token: &str, tokens: Option<&Tokens>) -> Access {
    match tokens {
        Some(tokens) => Access::Tokens(tokens.clone()),
        None => Access::Development(DevelopmentToken::new(token)),
    }
}

/// The tracking of a server. `has_leases`: others have the same store.
pub(crate) fn tracking(has_leases: bool) -> iolite_tracking::Settings {
    iolite_tracking::Settings { client: ClientId(Id::from_u128(random_id())), has_leases }
}

/// The key of anonymous users, if the store has none.
fn fresh_key() -> [u8; 32] {
    let halves = [random_id(), random_id()].map(u128::to_be_bytes);
    std::array::from_fn(|at| halves[at / 16][at % 16])
}

/// The settings of a gateway whose store has indexes, in production.
pub(crate) fn settings(access: Access, rights_required: bool) -> Settings {
    Settings {
        client: ClientId(Id::from_u128(random_id())),
        access,
        fresh_key: fresh_key(),
        rights_required,
        has_indexes: true,
        schemas: SchemaPolicy::Fixed,
        limits: Limits::default(),
        has_blob_store: false,
        broken: Broken::Nothing,
        without: Without::Nothing,
    }
}

/// The kind of server, for the page of one without an app: the page says how that kind gets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Welcome {
    Dev,
    Gateway,
}

impl Welcome {
    /// HTML: why there is no app, and how there would be one.
    fn page(self) -> String {
        let [why, how, command] = match self {
            Welcome::Dev => [
                "<code>iolite dev</code> was started without <code>--app</code>",
                "End the server with Ctrl-C, and name the folder that your bundler built.",
                "npx iolite dev --app dist",
            ],
            Welcome::Gateway => [
                "the file of this gateway, <code>node.toml</code>, names no <code>app</code>",
                "Name the folder that your bundler built under <code>[gateway]</code> in that file, and start the gateway again. \
                 A new cluster of <code>iolite cluster up</code> is told it by <code>--app</code>.",
                "app = \"/home/me/my-app/dist\"",
            ],
        };
        let page = include_str!("welcome.html");
        page.replace("@WHY@", why).replace("@HOW@", how).replace("@COMMAND@", command)
    }
}

/// The doors of a port: its sockets `/sync`, `/blobs` and perhaps `/objects`, and the commands of operators.
pub(crate) struct Doors<H: SessionHandler, B: SessionHandler> {
    pub sessions: Endpoint<H>,
    pub blobs: Endpoint<B>,
    /// Without one: why, for people.
    pub objects: Result<Endpoint<ObjectSessions>, &'static str>,
    pub commands: Arc<dyn Commands>,
    /// Issues tokens to anonymous users, if they are let in.
    pub guests: Option<AnonymousTokens>,
}

/// Sessions, probes, metrics and the page; and for pages and programs of this machine, if they are told a token, what they need to connect.
pub(crate) fn site<H: SessionHandler, B: SessionHandler>(
    doors: Doors<H, B>,
    origins: Origins,
    metrics: Metrics,
    ready: Arc<Ready>,
    told_token: Option<&str>,
    app: Option<AppFiles>,
    welcome: Welcome,
) -> Site {
    let Doors { sessions, blobs, objects, commands, guests } = doors;
    let site = Site::new(metrics, ready).with_sessions(sessions, origins.clone()).with_blobs(blobs, origins.clone());
    let mut site = match guests {
        Some(guests) => site.with_guests(Arc::new(guests), origins.clone()),
        None => site.with_absent("/token/anonymous", NO_ANONYMOUS_USERS),
    };
    site = site.with_commands(commands);
    site = match objects {
        Ok(objects) => site.with_objects(objects, origins),
        Err(why) => site.with_absent("/objects", why),
    };
    if let Some(token) = told_token {
        let own = serde_json::json!({ "token": token, "url": "/sync" });
        site = site.with_own_json("/iolite.json", own.to_string());
    }
    match (app, told_token, welcome) {
        (Some(app), ..) => site.with_files(app),
        // A developer looks at this address, and wants to know what to do next.
        (None, Some(_), _) | (None, None, Welcome::Dev) => site.with_page(welcome.page()),
        (None, None, Welcome::Gateway) => site.with_greeting(
            "Iolite is running, without an app: name its folder by `app`, under [gateway] in this gateway's file.\n"
                .into(),
        ),
    }
}
