//! `iolite dev --app` and the gateways of a cluster serve an app's folder, and nothing in it that is secret.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::dev::{Dev, Folder};
use crate::support::local::Local;
use iolite_cluster::{ClusterShape, Ports};

/// A folder with an app, secrets, and links.
fn app(folder: &Path) {
    for inside in [".git", ".well-known"] {
        std::fs::create_dir_all(folder.join(inside)).expect("a temporary folder");
    }
    for (file, text) in [
        ("index.html", "<p>hello"),
        (".env", "SECRET=1"),
        (".git/config", "SECRET=2"),
        (".well-known/assetlinks.json", "[]"),
    ] {
        std::fs::write(folder.join(file), text).expect("it can be written");
    }
    symlink("/etc/passwd", folder.join("users.txt")).expect("a link can be made");
    symlink("/etc", folder.join("etc")).expect("a link can be made");
    symlink(".env", folder.join("env.txt")).expect("a link can be made");
}

/// Paths of an app that nobody gets.
const SECRETS: [&str; 9] = [
    "/.env",
    "/%2eenv",
    "/%2Egit/config",
    "/.git/config",
    "/assets/%2e%2e/.env",
    "/users.txt",
    "/etc/passwd",
    "/env.txt",
    "/.well-known/%2e%2e/.env",
];

fn is_hidden(answer: &str, path: &str) {
    assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    assert!(!answer.contains("SECRET") && !answer.contains("root:"), "{path}: {answer}");
}

fn is_page(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("<p>hello"), "{answer}");
}

#[test]
fn what_is_secret_in_an_apps_folder_is_not_served_wherever_the_data_are() {
    let folder = Folder::new("app-secrets");
    app(&folder.0);
    symlink("state", folder.0.join("linked")).expect("a link can be made");
    // Under the usual name, under another one, and another one by a link.
    for (data, names) in
        [(".iolite", [".iolite", "%2eiolite"]), ("state", ["state", "linked"]), ("linked", ["state", "linked"])]
    {
        let app = ["--app", folder.0.to_str().expect("plain letters")];
        let mut server = Dev::start_with(&folder.0.join(data), &app);
        let of_data = names.iter().flat_map(|name| {
            ["token", "0000000000000001.segment", "", "LOCK", "no"].map(|file| format!("/{name}/{file}"))
        });
        for path in SECRETS.map(str::to_owned).into_iter().chain(of_data) {
            is_hidden(&server.get(&path, ""), &path);
        }
        is_page(&server.get("/", ""));
        is_page(&server.get("/rooms/7", ""));
        assert!(server.get("/.well-known/assetlinks.json", "").starts_with("HTTP/1.1 200"));
        // A foreign name that is made to point at this machine gets no file, as it gets no token.
        for path in ["/", "/index.html", "/rooms/7", "/iolite.json"] {
            let rebound = server.get_as("evil.example", path, "");
            assert!(rebound.starts_with("HTTP/1.1 403") && !rebound.contains("<p>hello"), "{path}: {rebound}");
        }
        is_page(&server.get_as("app.localhost:80", "/", ""));
        assert!(server.terminate().success());
    }
}

#[test]
fn the_gateways_of_a_cluster_inside_of_the_apps_folder_serve_none_of_its_files() {
    let folder = Folder::new("app-cluster");
    app(&folder.0);
    let place = folder.0.join("servers");
    let shape =
        ClusterShape { replicas: 1, ports: Ports::Free, app: Some(folder.0.clone()), ..ClusterShape::default() };
    let cluster = Local::of(&place, &shape);
    let get = |path: &str| cluster.get("gateway-0", path);
    let of_cluster = [
        "token",
        "cluster.toml",
        "authority/authority.key",
        "gateway-0/node.toml",
        "store-0/data/LOCK",
        "store-0/log",
        "no",
    ];
    let of_cluster = of_cluster.map(|name| format!("/servers/{name}"));
    for path in SECRETS.map(str::to_owned).into_iter().chain(of_cluster) {
        is_hidden(&get(&path), &path);
    }
    is_page(&get("/"));
    is_page(&get("/rooms/7"));
}

#[test]
fn the_page_of_a_gateway_without_an_app_says_how_that_gateway_gets_one() {
    let folder = Folder::new("app-none");
    let cluster = Local::start(&folder.0, 1, 1, 1);
    let page = cluster.get("gateway-0", "/");
    for told in
        ["HTTP/1.1 200", "<code>node.toml</code>, names no <code>app</code>", "<code>[gateway]</code>", "app = "]
    {
        assert!(page.contains(told), "{page}");
    }
    assert!(!page.contains("iolite dev") && !page.contains("@WHY"), "{page}");
}
