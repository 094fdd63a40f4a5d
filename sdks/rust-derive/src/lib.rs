//! The macros of the SDK, which re-exports them. `#[derive(Table)]`: a table of an app's schema from a struct, as `iolite::Table`. `#[sapphire]` and
//! `#[sapphire::methods]`: a class of objects, as `iolite::objects::sapphire`.

mod fields;
mod objects;
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

/// A class of objects from a struct: its fields are the state of an object.
///
/// ```ignore
/// #[sapphire(name = "TodoList", devices = "hold")]
/// #[derive(Default)]
/// struct TodoList {
///     items: Vec<String>,
///     shared_with: Vec<Ref<User>>,
/// }
/// ```
///
/// - `name = "..."`: the name by which programs of all languages know the class. It is written out, so that the struct can be renamed.
/// - `version = N`: of the methods, 1 if not given. A caller with another version is refused, so raise it when methods change in a way that callers notice.
/// - `devices = "call" | "read" | "hold"`: the most that devices of users may do with the objects: call them (the default), hold copies for reading, or be
///   their owner. Servers check this. Who holds an object decides what is in it.
/// - `managers = [AtLeastOnceRPC { within: secs(5) }, KeepInPlace]`: the deployment managers, one or several in brackets. A setting is a number, or a time
///   (`secs(5)`, `millis(500)`), and has a value of its own if it is left out. A name alone is a manager that is built in; one of the app's own has its path:
///   `crate::Audit`. The compiler refuses names and settings that there are not, and managers that do not fit together.
///
/// The macro derives serde's `Serialize` and `Deserialize`, so every field has both. `#[serde(..)]` on fields works. A field that is skipped is not part of
/// the state. A state has one encoding, so `HashMap` and `HashSet` are refused. The class has no parameters.
///
/// The macro also makes the struct `NAMEStub`: what a `Ref<NAME>` is used as. Its methods come from `#[sapphire::methods]`.
#[proc_macro_attribute]
pub fn sapphire(attribute: TokenStream, item: TokenStream) -> TokenStream {
    objects::class(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The methods of a class of objects: every function of the `impl` block can be called from elsewhere, whatever its visibility in Rust.
///
/// ```ignore
/// #[sapphire::methods]
/// impl TodoList {
///     #[read]
///     fn items(&self) -> Vec<String> { .. }
///     fn add(&mut self, text: String) -> Result<(), Full> { .. }
///     async fn tell_all(&mut self, cx: &Context) -> Result<(), CallError> { .. }
/// }
/// ```
///
/// - A method takes `&mut self` and runs alone, also while it waits. Or it is marked `#[read]` and takes `&self`: reads run beside each other. The mark is written
///   although `&self` says the same, because callers in other languages and deployment managers go by it. One without the other is an error.
/// - Arguments and results are owned, and serde can write and read them. An argument `&Context`, at any place, is the method's own: callers do not give it.
/// - A method that returns `Result<T, E>` gives its caller `Result<T, CallError<E>>`; one that returns another `T` gives `Result<T, CallError>`.
/// - A method that is not `async` runs on the thread of the host's kernel, so it has to be short. One that waits or computes for long is `async`, and its
///   future can go to another thread.
/// - A method that panics ends with `CallError::Broke`, and what it did to the object before stays.
///
/// Functions that others must not call stand in an `impl` block of their own.
#[proc_macro_attribute]
pub fn methods(attribute: TokenStream, item: TokenStream) -> TokenStream {
    objects::methods(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
