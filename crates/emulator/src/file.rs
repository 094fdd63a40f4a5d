//! Files of designs, workloads and hardware: TOML whose values know their lines, so that every error names one.
//!
//! Invariant: [`Section::finish`] reports each key that nothing has read; nothing in a file is without effect.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use toml::de::{DeTable, DeValue};

use crate::quantity::{Bytes, Span, read_bytes, read_span};

/// A mistake in a file, its place, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{file}:{line}: {what}: {remedy}")]
pub struct Problem {
    pub file: String,
    pub line: usize,
    pub what: String,
    pub remedy: String,
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(f64),
    Flag(bool),
    Table(Section),
    /// A list or a date, which no file of ours has.
    Other,
}

#[derive(Clone, Debug)]
struct Entry {
    line: usize,
    value: Value,
    is_read: Cell<bool>,
}

/// A table of a file.
#[derive(Clone, Debug)]
pub struct Section {
    file: String,
    title: String,
    line: usize,
    entries: BTreeMap<String, Entry>,
    asked: RefCell<BTreeSet<String>>,
    /// Where a value is taken from that is not here.
    fallback: Option<Rc<Section>>,
}

impl Section {
    pub fn parse(file: &str, text: &str) -> Result<Section, Problem> {
        let table = DeTable::parse(text).map_err(|error| Problem {
            file: file.to_owned(),
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            what: format!("this is not TOML ({})", error.message().trim().replace('\n', ", ")),
            remedy: "write one `key = value` a line; text stands in quotes".to_owned(),
        })?;
        Ok(section(file, text, "the file", 1, table.get_ref()))
    }

    /// A section with nothing in it, for what a file may leave out.
    pub fn empty(file: &str, title: &str, line: usize) -> Section {
        let (file, title) = (file.to_owned(), title.to_owned());
        Section { file, title, line, entries: BTreeMap::new(), asked: RefCell::default(), fallback: None }
    }

    #[must_use]
    pub fn with_fallback(self, fallback: Rc<Section>) -> Section {
        Section { fallback: Some(fallback), ..self }
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn line(&self) -> usize {
        self.line
    }

    /// The line of a key, or of the section if the key is not there.
    pub fn line_of(&self, key: &str) -> usize {
        let elsewhere = || self.fallback.as_ref().and_then(|fallback| fallback.entries.get(key));
        self.entries.get(key).or_else(elsewhere).map_or(self.line, |entry| entry.line)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn problem(&self, key: &str, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        let (what, remedy) = (what.into(), remedy.into());
        Problem { file: self.file.clone(), line: self.line_of(key), what, remedy }
    }

    /// Takes a key over from another section, as if it had stood here; a second value must be the same one.
    pub fn take_over(&mut self, key: &str, from: &Section) -> Result<(), Problem> {
        let entry = from.entries.get(key).expect("the caller lists the keys of that section");
        entry.is_read.set(true);
        match self.entries.get(key) {
            Some(had) if !same(&had.value, &entry.value) => Err(from.problem(
                key,
                format!("`{key}` has another value in line {}, and both configure one module", had.line),
                "give it in one place, or the same value in both",
            )),
            Some(_) => Ok(()),
            None => {
                self.entries.insert(key.to_owned(), Entry { is_read: Cell::new(false), ..entry.clone() });
                Ok(())
            }
        }
    }

    pub fn text(&self, key: &str) -> Result<&str, Problem> {
        self.text_or_none(key)?.ok_or_else(|| self.missing(key, "a text"))
    }

    pub fn text_or_none(&self, key: &str) -> Result<Option<&str>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.not_a(key, "a text", "\"...\"")),
        }
    }

    pub fn number_or(&self, key: &str, default: f64) -> Result<f64, Problem> {
        match self.value(key) {
            None => Ok(default),
            Some(Value::Number(number)) if *number >= 0.0 && number.is_finite() => Ok(*number),
            Some(_) => Err(self.not_a(key, "a number that is not negative", "12.5")),
        }
    }

    /// A whole number from 1 on.
    pub fn count_or(&self, key: &str, default: u64) -> Result<u64, Problem> {
        let number = self.number_or(key, default as f64)?;
        if number.fract() == 0.0 && (1.0..1e15).contains(&number) {
            return Ok(number as u64);
        }
        Err(self.not_a(key, "a whole number from 1 on", "3"))
    }

    pub fn flag_or(&self, key: &str, default: bool) -> Result<bool, Problem> {
        match self.value(key) {
            None => Ok(default),
            Some(Value::Flag(flag)) => Ok(*flag),
            Some(_) => Err(self.not_a(key, "true or false", "true")),
        }
    }

    pub fn bytes_or(&self, key: &str, default: Bytes) -> Result<Bytes, Problem> {
        match self.text_or_none(key)? {
            None => Ok(default),
            Some(text) => read_bytes(text).ok_or_else(|| self.not_a(key, "a size with its unit", "\"64 KiB\"")),
        }
    }

    pub fn bytes(&self, key: &str) -> Result<Bytes, Problem> {
        if self.value(key).is_none() {
            return Err(self.missing(key, "a size, as \"64 KiB\""));
        }
        self.bytes_or(key, Bytes(0))
    }

    pub fn span_or(&self, key: &str, default: Span) -> Result<Span, Problem> {
        match self.text_or_none(key)? {
            None => Ok(default),
            Some(text) => read_span(text).ok_or_else(|| self.not_a(key, "a time with its unit", "\"8.5 ms\"")),
        }
    }

    pub fn span(&self, key: &str) -> Result<Span, Problem> {
        if self.value(key).is_none() {
            return Err(self.missing(key, "a time, as \"8.5 ms\""));
        }
        self.span_or(key, Span::ZERO)
    }

    /// One of several words, by its place in the list.
    pub fn choice(&self, key: &str, words: &[&str], default: Option<usize>) -> Result<usize, Problem> {
        let word = match (self.text_or_none(key)?, default) {
            (Some(word), _) => word,
            (None, Some(default)) => return Ok(default),
            (None, None) => return Err(self.missing(key, &format!("one of {}", words.join(", ")))),
        };
        words.iter().position(|known| *known == word).ok_or_else(|| {
            self.problem(key, format!("`{key}` cannot be `{word}`"), format!("write one of {}", words.join(", ")))
        })
    }

    pub fn section(&self, key: &str) -> Result<Option<&Section>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Table(section)) => Ok(Some(section)),
            Some(_) => Err(self.not_a(key, "a section", &format!("[{key}]"))),
        }
    }

    pub fn sections(&self) -> Result<Vec<(&str, &Section)>, Problem> {
        let one = |key| Ok((key, self.section(key)?.expect("a key that is there has a value")));
        self.keys().map(one).collect()
    }

    /// The first key that nothing has read.
    pub fn finish(&self) -> Result<(), Problem> {
        let Some((key, _)) = self.entries.iter().find(|(_, entry)| !entry.is_read.get()) else {
            return Ok(());
        };
        let known: Vec<String> = self.asked.borrow().iter().cloned().collect();
        let remedy = match known.is_empty() {
            true => "take it out".to_owned(),
            false => format!("take it out; what is read here is {}", known.join(", ")),
        };
        Err(self.problem(key, format!("nothing reads `{key}` in {}", self.title), remedy))
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.asked.borrow_mut().insert(key.to_owned());
        let Some(entry) = self.entries.get(key) else {
            return self.fallback.as_ref().and_then(|fallback| fallback.value(key));
        };
        entry.is_read.set(true);
        Some(&entry.value)
    }

    fn missing(&self, key: &str, wanted: &str) -> Problem {
        self.problem(key, format!("{} has no `{key}`", self.title), format!("add `{key}` with {wanted}"))
    }

    fn not_a(&self, key: &str, wanted: &str, example: &str) -> Problem {
        self.problem(key, format!("`{key}` is not {wanted}"), format!("write it like {example}"))
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Text(one), Value::Text(other)) => one == other,
        (Value::Number(one), Value::Number(other)) => one == other,
        (Value::Flag(one), Value::Flag(other)) => one == other,
        (Value::Text(_) | Value::Number(_) | Value::Flag(_) | Value::Table(_) | Value::Other, _) => false,
    }
}

fn section(file: &str, text: &str, title: &str, line: usize, table: &DeTable<'_>) -> Section {
    let mut section = Section::empty(file, title, line);
    for (key, value) in table {
        let (name, line) = (key.get_ref().to_string(), line_of(text, key.span().start));
        let value = match value.get_ref() {
            DeValue::String(value) => Value::Text(value.to_string()),
            DeValue::Boolean(value) => Value::Flag(*value),
            DeValue::Integer(value) => number(value.as_str(), value.radix()),
            DeValue::Float(value) => value.as_str().parse().map_or(Value::Other, Value::Number),
            DeValue::Table(value) => Value::Table(self::section(file, text, &format!("`{name}`"), line, value)),
            DeValue::Array(_) | DeValue::Datetime(_) => Value::Other,
        };
        section.entries.insert(name, Entry { line, value, is_read: Cell::new(false) });
    }
    section
}

fn number(digits: &str, radix: u32) -> Value {
    i64::from_str_radix(digits, radix).map_or(Value::Other, |number| Value::Number(number as f64))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Section {
        Section::parse("a.toml", text).expect("this is TOML")
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        let problem = Section::parse("a.toml", "name = 1\nsize 3\n").expect_err("this is no TOML");
        assert_eq!((problem.file.as_str(), problem.line), ("a.toml", 2));
    }

    #[test]
    fn a_key_that_nothing_reads_is_told_with_its_line_and_what_there_is() {
        let section = read("size = \"4 KiB\"\n[disk]\nspeed = 3\n");
        assert_eq!(section.bytes("size"), Ok(Bytes(4096)));
        let disk = section.section("disk").expect("a section").expect("it is there");
        assert_eq!(disk.count_or("heads", 2), Ok(2));
        let problem = disk.finish().expect_err("speed is not read").to_string();
        assert_eq!(problem, "a.toml:3: nothing reads `speed` in `disk`: take it out; what is read here is heads");
        assert_eq!(section.finish(), Ok(()));
    }

    #[test]
    fn a_value_of_another_type_is_told_with_an_example() {
        let section = read("a = 3\nb = \"3 pounds\"\nc = 1.5\nd = -1\ne = [1]\n");
        assert!(section.text("a").is_err_and(|problem| problem.line == 1));
        assert!(section.bytes("b").is_err_and(|problem| problem.line == 2 && problem.remedy.contains("64 KiB")));
        assert!(section.count_or("c", 1).is_err_and(|problem| problem.line == 3));
        assert!(section.number_or("d", 1.0).is_err_and(|problem| problem.line == 4));
        assert!(section.flag_or("e", true).is_err_and(|problem| problem.line == 5));
        assert!(section.text("f").is_err_and(|problem| problem.what.contains("has no `f`")));
    }

    #[test]
    fn two_values_for_one_parameter_of_a_module_are_told() {
        let mut merged = Section::empty("a.toml", "log", 1);
        let section = read("[x]\nfsync = true\n[y]\nfsync = false\n");
        let [x, y] = ["x", "y"].map(|name| section.section(name).expect("a section").expect("it is there"));
        assert_eq!(merged.take_over("fsync", x), Ok(()));
        assert_eq!(merged.take_over("fsync", x), Ok(()));
        assert!(merged.take_over("fsync", y).is_err_and(|problem| problem.line == 4));
    }
}
