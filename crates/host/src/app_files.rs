//! The files of an app's folder, and nothing else that lies in it.
//!
//! Invariants: what is served is, by its real path, below the folder; no name in that path begins with a dot, but for `.well-known` at its top; and
//! no secret of the server is above it.

use std::fs::canonicalize;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use percent_encoding::percent_decode_str;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::origin::is_addressed_to_loopback;

/// The folder of an app, with an `index.html`, and what is not to be served of it.
#[derive(Clone, Debug)]
pub struct AppFiles {
    pub folder: PathBuf,
    /// Files and folders of the server. One that the app's folder is in, or that it is itself, is not meant as a whole.
    pub secrets: Vec<PathBuf>,
    /// Whether a folder is secret because of what is in it.
    pub is_secret: fn(&Path) -> bool,
    pub hosts: Hosts,
}

/// By which names the files may be asked for, as the header `Host` says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    Any,
    /// Only by those of this machine. A name of a foreign site that is made to point here (DNS rebinding) gets nothing.
    Loopback,
}

/// Where a site says what programs may know of it, for everybody (RFC 8615).
const WELL_KNOWN: &str = ".well-known";

impl AppFiles {
    /// Other paths get the `index.html`, so that pages can have addresses of their own; but for those that look like a file's, which an outdated page
    /// asks for.
    pub(crate) fn router(self) -> Router {
        let index = self.folder.join("index.html");
        let page = Router::new().fallback(get(move |uri: Uri| async move { page_of(&uri, &index).await }));
        let files = ServeDir::new(&self.folder).fallback(page);
        // A page asks again at every load, which is one short answer, so that a new build is seen at once, also by its service worker.
        let cache = SetResponseHeaderLayer::if_not_present(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let guard = from_fn_with_state(Arc::new(self), guard);
        Router::new().fallback_service(files).layer(cache).layer(guard)
    }

    /// Whether what a path names may be served: a file, a folder with its `index.html`, or nothing, for which the page is there.
    fn may_serve(&self, path: &str) -> bool {
        let Some(asked) = names_of(path) else { return false };
        if has_hidden_name(&asked) {
            return false;
        }
        // Where the folder is gone, nothing is served.
        let Ok(root) = canonicalize(&self.folder) else { return true };
        let place = root.join(asked);
        [place.join("index.html"), place, root.join("index.html")].iter().all(|place| self.is_open(&root, place))
    }

    /// By its real path; of what is not there, that of the folder in which it would be.
    fn is_open(&self, root: &Path, place: &Path) -> bool {
        for place in place.ancestors() {
            match canonicalize(place) {
                Ok(real) => {
                    let below = real.strip_prefix(root);
                    return below.is_ok_and(|below| !has_hidden_name(below)) && !self.is_in_secret(root, &real);
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(_) => return false,
            }
        }
        false
    }

    fn is_in_secret(&self, root: &Path, real: &Path) -> bool {
        let secrets = self.secrets.iter().filter_map(|secret| canonicalize(secret).ok());
        let mut below = secrets.filter(|secret| !root.starts_with(secret));
        let mut folders = real.ancestors().take_while(|folder| folder.starts_with(root));
        below.any(|secret| real.starts_with(secret)) || folders.any(self.is_secret)
    }
}

async fn guard(State(files): State<Arc<AppFiles>>, request: Request, next: Next) -> Response {
    if files.hosts == Hosts::Loopback && !is_addressed_to_loopback(request.headers()) {
        let told = "this server is for its own machine: open it under a loopback address, such as localhost\n";
        return (StatusCode::FORBIDDEN, told).into_response();
    }
    let path = request.uri().path().to_owned();
    let may_serve = tokio::task::spawn_blocking(move || files.may_serve(&path)).await;
    if may_serve.unwrap_or(false) { next.run(request).await } else { not_found() }
}

/// As the files are looked for then: without an escape, and without a step up. `None`: no file has such a path.
fn names_of(path: &str) -> Option<PathBuf> {
    let decoded = percent_decode_str(path.trim_start_matches('/')).decode_utf8().ok()?;
    let names = Path::new(&*decoded).components().filter(|name| *name != Component::CurDir);
    names.map(|name| matches!(name, Component::Normal(_)).then_some(name)).collect()
}

fn has_hidden_name(path: &Path) -> bool {
    let is_hidden = |name: Component<'_>| name.as_os_str().as_encoded_bytes().starts_with(b".");
    let below = path.strip_prefix(WELL_KNOWN).unwrap_or(path);
    below.components().any(is_hidden)
}

async fn page_of(uri: &Uri, index: &Path) -> Response {
    let last = uri.path().rsplit('/').next().unwrap_or_default();
    match tokio::fs::read(index).await {
        Ok(page) if !last.contains('.') => ([(header::CONTENT_TYPE, "text/html")], page).into_response(),
        Ok(_) | Err(_) => not_found(),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is no such file\n").into_response()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::random_id;

    /// An app with files, secrets, and links to both.
    struct App(PathBuf);

    impl App {
        fn new() -> App {
            let top = std::env::temp_dir().join(format!("iolite-app-{:032x}", random_id()));
            let app = top.join("app");
            for folder in ["assets", ".git", "nested/.hidden", ".well-known", "state", "marked", "cluster/store-0"] {
                fs::create_dir_all(app.join(folder)).expect("a temporary folder");
            }
            fs::create_dir_all(top.join("outside")).expect("a temporary folder");
            for file in [
                "app/index.html",
                "app/assets/a.js",
                "app/.env",
                "app/.git/config",
                "app/nested/.hidden/x",
                "app/..data",
                "app/.well-known/assetlinks.json",
                "app/.well-known/.secret",
                "app/state/1.segment",
                "app/marked/mark",
                "app/marked/token",
                "app/cluster/store-0/key",
                "app/node.toml",
                "outside/secret.txt",
                "outside/index.html",
            ] {
                fs::write(top.join(file), file).expect("it can be written");
            }
            for (link, to) in [
                ("inside.js", "assets/a.js"),
                ("out.txt", "../outside/secret.txt"),
                ("out", "../outside"),
                ("env.txt", ".env"),
                ("git", ".git"),
                ("data", "state"),
                ("dangling", "nowhere"),
            ] {
                symlink(to, app.join(link)).expect("a link can be made");
            }
            App(top)
        }

        fn files(&self) -> AppFiles {
            let folder = self.0.join("app");
            // One of them by a link.
            let secrets = ["data", "cluster", "node.toml"].map(|name| folder.join(name)).to_vec();
            AppFiles { folder, secrets, is_secret: |folder| folder.join("mark").exists(), hosts: Hosts::Any }
        }
    }

    impl Drop for App {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_app_has_its_files_and_its_pages() {
        let app = App::new();
        for path in [
            "/",
            "/index.html",
            "/assets/a.js",
            "/assets/%61.js",
            "/inside.js",
            "/rooms/7",
            "/.well-known/assetlinks.json",
            "/a..b",
            "/dangling",
        ] {
            assert!(app.files().may_serve(path), "{path}");
        }
    }

    #[test]
    fn what_begins_with_a_dot_lies_outside_or_is_the_servers_is_not_of_the_app() {
        let app = App::new();
        for path in [
            "/.env",
            "/%2eenv",
            "/%2Eenv",
            "//.env",
            "/.git/config",
            "/.git/nothing",
            "/nested/.hidden/x",
            "/nested/%2ehidden/x",
            "/..data",
            "/assets/../.env",
            "/../outside/secret.txt",
            "/%2e%2e/outside/secret.txt",
            "/..%2foutside%2fsecret.txt",
            "/assets/.well-known/x",
            "/.well-known/.secret",
            "/.well-known%2f.secret",
            "/env.txt",
            "/git/config",
            "/out.txt",
            "/out/",
            "/out/index.html",
            "/out/new",
            "/data/1.segment",
            "/state/1.segment",
            "/state/",
            "/state/nothing",
            "/marked/token",
            "/cluster/store-0/key",
            "/node.toml",
            "/%ff",
        ] {
            assert!(!app.files().may_serve(path), "{path}");
        }
    }

    #[test]
    fn a_secret_in_which_the_apps_folder_lies_hides_no_app() {
        let app = App::new();
        let above = AppFiles { secrets: vec![app.0.clone(), app.0.join("app")], ..app.files() };
        assert!(above.may_serve("/assets/a.js"));
    }

    /// The page of all paths is not taken from elsewhere either.
    #[test]
    fn an_index_that_leads_outside_is_not_served() {
        let app = App::new();
        let index = app.0.join("app/index.html");
        fs::remove_file(&index).expect("it is there");
        symlink("../outside/index.html", index).expect("a link can be made");
        for path in ["/", "/index.html", "/rooms/7"] {
            assert!(!app.files().may_serve(path), "{path}");
        }
    }
}
