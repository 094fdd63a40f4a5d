//! Looks into types: which are refused, and which are known by their names.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Error, GenericArgument, Ident, PathArguments, PathSegment, ReturnType, Type, TypeImplTrait, TypeReference};

/// Refuses what is no value of its own, or has no order.
#[derive(Default)]
struct Refused {
    errors: Option<Error>,
}

impl Refused {
    fn add(&mut self, error: Error) {
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }
}

impl<'ast> Visit<'ast> for Refused {
    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        for (hashed, ordered) in [("HashMap", "BTreeMap"), ("HashSet", "BTreeSet")] {
            if segment.ident == hashed {
                let problem = format!(
                    "a {hashed} has no order, and a state has one encoding only: write {ordered} in place of {hashed}"
                );
                self.add(Error::new_spanned(&segment.ident, problem));
            }
        }
        visit::visit_path_segment(self, segment);
    }
}

/// Refuses a field whose order is left to chance.
pub fn check_field(kind: &Type) -> Result<(), Error> {
    let mut refused = Refused::default();
    refused.visit_type(kind);
    refused.errors.map_or(Ok(()), Err)
}

/// Refuses an argument or result that is borrowed, or has no one type.
pub fn check_owned(kind: &Type) -> Result<(), Error> {
    struct Borrowed(Option<Error>);
    impl<'ast> Visit<'ast> for Borrowed {
        fn visit_type_reference(&mut self, kind: &'ast TypeReference) {
            let problem = "arguments and results cross machines, so they are owned: write String in place of &str, and T in place of &T";
            self.0.get_or_insert_with(|| Error::new_spanned(kind, problem));
        }

        fn visit_type_impl_trait(&mut self, kind: &'ast TypeImplTrait) {
            let problem = "arguments and results have one type each: name it in place of `impl`";
            self.0.get_or_insert_with(|| Error::new_spanned(kind, problem));
        }
    }
    let mut borrowed = Borrowed(None);
    borrowed.visit_type(kind);
    borrowed.0.map_or(Ok(()), Err)
}

/// Whether an argument is the method's context: `&Context`.
pub fn is_context(kind: &Type) -> bool {
    let Type::Reference(TypeReference { elem, mutability: None, .. }) = kind else { return false };
    last_segment(elem).is_some_and(|segment| segment.ident == "Context")
}

/// The type that a method returns.
pub enum Returned {
    Value(TokenStream),
    /// The value and the method's own error.
    Result(TokenStream, TokenStream),
}

pub fn returned(output: &ReturnType) -> Result<Returned, Error> {
    let ReturnType::Type(_, kind) = output else { return Ok(Returned::Value(quote::quote! { () })) };
    check_owned(kind)?;
    let Some(segment) = last_segment(kind).filter(|segment| segment.ident == "Result") else {
        return Ok(Returned::Value(kind.to_token_stream()));
    };
    let types: Vec<&Type> = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().filter_map(type_argument).collect(),
        PathArguments::None | PathArguments::Parenthesized(_) => Vec::new(),
    };
    match types.as_slice() {
        [value, error] => Ok(Returned::Result(value.to_token_stream(), error.to_token_stream())),
        _ => Err(Error::new_spanned(
            kind,
            "the caller is given the error, so its type has to be named: write Result<T, E>",
        )),
    }
}

fn type_argument(argument: &GenericArgument) -> Option<&Type> {
    match argument {
        GenericArgument::Type(kind) => Some(kind),
        _ => None,
    }
}

fn last_segment(kind: &Type) -> Option<&PathSegment> {
    match kind {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}

/// The tokens with the class in place of `Self`: the stub has another one.
pub fn without_self(tokens: TokenStream, class: &Ident) -> TokenStream {
    let replaced = |token| match token {
        TokenTree::Ident(ident) if ident == "Self" => {
            let mut class = class.clone();
            class.set_span(ident.span());
            TokenTree::Ident(class)
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_self(group.stream(), class));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => token,
    };
    tokens.into_iter().map(replaced).collect()
}
