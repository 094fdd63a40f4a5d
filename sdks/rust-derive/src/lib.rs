//! `#[derive(Table)]`: a table of an app's schema from a struct. Documented and re-exported by the SDK, as `iolite::Table`.

mod fields;
mod output;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::fields::TableInput;

#[proc_macro_derive(Table, attributes(table, key, column, index))]
pub fn derive_table(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let table = TableInput::read(&input).map(|table| output::implementation(&table));
    table.unwrap_or_else(syn::Error::into_compile_error).into()
}
