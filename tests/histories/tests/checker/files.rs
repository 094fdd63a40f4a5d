//! Files of histories: what is recorded is read back, and bad files are refused with the line and what was expected.

use iolite_histories::{History, Malformed, Recorder, judge, read};

use super::build::{Build, add, append, transfer, write};
use super::serial::{Kinds, Shape, Stamps, history};

fn recorded(history: &History) -> String {
    let mut bytes = Vec::new();
    Recorder::record(history, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let error = read(text.as_bytes()).expect_err("a bad file");
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn a_history_is_read_back_as_it_was_recorded() {
    for seed in 0..50 {
        for stamps in [Stamps::Given, Stamps::None] {
            let history = history(seed, Shape::small(Kinds::All, stamps));
            assert_eq!(read(recorded(&history).as_bytes()).unwrap(), history);
        }
    }
}

#[test]
fn the_format_is_the_one_on_its_page() {
    let page = include_str!("../../../../docs/histories.md");
    let example: Vec<&str> = page.lines().filter(|line| line.starts_with("{\"")).collect();
    let text = example.join("\n");
    let history = read(text.as_bytes()).unwrap();
    assert_eq!(recorded(&history).lines().count(), example.len());
    assert_eq!(read(recorded(&history).as_bytes()).unwrap(), history);
    let report = judge(&history).unwrap();
    assert!(report.is_clean() && report.is_whole(), "{report}");
    let operations: std::collections::BTreeSet<&str> = report.counts.operations.keys().copied().collect();
    assert_eq!(operations.len(), 13, "every operation is shown: {operations:?}");
}

const HEADER: &str = "{\"iolite_history\":1,\"banks\":[]}\n";

#[test]
fn what_is_no_history_is_refused() {
    refused("", "the file is empty");
    refused("hello\n", "this is not a history");
    refused("{\"iolite_history\":2,\"banks\":[]}\n", "has version 2, and this program reads 1");
    refused("{\"iolite_history\":1}\n", "`banks` is missing");
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let history = history(1, Shape::small(Kinds::All, Stamps::None));
    let text = recorded(&history);
    let without_end = &text[..text.trim_end().rfind('\n').unwrap()];
    refused(without_end, "is cut off after");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(3);
    refused(&lines.join("\n"), "lines are missing or doubled");
    let in_a_line = &text[..text.len() / 2];
    refused(in_a_line, "no JSON");
}

#[test]
fn a_bad_line_is_named_with_what_was_expected() {
    let line = |line: &str| format!("{HEADER}{line}\n{{\"end\":1}}\n");
    let with = |operations: &str| {
        line(&format!(
            "{{\"client\":1,\"invoked\":5,\"completed\":9,\"outcome\":\"committed\",\"operations\":[{operations}]}}"
        ))
    };
    assert!(read(with("[\"write\",1,2]").as_bytes()).is_ok());
    refused(&with("[\"wirte\",1,2]"), "line 2: no operation is [\"wirte\",1,2] with 3 parts");
    refused(&with("[\"write\",1]"), "line 2: no operation is");
    refused(&with("[\"write\",1,-2]"), "line 2: a value must be a number from 0 to 2^64 - 1, not -2");
    refused(&with("[\"add\",1,\"x\"]"), "line 2: an amount must be a whole number");
    refused(&with("[\"list\",1,[1,null]]"), "line 2: a value must be a number");
    refused(&line("[]"), "line 2: a line must be a JSON object");
    refused(&line("{\"client\":1}"), "line 2: `operations` is missing");
    let transaction = |outcome: &str| {
        line(&format!("{{\"client\":1,\"invoked\":5,\"completed\":9,\"outcome\":{outcome},\"operations\":[]}}"))
    };
    refused(&transaction("\"maybe\""), "`outcome` must be committed, aborted or unknown, not \"maybe\"");
    refused(&transaction("\"unknown\",\"timestamp\":7"), "only what committed has a `timestamp`");
    refused(&transaction("\"committed\",\"tmestamp\":7"), "`tmestamp` is not known here");
    let backwards = "{\"client\":1,\"invoked\":9,\"completed\":5,\"outcome\":\"committed\",\"operations\":[]}";
    refused(&line(backwards), "line 2: `completed` is before `invoked`");
    refused(&format!("{HEADER}{{\"end\":0}}\n{{\"end\":0}}\n"), "line 3: nothing may follow");
}

#[test]
fn random_changes_to_a_file_are_errors_and_never_panics() {
    let text = recorded(&history(3, Shape::small(Kinds::All, Stamps::Given)));
    let mut random = super::random::Random::new(5);
    for _ in 0..3000 {
        let mut bytes = text.clone().into_bytes();
        let place = random.index(bytes.len());
        bytes[place] = random.below(256) as u8;
        if let Ok(history) = read(bytes.as_slice()) {
            drop(judge(&history));
        }
    }
}

#[test]
fn what_nobody_could_judge_is_malformed() {
    let twice = Build::default().committed(0, 1, [write(1, 5)]).unknown(2, 3, [write(1, 5)]);
    assert!(matches!(judge(&twice.0), Err(Malformed::WrittenTwice { first: 0, second: 1, .. })));
    Build::default().committed(0, 1, [write(1, 5)]).committed(2, 3, [append(1, 5)]).is_valid();
    let nowhere = Build::default().committed(0, 1, [transfer(0, 1, 5)]);
    assert!(matches!(judge(&nowhere.0), Err(Malformed::UnknownBank { transaction: 0, .. })));
    let mut early = Build::default().committed(0, 100, [add(1, 1)]).last([]);
    early.0.last[0].invoked = iolite_histories::Moment(50);
    assert!(matches!(judge(&early.0), Err(Malformed::NotLast { transaction: 1, .. })));
}

#[test]
fn a_report_is_json() {
    let lost = Build::default().committed(0, 10, [append(1, 5)]).last([super::build::list(1, &[])]);
    let json = lost.judge().to_json();
    assert_eq!(json["is_clean"], false);
    assert_eq!(json["violations"]["lost"], 1);
    assert_eq!(json["last_state"]["lost"], 1);
    assert_eq!(json["explained"][0]["class"], "g-single-real-time");
    assert_eq!(json["adya"]["registers"], "nothing");
    assert!(json["adya"]["lists_and_sets"]["violated"]["anomalies"].is_object());
}
