//! What has to be corrected ends a node, or a tool, with a word; and certificates and users are what etcd asks for.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::server::Etcd;
use crate::support::folder::{Folder, PROGRAM};

const DESCRIPTION: &str = "store = \"0f1e2d3c4b5a69788796a5b4c3d2e1f0\"\n[[shards]]\nnumber = 0\n\
    replicas = [{ number = 0, address = \"127.0.0.1:1\" }]\n";

/// What a replica says that is to find its description by this file, and must not.
fn refusal(folder: &Path, etcd: &str) -> String {
    std::fs::write(folder.join("cluster.toml"), etcd).expect("its own");
    let node = "cluster = \"cluster.toml\"\nplain = true\n[store]\nnumber = 0\ndata = \"data\"\n";
    std::fs::write(folder.join("node.toml"), node).expect("its own");
    let mut command = Command::new(PROGRAM);
    let output = command.args(["serve", "--first", "--config"]).arg(folder.join("node.toml")).output();
    let output = output.expect("the program can be run");
    assert!(!output.status.success(), "it must not start");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `iolite shard` of a description.
fn shard(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(PROGRAM);
    command.arg("shard").args(arguments).args(["--cluster", "cluster.toml"]).current_dir(folder);
    let output = command.output().expect("the program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn what_has_to_be_corrected_is_said() {
    let folder = Folder::new("etcd-refused");
    let etcd = Etcd::start(&folder.0);
    // `none`, which is not there, `text`, which says "not a cluster", and `other`, which is TOML.
    etcd.ask("kv/put", r#"{"key": "dGV4dA==", "value": "bm90IGEgY2x1c3Rlcg=="}"#);
    etcd.ask("kv/put", r#"{"key": "b3RoZXI=", "value": "c2hhcmRzID0gW10="}"#);
    let own = etcd.endpoint();
    for (endpoint, key, told) in [
        (own.as_str(), "none", "has no key \"none\""),
        (&own, "text", "the key \"text\" of etcd has no description of a cluster"),
        (&own, "other", "missing field `store`"),
        (&own, "", "`key` is empty"),
        ("http://127.0.0.1:1", "text", "etcd does not answer: http://127.0.0.1:1: Connection refused"),
        ("http://nowhere.invalid:2379", "text", "etcd does not answer: http://nowhere.invalid:2379: "),
        ("ftp://127.0.0.1:2379", "text", "\"ftp://127.0.0.1:2379\" is not like https://HOST:PORT"),
        (&own.replace("http:", "https:"), "text", "etcd does not answer"),
    ] {
        let said = refusal(&folder.0, &format!("[etcd]\nendpoints = [\"{endpoint}\"]\nkey = \"{key}\"\n"));
        assert!(said.contains(told), "{told}: {said}");
        assert!(said.starts_with("error: "), "{said}");
    }
    let said = refusal(&folder.0, &format!("[etcd]\nendpoints = [\"{own}\"]\nkey = \"a\"\nauthority = \"nothing\"\n"));
    assert!(said.contains("nothing cannot be read for etcd"), "{said}");
    let file = format!("[etcd]\nendpoints = [\"http://127.0.0.1:1\", \"{own}\"]\nkey = \"new\"\n");
    std::fs::write(folder.0.join("cluster.toml"), file).expect("its own");
    write_refuses_what_is_no_cluster_and_what_is_there(&folder.0);
}

/// By the second of two servers, of which the first is away.
fn write_refuses_what_is_no_cluster_and_what_is_there(folder: &Path) {
    let write = |text: &str| {
        std::fs::write(folder.join("next.toml"), text).expect("its own");
        shard(folder, &["write", "--from", "next.toml"])
    };
    let twice =
        "\n[[shards]]\nnumber = 1\nbegins = { table = \"t\" }\nreplicas = [{ number = 0, address = \"a:1\" }]\n";
    let parts = "\n[[shards]]\nnumber = 1\nreplicas = [{ number = 1, address = \"a:1\" }]\n[[shards]]\nnumber = 2\n\
        replicas = [{ number = 2, address = \"a:2\" }]\n[[splits]]\nat = { table = \"t\" }\n\
        parent = { number = 0, replicas = [0] }\nlower = { number = 1, replicas = [1] }\n";
    for (text, told) in [
        ("# revision x\n".to_owned(), "names no revision"),
        (format!("{DESCRIPTION}{twice}"), "replica 0 is there twice"),
        (
            format!("{DESCRIPTION}{parts}upper = {{ number = 2, replicas = [0] }}\n"),
            "replica 0 is in two of the groups",
        ),
        (format!("{DESCRIPTION}{parts}upper = {{ number = 0, replicas = [2] }}\n"), "of shard 0"),
    ] {
        let said = write(&text).expect_err(told);
        assert!(said.contains(told), "{told}: {said}");
    }
    write(DESCRIPTION).expect("there is none yet");
    write(DESCRIPTION).expect("this one was written, and its answer may have been lost");
    let said = write(&DESCRIPTION.replace("127.0.0.1:1", "127.0.0.1:3")).expect_err("there is one");
    assert!(said.contains("etcd has a description already"), "{said}");
    let described = shard(folder, &["describe"]).expect("it is there");
    write(&described.replace("127.0.0.1:1", "127.0.0.1:2")).expect("it was read");
    let said = write(&described).expect_err("it has changed");
    assert!(said.contains("somebody has changed the description since"), "{said}");
    let now = shard(folder, &["describe"]).expect("it is there");
    let said = write(&now.replace("0f1e", "ffff")).expect_err("it is of another cluster");
    assert!(said.contains("is of another cluster"), "{said}");
}

#[test]
fn a_user_is_let_in_by_the_password_and_nobody_else() {
    let folder = Folder::new("etcd-user");
    let etcd = Etcd::start(&folder.0);
    for (method, body) in [
        ("auth/user/add", r#"{"name": "root", "password": "right"}"#),
        ("auth/role/add", r#"{"name": "root"}"#),
        ("auth/user/grant", r#"{"user": "root", "role": "root"}"#),
        ("auth/enable", "{}"),
    ] {
        assert!(etcd.ask(method, body).starts_with("HTTP/1.1 200"));
    }
    let file = format!("[etcd]\nendpoints = [\"{}\"]\nkey = \"k\"\n", etcd.endpoint());
    let said = refusal(&folder.0, &file);
    assert!(said.contains("etcd refuses it: etcdserver: user name is empty"), "{said}");
    let file = format!("{file}user = \"root\"\npassword_file = \"password\"\n");
    let password = folder.0.join("password");
    std::fs::write(&password, "wrong\n").expect("its own");
    std::fs::set_permissions(&password, Permissions::from_mode(0o644)).expect("its own");
    let said = refusal(&folder.0, &file);
    assert!(said.contains("can be read by everybody on this machine") && said.contains("chmod o="), "{said}");
    std::fs::set_permissions(&password, Permissions::from_mode(0o640)).expect("its own");
    let said = refusal(&folder.0, &file);
    assert!(said.contains("etcd refuses it: etcdserver: authentication failed"), "{said}");
    std::fs::write(folder.0.join("password"), "right\n").expect("its own");
    std::fs::write(folder.0.join("first.toml"), DESCRIPTION).expect("its own");
    shard(&folder.0, &["write", "--from", "first.toml"]).expect("it is let in");
    assert!(shard(&folder.0, &["describe"]).expect("it is let in").contains("127.0.0.1:1"));
}

/// An authority, and certificates by it for who is at 127.0.0.1.
struct Certificates {
    issuer: Issuer<'static, KeyPair>,
}

impl Certificates {
    fn make(file: &Path) -> Certificates {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        std::fs::write(file, params.self_signed(&key).expect("its own").pem()).expect("its own");
        Certificates { issuer: Issuer::new(params, key) }
    }

    fn issue(&self, certificate: &Path, key_file: &Path) {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        let key = KeyPair::generate().expect("a key");
        std::fs::write(certificate, params.signed_by(&key, &self.issuer).expect("its own").pem()).expect("its own");
        std::fs::write(key_file, key.serialize_pem()).expect("its own");
    }
}

#[test]
fn certificates_prove_who_etcd_is_and_who_asks() {
    let folder = Folder::new("etcd-tls");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let path = |name: &str| folder.0.join(name);
    let own = Certificates::make(&path("ca.crt"));
    own.issue(&path("server.crt"), &path("server.key"));
    own.issue(&path("client.crt"), &path("client.key"));
    Certificates::make(&path("other.crt"));
    let argument = |name: &str, file: &str| [name.to_owned(), path(file).display().to_string()];
    let files = [("--cert-file", "server.crt"), ("--key-file", "server.key"), ("--trusted-ca-file", "ca.crt")];
    let mut arguments: Vec<String> = files.iter().flat_map(|(name, file)| argument(name, file)).collect();
    arguments.push("--client-cert-auth".to_owned());
    let etcd = Etcd::start_with(&path("etcd"), arguments);
    let file = |rest: &str| format!("[etcd]\nendpoints = [\"{}\"]\nkey = \"k\"\n{rest}", etcd.endpoint());
    let identity = "certificate = \"client.crt\"\ncertificate_key = \"client.key\"\n";
    let said = refusal(&folder.0, &file(&format!("authority = \"other.crt\"\n{identity}")));
    assert!(said.contains("etcd does not answer") && said.contains("invalid peer certificate"), "{said}");
    let said = refusal(&folder.0, &file("authority = \"ca.crt\"\n"));
    assert!(said.contains("etcd does not answer"), "{said}");
    std::fs::write(path("cluster.toml"), file(&format!("authority = \"ca.crt\"\n{identity}"))).expect("its own");
    std::fs::write(path("first.toml"), DESCRIPTION).expect("its own");
    shard(&folder.0, &["write", "--from", "first.toml"]).expect("it is let in");
    assert!(shard(&folder.0, &["describe"]).expect("it is let in").contains("127.0.0.1:1"));
}
