//! One authority takes the place of another, as docs/operations.md tells to do it, and nodes find each other at every step.

use std::path::Path;

use super::super::*;
use super::bed::*;
use crate::{Authority, TlsFiles};

const NODES: [&str; 3] = ["first", "second", "third"];

struct Cluster {
    folder: Folder,
    nodes: Vec<TestNode>,
}

impl Cluster {
    async fn start(folder: Folder, authority: &Authority) -> Cluster {
        let mut nodes = Vec::new();
        for own in NODES {
            nodes.push(wish(own, LinkSecurity::Tls(folder.issue(authority, own))).start().await);
        }
        Cluster { folder, nodes }
    }

    fn trusted(&self, node: &str) -> std::path::PathBuf {
        self.folder.0.join(node).join("authority.crt")
    }

    /// Each node makes a new link to each other one, by the files of this moment.
    async fn link_anew(&mut self) {
        for from in &NODES {
            for to in NODES.iter().filter(|to| *to != from) {
                let [from, to] = self.both(from, to);
                link_once(from, to).await;
            }
        }
    }

    fn both(&mut self, from: &str, to: &str) -> [(&str, &mut TestNode); 2] {
        let index = |wanted| NODES.iter().position(|node| *node == wanted).expect("a node of this cluster");
        let (from, to) = (index(from), index(to));
        let nodes = self.nodes.get_disjoint_mut([from, to]).expect("two of them");
        let [one, other] = nodes;
        [(NODES[from], one), (NODES[to], other)]
    }
}

/// A link, a message on it, and its end.
async fn link_once((from, one): (&str, &mut TestNode), (to, other): (&str, &mut TestNode)) {
    one.dial(to, other);
    let (link, _) = one.opened(to).await;
    let (others, _) = other.opened(from).await;
    one.links.send(link, &b"there".to_vec());
    assert_eq!(other.message(others).await, b"there");
    one.links.hang_up(&name(to));
    assert_eq!(one.next().await, (link, LinkEvent::Closed));
    assert_eq!(other.next().await, (others, LinkEvent::Closed));
}

fn append(file: &Path, certificate: &Path) {
    let read = |file: &Path| std::fs::read_to_string(file).expect("readable");
    std::fs::write(file, read(file) + &read(certificate)).expect("writable");
}

#[tokio::test]
async fn a_cluster_changes_its_authority_and_is_never_cut_in_two() {
    let folder = Folder::new();
    let (old, old_files) = (folder.authority(), folder.0.join("authority/authority.crt"));
    let new_files = folder.0.join("new/authority.crt");
    let stolen = folder.issue(&old, "stolen");
    let mut cluster = Cluster::start(folder, &old).await;
    cluster.link_anew().await;
    let new = Authority::create(&cluster.folder.0.join("new")).expect("it can be made");
    // All are to trust the new one too,
    for node in NODES {
        append(&cluster.trusted(node), &new_files);
        cluster.link_anew().await;
    }
    // then each gets its certificate of the new one, and goes on trusting those whose turn is later,
    for node in NODES {
        cluster.folder.issue(&new, node);
        cluster.link_anew().await;
    }
    // and last the old one is trusted no more.
    for node in NODES {
        std::fs::copy(&new_files, cluster.trusted(node)).expect("writable");
        cluster.link_anew().await;
    }
    assert_ne!(std::fs::read(&old_files).expect("readable"), std::fs::read(&new_files).expect("readable"));
    append(&stolen.authority, &new_files);
    let thief = wish("stolen", LinkSecurity::Tls(stolen)).start().await;
    thief.dial("first", &cluster.nodes[0]);
    cluster.nodes[0].until_refused("accepted", "other-authority").await;
}

#[tokio::test]
async fn a_node_that_got_its_new_certificate_first_still_finds_the_others() {
    // Whoever forgets the first step for the node itself: to issue adds the new authority to those that it trusts.
    let folder = Folder::new();
    let old = folder.authority();
    let mut cluster = Cluster::start(folder, &old).await;
    let new = Authority::create(&cluster.folder.0.join("new")).expect("it can be made");
    for node in ["second", "third"] {
        append(&cluster.trusted(node), &cluster.folder.0.join("new/authority.crt"));
    }
    let files: TlsFiles = cluster.folder.issue(&new, "first");
    assert_eq!(files.authorities().expect("as PEM"), 2);
    cluster.link_anew().await;
}
