//! Writes the code.

use proc_macro2::TokenStream;
use quote::quote;

use crate::fields::{ColumnInput, Consistency, IndexInput, Isolation, Life, Place, TableInput};

pub fn implementation(table: &TableInput) -> TokenStream {
    let (ident, name) = (&table.ident, &table.name);
    let live = table.life == Life::Live;
    let delivered = table.delivered;
    let log = match &table.log {
        Some(name) => quote! { ::std::option::Option::Some(#name) },
        None => quote! { ::std::option::Option::None },
    };
    let isolation = match table.policy.isolation {
        None | Some(Isolation::StrictSerializable) => quote! { StrictSerializable },
        Some(Isolation::Snapshot) => quote! { Snapshot },
        Some(Isolation::ReadCommitted) => quote! { ReadCommitted },
    };
    let consistency = match table.policy.consistency {
        Consistency::Strong => quote! { Strong },
        Consistency::Eventual => quote! { Eventual },
        Consistency::Causal if table.policy.merges() => quote! {
            Causal { on_conflict: ::iolite::table::OnConflict::Merge { rows: ::iolite::table::RowsWin::Updates } }
        },
        Consistency::Causal => quote! { Causal { on_conflict: ::iolite::table::OnConflict::Manual } },
    };
    let offline = if table.policy.is_refused_offline {
        quote! { Refuse }
    } else {
        quote! { Queue }
    };
    let constants = table.columns.iter().map(|column| constant(table, column));
    let key_types = table.of(Place::Key).map(|column| &column.kind);
    let (declared, reading, writing) = (declaration(table), reader(table), writer(table));
    quote! {
        impl #ident {
            #(#constants)*
        }

        impl ::iolite::table::Table for #ident {
            const NAME: &'static str = #name;
            const LIVE: bool = #live;
            const DELIVERED: bool = #delivered;
            const LOG: ::std::option::Option<&'static str> = #log;
            const ISOLATION: ::iolite::table::Isolation = ::iolite::table::Isolation::#isolation;
            const CONSISTENCY: ::iolite::table::Consistency = ::iolite::table::Consistency::#consistency;
            const OFFLINE: ::iolite::table::Offline = ::iolite::table::Offline::#offline;
            type Key = (#(#key_types,)*);
            #declared
            #reading
            #writing
        }
    }
}

/// What the schema is made of.
fn declaration(table: &TableInput) -> TokenStream {
    let key_names = table.of(Place::Key).map(|column| &column.name);
    let columns = table.columns.iter().map(definition);
    let indexes =
        table.indexes.iter().map(|IndexInput { name, columns }| quote! { (#name, ::std::vec![#(#columns),*]) });
    quote! {
        fn key_columns() -> ::std::vec::Vec<&'static str> {
            ::std::vec![#(#key_names),*]
        }

        fn columns() -> ::std::vec::Vec<(&'static str, ::iolite::table::ColumnDefinition)> {
            ::std::vec![#(#columns),*]
        }

        fn indexes() -> ::std::vec::Vec<(&'static str, ::std::vec::Vec<&'static str>)> {
            ::std::vec![#(#indexes),*]
        }
    }
}

/// From a row to the struct.
fn reader(table: &TableInput) -> TokenStream {
    let ident = &table.ident;
    let keys: Vec<_> = table.of(Place::Key).map(|column| &column.ident).collect();
    let places = 0..keys.len();
    let (idents, names): (Vec<_>, Vec<_>) = table.of(Place::Data).map(|column| (&column.ident, &column.name)).unzip();
    quote! {
        fn from_record(record: &::iolite::Record) -> ::iolite::Result<Self> {
            ::std::result::Result::Ok(#ident {
                #(#keys: ::iolite::table::key_column(record, #places)?,)*
                #(#idents: ::iolite::table::ColumnKind::read(record, #names)?,)*
            })
        }
    }
}

/// From the struct to what inserts its row.
fn writer(table: &TableInput) -> TokenStream {
    let keys = table.of(Place::Key).map(|column| &column.ident);
    let (idents, names): (Vec<_>, Vec<_>) = table.of(Place::Data).map(|column| (&column.ident, &column.name)).unzip();
    quote! {
        fn key(&self) -> ::iolite::Result<::std::vec::Vec<::iolite::Value>> {
            ::std::result::Result::Ok(::std::vec![#(::iolite::table::Scalar::to_value(&self.#keys)?),*])
        }

        fn content(
            &self,
        ) -> ::iolite::Result<::std::vec::Vec<(&'static str, ::std::vec::Vec<::iolite::table::Operation>)>> {
            let mut content = ::std::vec::Vec::new();
            let order = |name: &str| ::iolite::table::list_order::<Self>(name);
            #(content.push((#names, ::iolite::table::ColumnKind::operations(&self.#idents, order(#names))?));)*
            ::std::result::Result::Ok(content)
        }
    }
}

fn constant(table: &TableInput, column: &ColumnInput) -> TokenStream {
    let (visibility, constant, name) = (&table.visibility, column.constant(), &column.name);
    let kind = match (column.place, &column.kind) {
        (Place::Data, kind) => quote! { #kind },
        (Place::Key, kind) => quote! { ::iolite::table::InKey<#kind> },
    };
    let documentation = format!("The column `{name}`.");
    quote! {
        #[doc = #documentation]
        #[allow(dead_code, reason = "an app need not touch every column by itself")]
        #visibility const #constant: ::iolite::table::Column<Self, #kind> = ::iolite::table::Column::new(#name);
    }
}

fn definition(column: &ColumnInput) -> TokenStream {
    let (name, kind) = (&column.name, &column.kind);
    let default = column.default.iter().map(|value| {
        quote! { .with_default(<#kind as ::iolite::table::ColumnKind>::default_value((#value).into())) }
    });
    let order = column.order.iter().map(|order| quote! { .with_order(#order) });
    let fetch = column.is_fetched_on_demand.then(|| quote! { .fetched_on_demand() }).into_iter();
    quote! { (#name, ::iolite::table::ColumnDefinition::of::<#kind>() #(#default)* #(#order)* #(#fetch)*) }
}
