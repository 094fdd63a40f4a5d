//! Golden bytes: the encodings are what they were, both ways, for every message of proto/.
//!
//! A format that is in use changes only by a new version. To write the bytes of a new message: `IOLITE_GOLDEN=write cargo test -p
//! iolite-wire --test golden`, then read what git shows.

#![expect(clippy::disallowed_methods, reason = "a test reads its files")]

mod decoders;
mod samples;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use decoders::Frames;
use iolite_wire::journal::{CheckpointChunk, JournalRecord};
use samples::Sample;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A comment line, then a line a frame.
fn text(sample: &Sample) -> String {
    let frames = sample.content.encode().expect("samples are small");
    let frames: Vec<String> = frames.iter().map(|frame| hexadecimal(frame) + "\n").collect();
    format!("# {:?}: {}\n{}", sample.content.decoder(), sample.comment, frames.concat())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn frames(text: &str) -> Frames {
    let byte = |line: &str, at: usize| u8::from_str_radix(&line[at..at + 2], 16).expect("hexadecimal digits");
    let frame = |line: &str| (0..line.len()).step_by(2).map(|at| byte(line, at)).collect();
    text.lines().filter(|line| !line.starts_with('#')).map(frame).collect()
}

#[test]
fn every_message_is_encoded_and_decoded_as_ever() {
    for sample in samples::all() {
        let path = folder("golden").join(sample.name).with_extension("hex");
        if env::var("IOLITE_GOLDEN").is_ok_and(|value| value == "write") {
            fs::write(&path, text(&sample)).expect("the folder can be written");
        }
        let golden = fs::read_to_string(&path).expect("each sample has golden bytes");
        assert_eq!(text(&sample), golden, "{}", sample.name);
        let decoded = sample.content.decoder().decode(&frames(&golden));
        assert_eq!(decoded.as_ref(), Ok(&sample.content), "{}", sample.name);
    }
}

#[test]
fn every_message_of_proto_has_golden_bytes_and_no_others_do() {
    let mut messages = BTreeSet::new();
    for entry in fs::read_dir(folder("proto")).expect("it is there") {
        messages.extend(stems(&entry.expect("it is there").path()));
    }
    assert_eq!(stems(&folder("golden")), messages);
    let samples: BTreeSet<String> = samples::all().iter().map(|sample| sample.name.to_owned()).collect();
    assert_eq!(samples, messages);
}

#[test]
fn every_proto_says_since_when() {
    for entry in fs::read_dir(folder("proto")).expect("it is there") {
        for file in fs::read_dir(entry.expect("it is there").path()).expect("a folder") {
            let path = file.expect("it is there").path();
            let text = fs::read_to_string(&path).expect("text");
            let comment = text.split("syntax").next().expect("a first part");
            assert!(comment.contains("// Since "), "{}", path.display());
        }
    }
}

/// Lists with which a feed was closed, in records of their own and in parts of a record; counters that were acknowledged without an outcome.
#[test]
fn what_an_earlier_release_wrote_and_nothing_rests_on_any_more_is_passed_over() {
    let bytes = |digits: String| frames(&digits).concat();
    let list = "090190008c1e55e86212161a1011112222333344445555666677778888202a2801121808041a1011112222333344445555666677778888202a2801";
    let record = JournalRecord::decode(&bytes(format!("08024a3b{list}")));
    assert_eq!(record, Ok(JournalRecord::Superseded));
    let part = "0a0408031004110110008c1e55e862190120008c1e55e86220012803";
    let [with, without] = [format!("08024259{part}3a3b{list}"), format!("0802421c{part}")];
    let [with, without] = [with, without].map(|digits| JournalRecord::decode(&bytes(digits)));
    assert!(matches!(&with, Ok(JournalRecord::Master(part)) if part.number == 1), "{with:?}");
    assert_eq!(with, without);
    let client = "0a10111122223333444455556666777788881029";
    let [with, without] = [format!("0801221c0a1a{client}220403030529"), format!("080122160a14{client}")];
    let [with, without] = [with, without].map(|digits| CheckpointChunk::decode(&bytes(digits)));
    assert!(matches!(&with, Ok(CheckpointChunk::Clients(clients)) if clients.len() == 1), "{with:?}");
    assert_eq!(with, without);
}

fn stems(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is there").path());
    entries.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}
