//! The page `docs/protocols/journal.md` and the code say the same.

use iolite_engine::{FORMAT_VERSION, Incarnation, Journal, MemoryDisk, Options, RECORD_BYTES_MAX};

const PAGE: &str = include_str!("../../../../docs/protocols/journal.md");

/// The bytes of the code block that follows `title`: pairs of hexadecimal digits, up to two spaces and a remark.
fn golden(title: &str) -> Vec<u8> {
    let (_, after) = PAGE.split_once(title).expect("the page has the title");
    let (_, block) = after.split_once("```text\n").expect("a code block follows");
    let (block, _) = block.split_once("```").expect("the code block ends");
    let pairs = block.lines().flat_map(|line| line.split("  ").next().unwrap_or_default().split_whitespace());
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

fn written() -> MemoryDisk {
    let incarnation = Incarnation(0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100);
    let (mut journal, _) = Journal::open(MemoryDisk::new(), Options::default(), incarnation).unwrap();
    journal.append(b"put a").unwrap();
    journal.sync().unwrap();
    journal.begin_checkpoint().unwrap();
    journal.append(b"put b").unwrap();
    journal.checkpoint_chunk(b"a, b").unwrap();
    journal.finish_checkpoint().unwrap();
    journal.into_disk()
}

#[test]
fn the_golden_bytes_of_the_page_are_what_is_written() {
    let files = written().files();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["0000000000000002.checkpoint", "0000000000000002.segment"]);
    assert_eq!(files["0000000000000002.segment"], golden("### A segment"));
    assert_eq!(files["0000000000000002.checkpoint"], golden("### A checkpoint"));
}

#[test]
fn the_golden_bytes_of_the_page_are_read() {
    let files = [("0000000000000002.segment", "### A segment"), ("0000000000000002.checkpoint", "### A checkpoint")];
    let files = files.map(|(name, title)| (name.to_owned(), golden(title))).into();
    let (_, recovery) = Journal::open(MemoryDisk::with_files(files), Options::default(), Incarnation(1)).unwrap();
    assert_eq!(recovery.records[0].bytes, b"put b");
    assert_eq!(recovery.records[0].position.0, 2);
    assert_eq!(recovery.checkpoint_chunks, [b"a, b"]);
}

#[test]
fn the_page_names_the_format_version_and_the_limits() {
    assert!(PAGE.contains(&format!("format version {FORMAT_VERSION}")));
    assert!(PAGE.contains(&format!("{} MiB", RECORD_BYTES_MAX >> 20)));
    assert!(PAGE.contains(&format!("{} MiB", Options::default().segment_bytes_max >> 20)));
}

#[test]
fn the_page_of_all_limits_has_those_of_the_journal() {
    let page = include_str!("../../../../docs/limits.md");
    let segment_bytes_max = Options::default().segment_bytes_max;
    assert!(page.contains(&format!("| `engine::RECORD_BYTES_MAX` | {RECORD_BYTES_MAX} |")));
    assert!(page.contains(&format!("| `engine::Options::segment_bytes_max` | {segment_bytes_max} |")));
}
