//! Edits of texts among `live` operations.
//!
//! Invariant: an edit reads back as it was, so that a rebase and a restart replay the one that was made at the call.

use iolite_values::{Author, Edit, Insertion, Unit, UnitRange};
use serde_json::{Map, Value as Json, json};

pub(super) fn written(edit: &Edit) -> Map<String, Json> {
    let mut step = Map::from_iter([("do".to_owned(), "edit".into())]);
    if let Some(own) = &edit.inserted {
        let unit = |unit: Unit| json!([unit.author.0, unit.number]);
        step.insert("text".to_owned(), own.text.as_ref().into());
        step.insert("at".to_owned(), unit(own.first));
        step.extend(own.left.map(|left| ("left".to_owned(), unit(left))));
        step.extend(own.right.map(|right| ("right".to_owned(), unit(right))));
    }
    if !edit.removed.is_empty() {
        let range = |range: &UnitRange| json!([range.author.0, range.from, range.length]);
        step.insert("removed".to_owned(), edit.removed.iter().map(range).collect());
    }
    step
}

/// `None`: it is no edit.
pub(super) fn read(step: &Json) -> Option<Edit> {
    let inserted = match &step["text"] {
        Json::Null => None,
        text => {
            let text = text.as_str()?.into();
            let (left, right) = (neighbour(&step["left"])?, neighbour(&step["right"])?);
            Some(Insertion { first: unit(&step["at"])?, left, right, text })
        }
    };
    let empty = Vec::new();
    let ranges = step.get("removed").map_or(Some(&empty), Json::as_array)?;
    let range = |json: &Json| {
        let Unit { author, number: from } = unit(json)?;
        Some(UnitRange { author, from, length: number(&json[2])? })
    };
    let edit = Edit { inserted, removed: ranges.iter().map(range).collect::<Option<_>>()? };
    edit.check().ok().map(|()| edit)
}

fn neighbour(json: &Json) -> Option<Option<Unit>> {
    if json.is_null() { Some(None) } else { unit(json).map(Some) }
}

fn unit(json: &Json) -> Option<Unit> {
    Some(Unit::new(Author(json[0].as_u64()?), number(&json[1])?))
}

fn number(json: &Json) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
}
