//! What an authority writes, and what it refuses to.

use super::*;
use crate::random_id;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let folder = std::env::temp_dir().join(format!("iolite-authority-{:032x}", random_id()));
        std::fs::create_dir(&folder).expect("a temporary folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("it is there");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn name() -> NodeName {
    NodeName::new("store-0").expect("a name")
}

#[test]
fn all_files_are_for_their_owner_only_and_a_node_gets_no_key_of_the_authority() {
    let folder = Folder::new();
    let (own, node) = (folder.0.join("authority"), folder.0.join("node"));
    let authority = Authority::create(&own).expect("it can be made");
    authority.issue(&name(), Authority::NODE_VALID, &node).expect("it can be issued");
    assert_eq!(files(&own), ["authority.crt", "authority.key"]);
    assert_eq!(files(&node), ["authority.crt", "node.crt", "node.key"]);
    #[cfg(unix)]
    for file in [own.join("authority.crt"), own.join("authority.key"), node.join("node.key"), node.join("node.crt")] {
        let mode = std::fs::metadata(&file).expect("it is there").permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600, "{}", file.display());
    }
    let read = |file: PathBuf| std::fs::read_to_string(file).expect("readable");
    assert_eq!(read(own.join("authority.crt")), read(node.join("authority.crt")));
    assert_ne!(read(own.join("authority.key")), read(node.join("node.key")));
}

#[test]
fn an_authority_is_never_overwritten() {
    let folder = Folder::new();
    Authority::create(&folder.0).expect("it can be made");
    let before = std::fs::read(folder.0.join("authority.key")).expect("readable");
    let again = Authority::create(&folder.0).map(|_| ());
    assert!(matches!(&again, Err(AuthorityError::Exists { .. })), "{again:?}");
    assert_eq!(std::fs::read(folder.0.join("authority.key")).expect("readable"), before);
}

#[test]
fn an_authority_without_its_files_says_what_to_do() {
    let folder = Folder::new();
    let missing = Authority::open(&folder.0).map(|_| ()).expect_err("nothing is there");
    assert!(missing.to_string().contains("Make an authority first"), "{missing}");
    Authority::create(&folder.0).expect("it can be made");
    std::fs::write(folder.0.join("authority.key"), "no key").expect("writable");
    let damaged = Authority::open(&folder.0).map(|_| ()).expect_err("it is damaged");
    assert!(matches!(&damaged, AuthorityError::Key { .. }), "{damaged}");
    assert!(damaged.to_string().contains("Restore it from a copy"), "{damaged}");
}

#[test]
fn the_authorities_that_a_node_trusts_stay_and_each_is_there_once() {
    let folder = Folder::new();
    let (old, new, node) = (folder.0.join("old"), folder.0.join("new"), folder.0.join("node"));
    let issue = |authority: &Authority| authority.issue(&name(), Authority::NODE_VALID, &node).expect("issued");
    let (old_one, new_one) = (Authority::create(&old).expect("made"), Authority::create(&new).expect("made"));
    let read = |folder: &Path| std::fs::read_to_string(folder.join("authority.crt")).expect("readable");
    issue(&old_one);
    assert_eq!(read(&node), read(&old));
    assert_eq!(issue(&old_one).authorities().expect("as PEM"), 1);
    assert_eq!(read(&node), read(&old), "it is there already");
    issue(&new_one);
    assert_eq!(read(&node), read(&old) + &read(&new));
    issue(&old_one);
    assert_eq!(issue(&new_one).authorities().expect("as PEM"), 2);
    assert_eq!(read(&node), read(&old) + &read(&new));
    // Somebody has edited it, and left no end of the last line.
    std::fs::write(node.join("authority.crt"), format!("the old one:\n{}", read(&old).trim_end())).expect("writable");
    issue(&new_one);
    assert_eq!(read(&node), format!("the old one:\n{}{}", read(&old), read(&new)));
}

#[test]
fn authorities_that_cannot_be_read_are_not_replaced_and_nothing_else_is() {
    let folder = Folder::new();
    let authority = Authority::create(&folder.0.join("authority")).expect("it can be made");
    let node = folder.0.join("node");
    authority.issue(&name(), Authority::NODE_VALID, &node).expect("it can be issued");
    let certificate = std::fs::read(node.join("node.crt")).expect("readable");
    for damaged in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nMIIB"] {
        std::fs::write(node.join("authority.crt"), damaged).expect("writable");
        let refused = authority.issue(&name(), Authority::NODE_VALID, &node).expect_err("it is damaged").to_string();
        assert!(refused.contains("node/authority.crt") && refused.contains("remove it"), "{refused}");
        assert_eq!(std::fs::read_to_string(node.join("authority.crt")).expect("readable"), damaged);
        assert_eq!(std::fs::read(node.join("node.crt")).expect("readable"), certificate);
    }
}
