//! One method of a class.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Error, FnArg, Ident, ImplItemFn, Meta, Pat, PatType, Receiver, Result, Visibility};

use super::types::{Returned, check_owned, is_context, returned, without_self};

/// A method that can be called from elsewhere.
pub struct Method {
    pub ident: Ident,
    pub visibility: Visibility,
    /// The documentation, for callers.
    pub documentation: Vec<Attribute>,
    pub mode: Mode,
    pub timing: Timing,
    pub arguments: Vec<Argument>,
    pub returned: Returned,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Read,
    Write,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    Sync,
    Async,
}

pub enum Argument {
    Context,
    /// The name, and the type without `Self`.
    Value(Ident, TokenStream),
}

/// Serde reads no longer tuples.
const ARGUMENTS: usize = 16;

impl Method {
    /// Reads a method, and takes the marks off it that only the macro knows.
    pub fn take(function: &mut ImplItemFn, class: &Ident) -> Result<Method> {
        let marks = function.attrs.iter().filter(|attribute| attribute.path().is_ident("read")).cloned();
        let marks: Vec<Attribute> = marks.collect();
        function.attrs.retain(|attribute| !attribute.path().is_ident("read"));
        let signature = &function.sig;
        if let Some(constness) = &signature.constness {
            return Err(Error::new_spanned(constness, "a method that others call is not const"));
        }
        if !signature.generics.params.is_empty() {
            let problem = "a method that others call has no parameters of types or lifetimes: name the types";
            return Err(Error::new_spanned(&signature.generics, problem));
        }
        let mut inputs = signature.inputs.iter();
        let mode = match inputs.next() {
            Some(FnArg::Receiver(receiver)) => read_mode(receiver, &marks)?,
            Some(FnArg::Typed(_)) | None => {
                let problem =
                    "a method takes &self or &mut self: put other functions into an `impl` block of their own";
                return Err(Error::new_spanned(&signature.ident, problem));
            }
        };
        let arguments = inputs.map(|input| Argument::read(input, class)).collect::<Result<Vec<_>>>()?;
        if arguments.iter().filter(|argument| matches!(argument, Argument::Value(..))).count() > ARGUMENTS {
            let problem = format!("a method has at most {ARGUMENTS} arguments: put some of them into a struct");
            return Err(Error::new_spanned(&signature.inputs, problem));
        }
        let returned = returned(&signature.output)?;
        let documentation = function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        Ok(Method {
            ident: signature.ident.clone(),
            visibility: function.vis.clone(),
            documentation: documentation.cloned().collect(),
            mode,
            timing: if signature.asyncness.is_some() { Timing::Async } else { Timing::Sync },
            arguments,
            returned,
        })
    }

    /// The name by which it is called.
    pub fn name(&self) -> String {
        self.ident.to_string().trim_start_matches("r#").to_owned()
    }

    /// Names and types of the arguments that callers give.
    pub fn values(&self) -> (Vec<&Ident>, Vec<&TokenStream>) {
        let values = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Value(ident, kind) => Some((ident, kind)),
            Argument::Context => None,
        });
        values.unzip()
    }
}

/// A mark and `&self` belong together: who reads the class sees what may run beside each other, and who changes a method's receiver is asked.
fn read_mode(receiver: &Receiver, marks: &[Attribute]) -> Result<Mode> {
    for mark in marks {
        if !matches!(mark.meta, Meta::Path(_)) {
            return Err(Error::new_spanned(mark, "#[read] stands alone"));
        }
    }
    let by_value = "a method takes &self or &mut self: the object stays where it is";
    if receiver.reference.is_none() || receiver.colon_token.is_some() {
        return Err(Error::new_spanned(receiver, by_value));
    }
    match (receiver.mutability, marks.first()) {
        (None, Some(_)) => Ok(Mode::Read),
        (Some(_), None) => Ok(Mode::Write),
        (Some(_), Some(mark)) => Err(Error::new_spanned(
            mark,
            "a method that is marked #[read] takes &self: take the mark away, or the `mut`",
        )),
        (None, None) => Err(Error::new_spanned(
            receiver,
            "a method that takes &self only reads: mark it #[read], or take &mut self",
        )),
    }
}

impl Argument {
    fn read(input: &FnArg, class: &Ident) -> Result<Argument> {
        let PatType { pat, ty, .. } = match input {
            FnArg::Typed(argument) => argument,
            FnArg::Receiver(receiver) => return Err(Error::new_spanned(receiver, "`self` comes first")),
        };
        if is_context(ty) {
            return Ok(Argument::Context);
        }
        check_owned(ty)?;
        match pat.as_ref() {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                Ok(Argument::Value(name.ident.clone(), without_self(ty.to_token_stream(), class)))
            }
            other => Err(Error::new_spanned(other, "an argument has a name: take it apart inside of the method")),
        }
    }
}
