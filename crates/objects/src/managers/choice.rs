//! The managers of a class as its line names them, checked while the program is compiled.
//!
//! Invariant: a line that compiles names managers that are known, with settings that they have, which fit together.

use std::fmt::Write as _;

use super::facts::{Kind, misfit};
use super::{BUILT_IN, Settings};

/// A manager in the line above a class, with the settings that are given there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub kind: &'static Kind,
    /// Settings with other values than the kind says.
    pub given: &'static [(&'static str, u64)],
}

impl Choice {
    /// A manager that is built in.
    ///
    /// # Panics
    /// There is none of this name. In a `const`, it is an error of the compiler.
    #[track_caller]
    pub const fn built_in(name: &str, given: &'static [(&'static str, u64)]) -> Choice {
        let mut at = 0;
        while at < BUILT_IN.len() {
            if is_same(BUILT_IN[at].name, name) {
                return Choice { kind: BUILT_IN[at], given };
            }
            at += 1;
        }
        let mut text = Text::new().with("no built-in manager is called ").with(name).with(": there are ");
        at = 0;
        while at < BUILT_IN.len() {
            text = text.with(if at == 0 { "" } else { ", " }).with(BUILT_IN[at].name);
            at += 1;
        }
        text.with(". A manager of your own is written with its path, as self::").with(name).panics()
    }

    /// Looks whether the managers have these settings, and fit together.
    ///
    /// # Panics
    /// With what is wrong. In a `const`, it is an error of the compiler.
    #[track_caller]
    pub const fn check(choices: &[Choice]) {
        let mut at = 0;
        while at < choices.len() {
            choices[at].check_settings();
            let mut other = at + 1;
            while other < choices.len() {
                if let Some(misfit) = misfit(&[choices[at].kind, choices[other].kind]) {
                    Text::new().with_all(&misfit.words()).panics();
                }
                other += 1;
            }
            at += 1;
        }
    }

    #[track_caller]
    const fn check_settings(&self) {
        let Choice { kind, given } = *self;
        let mut at = 0;
        while at < given.len() {
            if !has_setting(kind, given[at].0) {
                Text::new()
                    .with(kind.name)
                    .with(" has no setting ")
                    .with(given[at].0)
                    .with(": ")
                    .with_known(kind)
                    .panics();
            }
            at += 1;
        }
    }

    /// The canonical text of these managers.
    pub fn text(choices: &[Choice]) -> String {
        let mut sorted: Vec<&Choice> = choices.iter().collect();
        sorted.sort_by_key(|choice| choice.kind.slot);
        let mut text = String::new();
        for (at, choice) in sorted.into_iter().enumerate() {
            let between = if at == 0 { "" } else { "; " };
            let given = |name: &str| choice.given.iter().rev().find(|(own, _)| *own == name).map(|(_, value)| *value);
            let all =
                choice.kind.settings.iter().map(|(name, value)| ((*name).to_owned(), given(name).unwrap_or(*value)));
            let settings = Settings(all.collect());
            write!(text, "{between}{}{settings}", choice.kind.name).expect("a string takes everything");
        }
        text
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn has_setting(kind: &Kind, name: &str) -> bool {
    let mut at = 0;
    while at < kind.settings.len() {
        if is_same(kind.settings[at].0, name) {
            return true;
        }
        at += 1;
    }
    false
}

/// A message that the compiler makes.
struct Text {
    bytes: [u8; 1024],
    length: usize,
}

impl Text {
    const fn new() -> Text {
        Text { bytes: [0; 1024], length: 0 }
    }

    /// Adds words, as far as there is room.
    const fn with(mut self, words: &str) -> Text {
        let words = words.as_bytes();
        let mut at = 0;
        while at < words.len() && self.length < self.bytes.len() {
            self.bytes[self.length] = words[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    const fn with_all(mut self, words: &[&str]) -> Text {
        let mut at = 0;
        while at < words.len() {
            self = self.with(words[at]);
            at += 1;
        }
        self
    }

    const fn with_known(mut self, kind: &Kind) -> Text {
        if kind.settings.is_empty() {
            return self.with("it has none");
        }
        let mut at = 0;
        while at < kind.settings.len() {
            self = self.with(if at == 0 { "it has " } else { ", " }).with(kind.settings[at].0);
            at += 1;
        }
        self
    }

    #[track_caller]
    const fn panics(&self) -> ! {
        match std::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("these managers are wrong, and their message is too long"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let panicked = std::panic::catch_unwind(check).expect_err("it is refused");
        panicked.downcast_ref::<String>().cloned().expect("a text")
    }

    const STAYS: Choice = Choice::built_in("KeepInPlace", &[]);
    const REPEATS: Choice = Choice::built_in("AtLeastOnceRPC", &[("within", 70)]);
    const MOVES: Choice = Choice::built_in("ExplicitMigration", &[]);
    const LEASED: Choice = Choice::built_in("LeaseCaching", &[]);
    const IN_TURN: Choice = Choice::built_in("SerializableRPC", &[]);
    const MISSPELT: Choice = Choice::built_in("KeepOnDevice", &[("rests", 1)]);

    #[test]
    fn a_line_that_is_right_has_its_canonical_text() {
        const { Choice::check(&[STAYS, REPEATS]) };
        assert_eq!(Choice::text(&[STAYS, REPEATS]), "AtLeastOnceRPC within=70; KeepInPlace");
        assert_eq!(Choice::text(&[LEASED]), super::super::canonical("LeaseCaching").expect("it is right"));
        assert_eq!(Choice::text(&[]), "");
    }

    #[test]
    fn a_line_that_is_wrong_names_the_managers_and_says_what_to_write() {
        assert_eq!(
            problem(|| Choice::check(&[STAYS, REPEATS, MOVES])),
            "KeepInPlace and ExplicitMigration both do placement: take one of them"
        );
        let apart = problem(|| Choice::check(&[LEASED, IN_TURN]));
        assert!(apart.starts_with("LeaseCaching and SerializableRPC do not fit together: methods run at"), "{apart}");
        assert_eq!(problem(|| Choice::check(&[MISSPELT])), "KeepOnDevice has no setting rests: it has after, rest");
        let unknown = problem(|| assert_eq!(Choice::built_in("Raft", &[]), STAYS));
        assert!(unknown.starts_with("no built-in manager is called Raft: there are AtLeastOnceRPC, "), "{unknown}");
        assert!(unknown.ends_with("as self::Raft"), "{unknown}");
    }
}
