//! Whether a shard can begin at a place: at a table of the store's schema, or at a key of its types.
//!
//! Invariant: a split cannot be taken back, so its place is checked before anything is written.

use iolite_node::config::{Begins, KeyPart};
use iolite_values::{Scalar, Schema, Table};

use crate::Split;

/// Whether the schema has to have the table of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceCheck {
    /// The schema has to have the table.
    Schema,
    /// A table that the schema lacks is taken as it is. A table that it has is checked all the same.
    IfKnown,
}

/// Where a place is written, which says whether `5` can be text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// `TABLE:KEY`: the table's types say what each part is.
    OnCommandLine,
    /// In the cluster's file, where each part has a type.
    InFile,
}

/// Why no shard can begin at a place. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceProblem {
    #[error(
        "no shard can begin at {place} yet: the store has no schema, so it is not known whether there is a table {table:?}, and of which types its key is. \
         Split with `iolite cluster split` or `iolite shard split` when a client of the app has connected once, or say --unchecked to take the place as it \
         is. Nothing was changed"
    )]
    NoSchema { place: String, table: String },
    #[error(
        "no shard can begin at {place}: the schema has no table {table:?}. It has {tables}. Say --unchecked if the table is to come. Nothing was changed"
    )]
    NoTable { place: String, table: String, tables: String },
    #[error(
        "no shard can begin at {place}: the key of table {table:?} is ({key}), and {part} is no {kind}. Nothing was changed"
    )]
    Type { place: String, table: String, key: String, part: String, kind: &'static str },
    #[error(
        "no shard can begin at {place}: the key of table {table:?} is ({key}), and {parts} values are too many for it. Nothing was changed"
    )]
    TooMany { place: String, table: String, key: String, parts: usize },
    #[error(
        "no shard can begin at {place}: {number} is not a whole number of 64 bits, and without the schema it is not known whether it is text. Nothing was changed"
    )]
    Number { place: String, number: String },
    #[error("no shard can begin at {place}: one begins there already. Nothing was changed")]
    Begun { place: String },
}

/// The place with values of the types that the table's key has.
///
/// # Errors
/// [`PlaceProblem`].
pub(crate) fn typed(at: &Begins, schema: &Schema, written: Written, check: PlaceCheck) -> Result<Begins, PlaceProblem> {
    let Begins::Table { table: name, key } = at else { return Ok(at.clone()) };
    let place = described(at);
    match (schema.table(name), check) {
        (Some(table), _) => {
            let key = typed_key((name, table), key, written, &place)?;
            Ok(Begins::Table { table: name.clone(), key })
        }
        (None, PlaceCheck::IfKnown) => untyped(at),
        (None, PlaceCheck::Schema) => {
            let table = name.clone();
            let tables: Vec<&str> = schema.tables().map(|(own, _)| own).collect();
            Err(if tables.is_empty() {
                PlaceProblem::NoSchema { place, table }
            } else {
                PlaceProblem::NoTable { place, table, tables: tables.join(", ") }
            })
        }
    }
}

/// The place without a schema, where what looks like a number is one.
///
/// # Errors
/// [`PlaceProblem::Number`].
pub(crate) fn untyped(at: &Begins) -> Result<Begins, PlaceProblem> {
    let Begins::Table { table, key } = at else { return Ok(at.clone()) };
    let part = |part: &KeyPart| match part {
        KeyPart::Text(text) if is_digits(text) => match text.parse() {
            Ok(number) => Ok(KeyPart::Int(number)),
            Err(_) => Err(PlaceProblem::Number { place: described(at), number: text.clone() }),
        },
        KeyPart::Bool(_) | KeyPart::Int(_) | KeyPart::Text(_) => Ok(part.clone()),
    };
    Ok(Begins::Table { table: table.clone(), key: key.iter().map(part).collect::<Result<_, _>>()? })
}

/// For people.
pub(crate) fn described(at: &Begins) -> String {
    match at {
        Begins::TableHash { table_hash } => format!("the table hash {table_hash}"),
        Begins::Table { table, key } => Split { table: table.clone(), key: key.clone() }.to_string(),
    }
}

fn typed_key(
    (name, table): (&str, &Table),
    key: &[KeyPart],
    written: Written,
    place: &str,
) -> Result<Vec<KeyPart>, PlaceProblem> {
    let kinds: Vec<Scalar> = table.key_types().collect();
    let told = || {
        let columns = table.key.iter().zip(&kinds).map(|(column, kind)| format!("{column}: {}", kind.name()));
        (place.to_owned(), name.to_owned(), columns.collect::<Vec<_>>().join(", "))
    };
    if key.len() > kinds.len() {
        let (place, table, key_of_table) = told();
        return Err(PlaceProblem::TooMany { place, table, key: key_of_table, parts: key.len() });
    }
    let typed = |(part, kind): (&KeyPart, &Scalar)| {
        let typed = match written {
            Written::OnCommandLine => read(part, *kind),
            Written::InFile => Some(part.clone()).filter(|part| fits(part, *kind)),
        };
        typed.ok_or_else(|| {
            let (place, table, key) = told();
            PlaceProblem::Type { place, table, key, part: shown(part), kind: kind.name() }
        })
    };
    key.iter().zip(&kinds).map(typed).collect()
}

/// A word of the command line, as a value of this type.
fn read(part: &KeyPart, kind: Scalar) -> Option<KeyPart> {
    match part {
        KeyPart::Int(number) if kind == Scalar::String => Some(KeyPart::Text(number.to_string())),
        KeyPart::Text(text) if kind == Scalar::Int => text.parse().ok().map(KeyPart::Int),
        KeyPart::Text(text) if kind == Scalar::Bool => text.parse().ok().map(KeyPart::Bool),
        KeyPart::Bool(_) | KeyPart::Int(_) | KeyPart::Text(_) => Some(part.clone()).filter(|part| fits(part, kind)),
    }
}

fn fits(part: &KeyPart, kind: Scalar) -> bool {
    match part {
        KeyPart::Bool(_) => kind == Scalar::Bool,
        KeyPart::Int(_) => kind == Scalar::Int,
        KeyPart::Text(_) => kind == Scalar::String,
    }
}

fn shown(part: &KeyPart) -> String {
    match part {
        KeyPart::Bool(value) => value.to_string(),
        KeyPart::Int(value) => value.to_string(),
        KeyPart::Text(text) => format!("{text:?}"),
    }
}

fn is_digits(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let json = r#"{"tables": {
            "orders": {"key": ["number"], "columns": {"number": {"type": "int"}}},
            "names": {"key": ["name"], "columns": {"name": {"type": "string"}}},
            "flags": {"key": ["on"], "columns": {"on": {"type": "bool"}}},
            "notes": {"key": ["id"], "columns": {"id": {"type": "id"}}},
            "pair": {"key": ["a", "b"], "columns": {"a": {"type": "string"}, "b": {"type": "int"}}}
        }}"#;
        Schema::from_json(json).expect("a valid schema")
    }

    fn place(text: &str) -> Begins {
        text.parse::<Split>().expect("a place").into()
    }

    fn key(text: &str) -> Result<Vec<KeyPart>, String> {
        match typed(&place(text), &schema(), Written::OnCommandLine, PlaceCheck::Schema) {
            Ok(Begins::Table { key, .. }) => Ok(key),
            Ok(Begins::TableHash { .. }) => Err("a hash".into()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    #[test]
    fn a_place_gets_the_types_of_the_tables_key() {
        let text = |text: &str| KeyPart::Text(text.into());
        for (at, wanted) in [
            ("orders", vec![]),
            ("orders:5", vec![KeyPart::Int(5)]),
            ("orders:-05", vec![KeyPart::Int(-5)]),
            ("orders:9223372036854775807", vec![KeyPart::Int(i64::MAX)]),
            ("names:5", vec![text("5")]),
            ("names:05", vec![text("05")]),
            ("names:99999999999999999999", vec![text("99999999999999999999")]),
            ("flags:true", vec![KeyPart::Bool(true)]),
            ("pair:x", vec![text("x")]),
            ("pair:5,5", vec![text("5"), KeyPart::Int(5)]),
        ] {
            assert_eq!(key(at), Ok(wanted), "{at}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_is_refused_by_its_table_or_the_type_of_its_key() {
        for (at, told) in [
            ("nosuchtable:5", "no table \"nosuchtable\". It has flags, names, notes, orders, pair"),
            ("nosuchtable", "no table \"nosuchtable\""),
            ("orders:abc", "(number: int), and \"abc\" is no int"),
            ("orders:\"x\"", "is no int"),
            ("orders:1.5", "\"1.5\" is no int"),
            ("orders:", "\"\" is no int"),
            ("orders:99999999999999999999", "\"99999999999999999999\" is no int"),
            ("orders:-9223372036854775809", "is no int"),
            ("orders:5:6", "\"5:6\" is no int"),
            ("orders:5,6", "2 values are too many"),
            ("pair:x,y", "(a: string, b: int), and \"y\" is no int"),
            ("flags:maybe", "is no bool"),
            ("notes:abc", "(id: id), and \"abc\" is no id"),
        ] {
            let refused = key(at).expect_err(at);
            assert!(refused.contains(told) && refused.contains("Nothing was changed"), "{refused}");
        }
    }

    #[test]
    fn in_the_clusters_file_a_number_is_no_text() {
        let in_file = |at| typed(&at, &schema(), Written::InFile, PlaceCheck::IfKnown);
        let at = |table: &str, part| Begins::Table { table: table.into(), key: vec![part] };
        let fits = at("orders", KeyPart::Int(5));
        assert_eq!(in_file(fits.clone()), Ok(fits));
        for wrong in [at("names", KeyPart::Int(5)), at("orders", KeyPart::Text("5".into()))] {
            assert!(in_file(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn without_a_schema_a_place_is_taken_only_unchecked() {
        let empty = Schema::default();
        let place_of = |text: &str, check| typed(&place(text), &empty, Written::OnCommandLine, check);
        let refused = place_of("orders:5", PlaceCheck::Schema).expect_err("it is not known");
        assert!(
            refused.to_string().contains("has no schema") && refused.to_string().contains("--unchecked"),
            "{refused}"
        );
        let taken = |part| Ok(Begins::Table { table: "orders".into(), key: vec![part] });
        assert_eq!(place_of("orders:005", PlaceCheck::IfKnown), taken(KeyPart::Int(5)));
        assert_eq!(place_of("orders:a5", PlaceCheck::IfKnown), taken(KeyPart::Text("a5".into())));
        let beyond = place_of("orders:99999999999999999999", PlaceCheck::IfKnown).expect_err("beyond 64 bits");
        assert!(beyond.to_string().contains("64 bits"), "{beyond}");
        // What the schema has is checked all the same.
        assert!(typed(&place("orders:x"), &schema(), Written::OnCommandLine, PlaceCheck::IfKnown).is_err());
    }
}
