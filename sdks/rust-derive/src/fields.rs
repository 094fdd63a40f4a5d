//! Reads the struct and its attributes.

use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Result, Type, Visibility};
use syn::{Token, bracketed};

/// The struct of a table.
pub struct TableInput {
    pub ident: Ident,
    pub visibility: Visibility,
    pub name: String,
    pub life: Life,
    /// Whether it has the delivered view.
    pub delivered: bool,
    /// The log that it is of.
    pub log: Option<String>,
    pub policy: Policy,
    pub columns: Vec<ColumnInput>,
    pub indexes: Vec<IndexInput>,
}

/// A secondary index.
pub struct IndexInput {
    pub name: String,
    pub columns: Vec<String>,
}

/// Whether rows are inserted and deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Inserted,
    Live,
}

/// How a table's changes are committed.
#[derive(Default)]
pub struct Policy {
    pub isolation: Option<Isolation>,
    pub consistency: Consistency,
    on_conflict: Option<LitStr>,
    rows: Option<LitStr>,
    /// Whether changes are refused without a connection.
    pub is_refused_offline: bool,
}

/// `eventual`, `causal`, which merges, or `causal, on_conflict = "manual"`. Strong otherwise, or of a log.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Consistency {
    #[default]
    Strong,
    Eventual,
    Causal,
}

/// `isolation = "..."`, spelled as schemas do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    StrictSerializable,
    Snapshot,
    ReadCommitted,
}

impl Isolation {
    fn read(name: &LitStr) -> Result<Isolation> {
        match name.value().as_str() {
            "strict-serializable" => Ok(Isolation::StrictSerializable),
            "snapshot" => Ok(Isolation::Snapshot),
            "read-committed" => Ok(Isolation::ReadCommitted),
            _ => Err(Error::new_spanned(
                name,
                "the isolation of a table is \"strict-serializable\", \"snapshot\" or \"read-committed\"",
            )),
        }
    }
}

pub struct ColumnInput {
    pub ident: Ident,
    pub name: String,
    pub kind: Type,
    pub place: Place,
    pub default: Option<Expr>,
    /// `order = "commit"` of a list, or "strict".
    pub order: Option<LitStr>,
    /// `fetch = "on-demand"` of a blob: its chunks are fetched when they are read.
    pub is_fetched_on_demand: bool,
    /// Whether it has an index of its own.
    pub has_index: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Key,
    Data,
}

impl TableInput {
    pub fn read(input: &DeriveInput) -> Result<TableInput> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new_spanned(&input.ident, "a table is a struct"));
        };
        let Fields::Named(fields) = &data.fields else {
            return Err(Error::new_spanned(
                &input.ident,
                "a table's columns have names: write a struct with named fields",
            ));
        };
        if !input.generics.params.is_empty() {
            return Err(Error::new_spanned(&input.generics, "a table has no parameters"));
        }
        let columns = fields.named.iter().map(ColumnInput::read).collect::<Result<Vec<_>>>()?;
        if !columns.iter().any(|column| column.place == Place::Key) {
            return Err(Error::new_spanned(&input.ident, "a table needs a key: mark one or more fields with #[key]"));
        }
        let mut indexes: Vec<IndexInput> =
            columns.iter().filter(|column| column.has_index).map(IndexInput::of).collect();
        let (mut name, mut life) = (snake_case(&input.ident.to_string()), Life::Inserted);
        let (mut policy, mut delivered, mut log) = (Policy::default(), false, None);
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("table")) {
            attribute.parse_nested_meta(|meta| {
                if policy.read(&meta)? {
                    Ok(())
                } else if meta.path.is_ident("live") {
                    life = Life::Live;
                    Ok(())
                } else if meta.path.is_ident("delivered") {
                    delivered = true;
                    Ok(())
                } else if meta.path.is_ident("log") {
                    log = Some(meta.value()?.parse::<LitStr>()?.value());
                    Ok(())
                } else if meta.path.is_ident("name") {
                    name = meta.value()?.parse::<LitStr>()?.value();
                    Ok(())
                } else if meta.path.is_ident("index") {
                    meta.parse_nested_meta(|index| {
                        indexes.push(IndexInput::read(&index, &columns)?);
                        Ok(())
                    })
                } else {
                    Err(meta.error(
                        "a table has `name = \"...\"`, `isolation = \"...\"`, `index(name = [column, ..])`, `log = \"...\"`, `offline = \"refuse\"`, `live`, `delivered`, `eventual`, `causal` and `causal, on_conflict = \"manual\"`",
                    ))
                }
            })?;
        }
        policy.check(&input.ident)?;
        let (ident, visibility) = (input.ident.clone(), input.vis.clone());
        Ok(TableInput { ident, visibility, name, life, delivered, log, policy, columns, indexes })
    }

    pub fn of(&self, place: Place) -> impl Iterator<Item = &ColumnInput> {
        self.columns.iter().filter(move |column| column.place == place)
    }
}

fn read_offline(said: &LitStr) -> Result<bool> {
    match said.value().as_str() {
        "refuse" => Ok(true),
        "queue" => Ok(false),
        _ => Err(Error::new_spanned(said, "offline is \"queue\", which is the default, or \"refuse\"")),
    }
}

impl Policy {
    /// Whether it is causal and leaves no conflicts to anybody.
    pub fn merges(&self) -> bool {
        let is_manual = self.on_conflict.as_ref().is_some_and(|said| said.value() == "manual");
        self.consistency == Consistency::Causal && !is_manual
    }

    /// Reads an attribute, if it is of the policy.
    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<bool> {
        if meta.path.is_ident("eventual") {
            self.consistency = Consistency::Eventual;
        } else if meta.path.is_ident("causal") {
            self.consistency = Consistency::Causal;
        } else if meta.path.is_ident("on_conflict") {
            self.on_conflict = Some(meta.value()?.parse::<LitStr>()?);
        } else if meta.path.is_ident("rows") {
            self.rows = Some(meta.value()?.parse::<LitStr>()?);
        } else if meta.path.is_ident("offline") {
            self.is_refused_offline = read_offline(&meta.value()?.parse::<LitStr>()?)?;
        } else if meta.path.is_ident("isolation") {
            self.isolation = Some(Isolation::read(&meta.value()?.parse::<LitStr>()?)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Refuses policies that one table cannot have together.
    fn check(&self, ident: &Ident) -> Result<()> {
        if let Some(other) = self.on_conflict.as_ref().filter(|said| !["manual", "merge"].contains(&&*said.value())) {
            return Err(Error::new_spanned(other, "on_conflict is \"merge\", which is the default, or \"manual\""));
        }
        if let Some(other) = self.rows.as_ref().filter(|said| said.value() != "updates-win") {
            let problem = "rows are \"updates-win\": rows where deletions win are not built yet";
            return Err(Error::new_spanned(other, problem));
        }
        let problem = match (self.consistency, &self.on_conflict, self.isolation) {
            (Consistency::Strong | Consistency::Eventual, Some(_), _) => "on_conflict belongs to `causal`",
            (Consistency::Eventual | Consistency::Causal, _, Some(_)) => {
                "a table that syncs or merges has no isolation to choose"
            }
            _ if self.rows.is_some() && !self.merges() => "rows belongs to `causal`, of a table that merges",
            (Consistency::Strong, None, _) | (Consistency::Eventual, None, None) | (Consistency::Causal, _, None) => {
                return Ok(());
            }
        };
        Err(Error::new_spanned(ident, problem))
    }
}

impl IndexInput {
    /// `name = [column, ..]`
    fn read(meta: &ParseNestedMeta<'_>, columns: &[ColumnInput]) -> Result<IndexInput> {
        let name = meta.path.require_ident()?.to_string();
        let value = meta.value()?;
        let list;
        bracketed!(list in value);
        let idents = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
        let column = |ident: &Ident| {
            let found = columns.iter().find(|column| column.ident == *ident).map(|column| column.name.clone());
            found.ok_or_else(|| Error::new_spanned(ident, "the table has no such column"))
        };
        Ok(IndexInput { name, columns: idents.iter().map(column).collect::<Result<_>>()? })
    }

    /// `#[index]` on the column.
    fn of(column: &ColumnInput) -> IndexInput {
        IndexInput { name: format!("by_{}", column.name), columns: vec![column.name.clone()] }
    }
}

impl ColumnInput {
    fn read(field: &Field) -> Result<ColumnInput> {
        let ident = field.ident.clone().ok_or_else(|| Error::new_spanned(field, "a column has a name"))?;
        let place =
            if field.attrs.iter().any(|attribute| attribute.path().is_ident("key")) { Place::Key } else { Place::Data };
        let (mut default, mut order, mut fetch) = (None, None, None);
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("column")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("default") {
                    default = Some(meta.value()?.parse::<Expr>()?);
                    Ok(())
                } else if meta.path.is_ident("order") {
                    order = Some(meta.value()?.parse::<LitStr>()?);
                    Ok(())
                } else if meta.path.is_ident("fetch") {
                    fetch = Some(meta.value()?.parse::<LitStr>()?);
                    Ok(())
                } else {
                    Err(meta.error("a column has `default = ...`, `order = \"commit\"` and `fetch = \"on-demand\"`"))
                }
            })?;
        }
        let strict_or_commit = |order: &LitStr| matches!(order.value().as_str(), "strict" | "commit");
        if let Some(other) = order.as_ref().filter(|order| !strict_or_commit(order)) {
            return Err(Error::new_spanned(other, "the order of a list is \"strict\" or \"commit\""));
        }
        if let Some(other) = fetch.as_ref().filter(|fetch| fetch.value() != "on-demand") {
            return Err(Error::new_spanned(
                other,
                "a blob is fetched \"on-demand\", or with its row: then say nothing",
            ));
        }
        let is_fetched_on_demand = fetch.is_some();
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        let has_index = field.attrs.iter().any(|attribute| attribute.path().is_ident("index"));
        Ok(ColumnInput { ident, name, kind: field.ty.clone(), place, default, order, is_fetched_on_demand, has_index })
    }

    /// The name of the column's constant.
    pub fn constant(&self) -> Ident {
        Ident::new(&self.name.to_uppercase(), self.ident.span())
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (place, letter) in name.char_indices() {
        if letter.is_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn a_struct_reads_as_a_table() {
        let input: DeriveInput = parse_quote! {
            #[table(name = "entries", live, delivered, isolation = "snapshot", index(newest = [rank, id]))]
            struct LogEntry { #[key] id: Id, #[index] #[column(default = 3)] rank: i64, #[column(order = "strict")] lines: List<String> }
        };
        let table = TableInput::read(&input).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((table.name.as_str(), table.columns.len()), ("entries", 3));
        assert!(table.life == Life::Live && table.delivered && table.of(Place::Key).count() == 1);
        assert_eq!(table.policy.isolation, Some(Isolation::Snapshot));
        assert!(table.columns[1].default.is_some() && table.columns[2].order.is_some());
        let indexes: Vec<_> =
            table.indexes.iter().map(|index| (index.name.as_str(), index.columns.join(" "))).collect();
        assert_eq!(indexes, [("by_rank", "rank".to_owned()), ("newest", "rank id".to_owned())]);
        assert_eq!(snake_case("LogEntry"), "log_entry");
    }

    #[test]
    fn what_is_no_table_says_why() {
        let problem =
            |input: DeriveInput| TableInput::read(&input).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(problem(parse_quote! { struct A { id: i64 } }).contains("#[key]"));
        assert!(problem(parse_quote! { enum A { B } }).contains("struct"));
        assert!(problem(parse_quote! { struct A(i64); }).contains("named fields"));
        assert!(problem(parse_quote! { struct A<T> { #[key] id: T } }).contains("no parameters"));
        let isolated = problem(parse_quote! { #[table(isolation = "none")] struct A { #[key] id: i64 } });
        assert!(isolated.contains("read-committed"));
        assert_eq!(problem(parse_quote! { #[table(causal)] struct A { #[key] id: i64 } }), "");
        let deleting = problem(parse_quote! { #[table(causal, rows = "deletes-win")] struct A { #[key] id: i64 } });
        assert!(deleting.contains("not built yet"), "{deleting}");
        let of_strong = problem(parse_quote! { #[table(rows = "updates-win")] struct A { #[key] id: i64 } });
        assert!(of_strong.contains("`causal`"), "{of_strong}");
        let both = problem(parse_quote! { #[table(eventual, isolation = "snapshot")] struct A { #[key] id: i64 } });
        assert!(both.contains("no isolation"), "{both}");
        assert!(problem(parse_quote! { #[table(offline = "no")] struct A { #[key] id: i64 } }).contains("\"refuse\""));
        assert!(problem(parse_quote! { #[table(lively)] struct A { #[key] id: i64 } }).contains("`live`"));
        let fetched = problem(parse_quote! { struct A { #[key] id: i64, #[column(fetch = "later")] photo: Blob } });
        assert!(fetched.contains("\"on-demand\""), "{fetched}");
        let unknown = problem(parse_quote! { #[table(index(by_owner = [owner]))] struct A { #[key] id: i64 } });
        assert!(unknown.contains("no such column"));
        assert!(
            problem(parse_quote! { struct A { #[key] id: i64, #[column(order = "x")] l: L } }).contains("\"strict\"")
        );
    }
}
