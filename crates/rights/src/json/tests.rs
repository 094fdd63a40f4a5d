//! Rights in JSON: what is written is read, and what cannot be read has a place.

use proptest::prelude::*;

use crate::Rights;
use crate::drawn;

const CHAT: &str = r#"{"logs":{"sheet":{"run":{"in":{"of":"operation","set":{"values":[{"string":"setCell"}]}}}}},"objects":{"TodoList":{"hold":{"claim":{"is":{"contains":{"string":"editor"}},"name":"roles"}}}},"tables":{"messages":{"create":{"and":[{"test":{"is":{"equal":{"claim":"sub"}},"of":{"row":"author"}}},{"exists":{"at":{"key":[{"row":"room"},{"claim":"sub"}],"table":"members"}}}]},"update":{"ops":{"likes":[{"add":[{"atLeast":{"int":1}},{"atMost":{"int":1}}]}]}}},"rooms":"open"}}"#;

fn error(text: &str) -> String {
    Rights::from_json(text).expect_err("bad").to_string()
}

#[test]
fn canonical_rights_read_back_and_have_one_digest() {
    let rights = Rights::from_json(CHAT).expect("good");
    assert_eq!(rights.to_json(), CHAT);
    let spaced = CHAT.replace(':', " : ");
    assert_eq!(Rights::from_json(&spaced).map(|read| read.digest()), Ok(rights.digest()));
    assert_ne!(rights.clone().open("rooms2").digest(), rights.digest());
}

#[test]
fn an_error_names_its_place_and_the_remedy() {
    let at = |rule: &str| error(&format!(r#"{{"tables":{{"t":{{"read":{rule}}}}}}}"#));
    for (rule, wanted) in [
        (r#"{"xor":[]}"#, r#"rights, at tables.t.read: "xor" is no rule: write a rule: and, or, not"#),
        (r#"{"and":[{"or":[]},{"not":5}]}"#, "at tables.t.read.and.1.not: write a rule: and, or, not"),
        (r#"{"test":{"is":{"equal":null}}}"#, r#"at tables.t.read.test: the key "of" is missing: add it"#),
        (
            r#"{"test":{"is":{"like":null},"of":"now"}}"#,
            r#"at tables.t.read.test.is: "like" is no comparison: it is one of equal"#,
        ),
        (r#"{"test":{"is":{"equal":{"int":"x"}},"of":"now"}}"#, "is.equal.int: this is no value of type int"),
        (r#"{"exists":{"at":{"key":[],"table":"t"},"after":{"key":[],"table":"t"}}}"#, "write one row to follow"),
        (
            r#"{"claim":{"name":"x","is":{"equal":null},"more":1}}"#,
            r#"there is no key "more" here: it is one of is, name"#,
        ),
    ] {
        let said = at(rule);
        assert!(said.contains(wanted), "{said}");
    }
    assert!(error("{").contains("no JSON"));
    assert!(error(r#"{"tables":{"t":"closed"}}"#).contains(r#"at tables.t: write "open" or an object of rules"#));
}

#[test]
fn rights_have_a_length() {
    let of = |length: usize| format!("{{{}}}", " ".repeat(length - 2));
    assert_eq!(Rights::from_json(&of(Rights::JSON_BYTES_MAX)), Ok(Rights::default()));
    assert!(error(&of(Rights::JSON_BYTES_MAX + 1)).contains("at most 524288 are read"));
}

proptest! {
    #[test]
    fn rights_read_back(rights in drawn::rights()) {
        let text = rights.to_json();
        let read = Rights::from_json(&text);
        prop_assert_eq!(read.as_ref(), Ok(&rights));
        prop_assert_eq!(read.expect("equal").to_json(), text);
    }

    #[test]
    fn any_text_gives_rights_or_an_error(text in ".{0,60}", cut in 0usize..CHAT.len(), digit in 0u8..128) {
        let _ = Rights::from_json(&text);
        let mut bytes = CHAT.as_bytes().to_vec();
        bytes[cut] = digit;
        if let Ok(read) = Rights::from_json(&String::from_utf8(bytes).expect("ASCII")) {
            prop_assert_eq!(Rights::from_json(&read.to_json()), Ok(read));
        }
    }
}
