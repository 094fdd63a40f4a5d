//! A schema grows, is read back, and what contradicts it is refused.

use iolite_rights::Right;
use iolite_values::{Decision, SchemaError};

use super::*;

fn schema(columns: &str) -> Schema {
    let json = format!(r#"{{"tables":{{"notes":{{"columns":{{"id":{{"type":"id"}}{columns}}},"key":["id"]}}}}}}"#);
    Schema::from_json(&json).expect("a good schema")
}

fn growth(catalog: &Catalog, wanted: &Schema) -> Growth {
    match catalog.admit(wanted).expect("additive") {
        Admission::Grow(growth) => *growth,
        Admission::Covered => panic!("nothing to add"),
    }
}

fn commit(catalog: &mut Catalog, growth: &Growth) {
    let Decision::Commit(writes) = growth.decision() else { panic!("a commit") };
    catalog.fold(&writes).expect("its own rows");
}

#[test]
fn an_empty_catalog_knows_the_empty_schema_only() {
    let catalog = Catalog::new(SchemaPolicy::Grow);
    assert!(catalog.knows(Schema::default().hash()));
    assert!(!catalog.knows(schema("").hash()));
    assert_eq!(catalog.admit(&Schema::default()), Ok(Admission::Covered));
}

#[test]
fn versions_follow_each_other_and_all_stay_known() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let (first, second) = (schema(""), schema(r#","votes":{"type":"counter"}"#));
    let growth_to_first = growth(&catalog, &first);
    commit(&mut catalog, &growth_to_first);
    assert_eq!((catalog.version(), catalog.schema()), (1, &first));
    let growth_to_second = growth(&catalog, &second);
    commit(&mut catalog, &growth_to_second);
    assert_eq!((catalog.version(), catalog.schema()), (2, &second));
    assert!(catalog.knows(first.hash()) && catalog.knows(second.hash()));
    assert_eq!(catalog.admit(&first), Ok(Admission::Covered));
}

#[test]
fn a_restarted_catalog_reads_what_was_stored() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let first = schema("");
    let grown = growth(&catalog, &first);
    commit(&mut catalog, &grown);
    let table = Catalog::table();
    let rows = catalog.rows.iter().map(|(key, row)| RowAt { table, key: key.clone(), row: row.clone() });
    let mut again = Catalog::new(SchemaPolicy::Fixed);
    again.load(rows.collect()).expect("its own rows");
    assert_eq!((again.version(), again.schema()), (1, &first));
    assert!(again.knows(first.hash()));
}

#[test]
fn a_fixed_schema_says_how_it_is_made_to_grow() {
    let catalog = Catalog::new(SchemaPolicy::Fixed);
    let error = catalog.admit(&schema("")).expect_err("it adds a table");
    assert!(error.to_string().contains("schemas = \"grow\""), "{error}");
}

#[test]
fn a_contradiction_is_refused_by_either_policy() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let grown = growth(&catalog, &schema(r#","n":{"type":"int"}"#));
    commit(&mut catalog, &grown);
    let error: SchemaError = catalog.admit(&schema(r#","n":{"type":"string"}"#)).expect_err("another type");
    assert_eq!((error.table.as_str(), error.column.as_str()), ("notes", "n"));
}

#[test]
fn a_row_that_is_no_schema_is_an_error_and_not_a_panic() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let key = RowKey::new(&[iolite_values::Value::Int(3)]).expect("short");
    let mut row = Row::default();
    row.apply(iolite_values::ColumnId::ROW, &iolite_values::Operation::Create).expect("a row operation");
    let rows = vec![RowAt { table: Catalog::table(), key, row }];
    let error = catalog.load(rows).expect_err("no JSON");
    assert!(matches!(error, CatalogError::Unreadable { version: 3, .. }), "{error}");
}

#[test]
fn no_app_can_name_a_table_like_the_systems() {
    let json = r#"{"tables":{"_catalog":{"columns":{"id":{"type":"id"}},"key":["id"]}}}"#;
    assert!(Schema::from_json(json).is_err());
}

#[test]
fn a_store_that_is_being_restored_says_so_until_it_is() {
    let backup = iolite_values::Id::from_u128(7);
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    assert_eq!(catalog.fold(&begin_restoring(backup)), Err(CatalogError::Restoring { backup }));
    let grown = growth(&Catalog::new(SchemaPolicy::Grow), &schema(""));
    let Decision::Commit(writes) = grown.decision() else { panic!("it grows") };
    assert_eq!(catalog.fold(&writes), Err(CatalogError::Restoring { backup }), "whatever else comes");
    assert_eq!(catalog.fold(&end_restoring()), Ok(()));
    assert_eq!(catalog.version(), 1);
}

#[test]
fn no_app_can_have_a_table_with_the_number_of_a_systems() {
    // Found by search: names are numbers of 32 bits.
    for (name, same) in SYSTEM_TABLES
        .into_iter()
        .zip(["a9mradk1", "ms8raee2", "ao5laa5y", "aqb3p6aa", "enjmriaa", "chtkp2ba", "jjj7aado", "d2oeaduq"])
    {
        assert_eq!(TableId::of(name), TableId::of(same));
        let json = format!(r#"{{"tables":{{"{same}":{{"columns":{{"id":{{"type":"id"}}}},"key":["id"]}}}}}}"#);
        let error = Catalog::new(SchemaPolicy::Grow).admit(&Schema::from_json(&json).expect("a valid name"));
        assert!(error.is_err_and(|error| error.table == same && error.problem.contains("rename it")), "{same}");
    }
}

#[test]
fn hashes_are_remembered_up_to_a_limit() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let hash = |number: usize| SchemaHash((number as u128 + 1).to_be_bytes());
    for number in 0..KNOWN_SCHEMAS_MAX {
        catalog.remember(hash(number));
    }
    assert!(catalog.knows(hash(0)));
    assert!(!catalog.knows(hash(KNOWN_SCHEMAS_MAX)) && catalog.known.len() == KNOWN_SCHEMAS_MAX);
    assert!(catalog.knows(Schema::default().hash()), "what is stored stays known");
    let row = format!("| `catalog::KNOWN_SCHEMAS_MAX` | {KNOWN_SCHEMAS_MAX} |");
    assert!(include_str!("../../../docs/limits.md").contains(&row), "the page has another value");
}

fn deployment(schema: &Schema, rights: &str) -> Deployment {
    Deployment::from_json(&format!(r#"{{"schema":{},"rights":{rights}}}"#, schema.to_json())).expect("a deployment")
}

const OPEN: &str = r#"{"logs":{},"objects":{},"tables":{"notes":"open"}}"#;

fn deploy(catalog: &mut Catalog, wanted: &Deployment) {
    let growth = catalog.deploy(wanted, Some(&BTreeMap::new()), true).expect("good").expect("new");
    commit(catalog, &growth);
}

#[test]
fn a_deployment_puts_schema_and_rights_into_effect_together() {
    let mut catalog = Catalog::new(SchemaPolicy::Fixed);
    let wanted = deployment(&schema(""), OPEN);
    deploy(&mut catalog, &wanted);
    assert_eq!((catalog.schema(), catalog.rights().map(|own| &**own)), (&wanted.schema, Some(&wanted.rights)));
    assert_eq!(catalog.deploy(&wanted, Some(&BTreeMap::new()), true), Ok(None));
    let again = Deployment::from_json(&wanted.to_json()).expect("its own JSON");
    assert_eq!(again, wanted);
}

#[test]
fn a_client_whose_schema_grows_changes_no_rights() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let wanted = deployment(&schema(""), OPEN);
    deploy(&mut catalog, &wanted);
    let grown = growth(&catalog, &schema(r#","votes":{"type":"counter"}"#));
    commit(&mut catalog, &grown);
    assert_eq!(catalog.version(), 2);
    assert_eq!(catalog.rights().map(|own| &**own), Some(&wanted.rights));
}

#[test]
fn rights_have_to_cover_tables_of_earlier_versions() {
    let mut catalog = Catalog::new(SchemaPolicy::Grow);
    let grown = growth(&catalog, &schema(""));
    commit(&mut catalog, &grown);
    let other = Schema::from_json(r#"{"tables":{"rooms":{"columns":{"id":{"type":"id"}},"key":["id"]}}}"#);
    let wanted = deployment(&other.expect("good"), r#"{"logs":{},"objects":{},"tables":{"rooms":"open"}}"#);
    let problem = catalog.deploy(&wanted, Some(&BTreeMap::new()), true).expect_err("notes lack rights").to_string();
    assert!(problem.contains("\"notes\"") && problem.contains("it has no rights"), "{problem}");
}

#[test]
fn what_is_no_deployment_is_refused_with_what_it_lacks() {
    for (text, told) in [
        ("", "this is no deployment"),
        ("{}", "missing field `schema`"),
        (r#"{"schema":{"tables":{}},"rights":[]}"#, "rights"),
        (r#"{"schema":{"tables":{}},"rights":{},"more":1}"#, "unknown field `more`"),
    ] {
        let problem = Deployment::from_json(text).expect_err("no deployment").to_string();
        assert!(problem.contains(told), "{text}: {problem}");
    }
}

#[test]
fn changes_name_rules_that_are_new_gone_or_changed_and_what_they_cost() {
    let tables = r#"{"logs":{},"objects":{},"tables":{"notes":{RULES}}}"#;
    let exists = r#"{"exists":{"at":{"key":[{"row":"id"}],"table":"notes"}}}"#;
    let claim = |name: &str| format!(r#"{{"test":{{"is":{{"equal":{{"claim":"sub"}}}},"of":{{"claim":"{name}"}}}}}}"#);
    let wanted = |rules: String| deployment(&schema(""), &tables.replace("RULES", &rules));
    let mut catalog = Catalog::new(SchemaPolicy::Fixed);
    let first = wanted(format!(r#""create":{},"delete":{},"update":{exists}"#, claim("a"), claim("a")));
    let growth = catalog.deploy(&first, None, true).expect("good").expect("new");
    let changes = catalog.changes(&growth);
    assert_eq!((changes.tables, changes.columns, changes.rules.len()), (vec!["notes".to_owned()], vec![], 3));
    assert_eq!(changes.costs, [r#"table "notes", rule "update": reads 1 row for each row that is written"#]);
    commit(&mut catalog, &growth);
    let second = wanted(format!(r#""create":{},"read":{},"update":{exists}"#, claim("b"), claim("a")));
    let growth = catalog.deploy(&second, None, true).expect("good").expect("new");
    let changes = catalog.changes(&growth);
    assert!(changes.tables.is_empty() && changes.costs.is_empty(), "the rule that costs is as it was");
    let said: Vec<_> = changes.rules.into_iter().map(|own| (own.right.map(Right::name), own.was, own.is)).collect();
    let words = |name: &str| Some(format!("user.{name} = user.sub"));
    let wanted = [("read", None, words("a")), ("create", words("a"), words("b")), ("delete", words("a"), None)];
    assert_eq!(said, wanted.map(|(right, was, is)| (Some(right), was, is)));
}
