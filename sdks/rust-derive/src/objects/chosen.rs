//! The managers in the line above a class: `managers = [AtLeastOnceRPC { within: secs(5) }, crate::Audit]`.
//!
//! Invariant: a name alone is a manager that is built in, and a path is a manager of the app's own. The compiler looks at both when it compiles the class.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprStruct, Ident, Member, Path, Result};

/// The managers of a class, each as the code of its `Choice`.
pub struct Chosen {
    choices: Vec<TokenStream>,
    span: Span,
}

impl Chosen {
    pub fn none() -> Chosen {
        Chosen { choices: Vec::new(), span: Span::call_site() }
    }

    /// Reads one, or several in brackets.
    pub fn read(said: &Expr) -> Result<Chosen> {
        let choices = match said {
            Expr::Array(list) => list.elems.iter().map(read_one).collect::<Result<_>>()?,
            one => vec![read_one(one)?],
        };
        Ok(Chosen { choices, span: said.span() })
    }

    /// The code that looks whether the managers have their settings, and fit together.
    pub fn check(&self, class: &Ident) -> TokenStream {
        if self.choices.is_empty() {
            return TokenStream::new();
        }
        quote_spanned! { self.span =>
            const _: () = ::iolite::objects::generated::Choice::check(<#class as ::iolite::objects::Object>::MANAGERS);
        }
    }
}

impl ToTokens for Chosen {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let choices = &self.choices;
        tokens.extend(quote! { &[#(#choices),*] });
    }
}

fn read_one(said: &Expr) -> Result<TokenStream> {
    match said {
        Expr::Path(manager) if manager.qself.is_none() => Ok(choice(&manager.path, &quote! { &[] })),
        Expr::Struct(manager) => Ok(choice(&manager.path, &settings(manager)?)),
        other => {
            let problem = "a manager is written as `LeaseCaching`, `LeaseCaching { lease: secs(5) }`, or with the path of \
                           your own, `crate::Audit`; several in brackets";
            Err(Error::new_spanned(other, problem))
        }
    }
}

fn choice(path: &Path, given: &TokenStream) -> TokenStream {
    match path.get_ident() {
        Some(ident) => {
            let name = ident.to_string();
            quote_spanned! { ident.span() => ::iolite::objects::generated::Choice::built_in(#name, #given) }
        }
        None => quote_spanned! { path.span() =>
            ::iolite::objects::generated::Choice {
                kind: &<#path as ::iolite::objects::managers::Manager>::KIND,
                given: #given,
            }
        },
    }
}

fn settings(manager: &ExprStruct) -> Result<TokenStream> {
    let pairs = manager.fields.iter().map(|field| {
        let Member::Named(setting) = &field.member else {
            return Err(Error::new_spanned(field, "a setting has a name"));
        };
        let (name, value) = (setting.to_string(), read_value(&field.expr)?);
        Ok(quote! { (#name, #value) })
    });
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    Ok(quote! { &[#(#pairs),*] })
}

/// Reads a number, or a time in milliseconds.
fn read_value(said: &Expr) -> Result<u64> {
    let number = |expr: &Expr| match expr {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => number.base10_parse::<u64>().ok(),
        _other => None,
    };
    let value = match said {
        Expr::Call(call) => {
            let unit = match &*call.func {
                Expr::Path(path) if path.path.is_ident("secs") => Some(1_000),
                Expr::Path(path) if path.path.is_ident("millis") => Some(1),
                _other => None,
            };
            let value = call.args.first().filter(|_| call.args.len() == 1).and_then(number);
            unit.zip(value).and_then(|(unit, value)| value.checked_mul(unit))
        }
        other => number(other),
    };
    value.ok_or_else(|| Error::new_spanned(said, "a setting is a number, or a time: `secs(5)`, `millis(500)`"))
}
