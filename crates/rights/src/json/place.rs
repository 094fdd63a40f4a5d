//! A value in JSON, and the path that leads to it.

use serde_json::{Map, Value as Json};

use super::RightsError;

pub(super) struct Place<'a> {
    path: String,
    pub(super) json: &'a Json,
}

impl<'a> Place<'a> {
    pub(super) fn root(json: &'a Json) -> Place<'a> {
        Place { path: String::new(), json }
    }

    fn below(&self, step: &str, json: &'a Json) -> Place<'a> {
        let path = if self.path.is_empty() { step.to_owned() } else { format!("{}.{step}", self.path) };
        Place { path, json }
    }

    pub(super) fn fails<T>(&self, problem: impl Into<String>) -> Result<T, RightsError> {
        Err(RightsError::new(self.path.clone(), problem))
    }

    fn object(&self, wanted: &str) -> Result<&'a Map<String, Json>, RightsError> {
        self.json.as_object().map_or_else(|| self.fails(format!("write {wanted}, not {}", kind(self.json))), Ok)
    }

    /// The entries of an object.
    pub(super) fn entries(&self, wanted: &str) -> Result<Vec<(&'a str, Place<'a>)>, RightsError> {
        let object = self.object(wanted)?;
        Ok(object.iter().map(|(name, json)| (name.as_str(), self.below(name, json))).collect())
    }

    /// The one entry of an object that has one.
    pub(super) fn only(&self, wanted: &str) -> Result<(&'a str, Place<'a>), RightsError> {
        let mut entries = self.entries(wanted)?;
        match (entries.pop(), entries.is_empty()) {
            (Some(entry), true) => Ok(entry),
            (Some(_) | None, _) => self.fails(format!("write {wanted}: an object with one key")),
        }
    }

    /// An entry that has to be there.
    pub(super) fn field(&self, name: &str) -> Result<Place<'a>, RightsError> {
        let found = self.optional(name)?;
        found.map_or_else(|| self.fails(format!("the key {name:?} is missing: add it")), Ok)
    }

    /// An entry, if it is there.
    pub(super) fn optional(&self, name: &str) -> Result<Option<Place<'a>>, RightsError> {
        Ok(self.object("an object")?.get(name).map(|json| self.below(name, json)))
    }

    /// No others are there.
    pub(super) fn has_only(&self, names: &[&str]) -> Result<(), RightsError> {
        let unknown = self.object("an object")?.keys().find(|name| !names.contains(&name.as_str()));
        match unknown {
            Some(name) => self.fails(format!("there is no key {name:?} here: it is one of {}", names.join(", "))),
            None => Ok(()),
        }
    }

    pub(super) fn elements(&self) -> Result<Vec<Place<'a>>, RightsError> {
        let Some(list) = self.json.as_array() else {
            return self.fails(format!("write a list, not {}", kind(self.json)));
        };
        Ok(list.iter().enumerate().map(|(place, json)| self.below(&place.to_string(), json)).collect())
    }

    pub(super) fn text(&self) -> Result<&'a str, RightsError> {
        self.json.as_str().map_or_else(|| self.fails(format!("write a text, not {}", kind(self.json))), Ok)
    }
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
