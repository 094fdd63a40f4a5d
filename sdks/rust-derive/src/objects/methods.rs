//! `#[sapphire::methods]` above an `impl` block.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Ident, ImplItem, ItemImpl, Result, Type};

use super::class::stub_of;
use super::method::{Argument, Method, Mode, Timing};
use super::types::{Returned, without_self};

/// The code of a class's methods.
pub fn methods(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(attribute, "#[sapphire::methods] stands alone: options are of #[sapphire(..)]"));
    }
    let mut block: ItemImpl = syn::parse2(item)?;
    let class = class_of(&block)?;
    let (mut methods, mut errors) = (Vec::new(), None::<Error>);
    for item in &mut block.items {
        let ImplItem::Fn(function) = item else { continue };
        match (Method::take(function, &class), &mut errors) {
            (Ok(method), _) => methods.push(method),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), none) => *none = Some(error),
        }
    }
    match errors {
        Some(errors) => Err(errors),
        None => Ok(output(&block, &class, &methods)),
    }
}

fn class_of(block: &ItemImpl) -> Result<Ident> {
    if let Some((_, path, _)) = &block.trait_ {
        return Err(Error::new_spanned(path, "the methods of a class are its own: write `impl` without a trait"));
    }
    if !block.generics.params.is_empty() {
        return Err(Error::new_spanned(&block.generics, "a class of objects has no parameters"));
    }
    match block.self_ty.as_ref() {
        Type::Path(path) => path.path.get_ident().cloned(),
        _ => None,
    }
    .ok_or_else(|| Error::new_spanned(&block.self_ty, "write the methods beside the struct, under its own name"))
}

fn output(block: &ItemImpl, class: &Ident, methods: &[Method]) -> TokenStream {
    let stub = stub_of(class);
    let reads = methods.iter().filter(|method| method.mode == Mode::Read).map(Method::name);
    let callers = methods.iter().map(|method| caller(method, class));
    let arms = methods.iter().map(arm);
    let running = hidden("running");
    quote! {
        #block

        #[allow(dead_code, reason = "callers may be in other programs")]
        impl #stub {
            #(#callers)*
        }

        #[automatically_derived]
        impl ::iolite::objects::Methods for #class {
            const READS: &'static [&'static str] = &[#(#reads),*];

            fn run(
                method: &str,
                #running: ::iolite::objects::generated::Running<Self>,
            ) -> ::iolite::objects::generated::Outcome {
                match method {
                    #(#arms)*
                    _ => ::iolite::objects::generated::no_such_method(),
                }
            }
        }
    }
}

/// A name that no argument can have.
fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The method of the stub.
fn caller(method: &Method, class: &Ident) -> TokenStream {
    let Method { ident, visibility, documentation, .. } = method;
    let name = method.name();
    let (names, types) = method.values();
    let mode = match method.mode {
        Mode::Read => quote! { Read },
        Mode::Write => quote! { Write },
    };
    let (value, error) = match &method.returned {
        Returned::Value(value) => (value.clone(), quote! { ::iolite::objects::NoError }),
        Returned::Result(value, error) => (value.clone(), error.clone()),
    };
    let (value, error) = (without_self(value, class), without_self(error, class));
    let tuple = tuple(&names, &quote! { [(); 0] });
    quote! {
        #(#documentation)*
        #visibility fn #ident(
            &self,
            #(#names: #types),*
        ) -> impl ::std::future::Future<Output = ::std::result::Result<#value, ::iolite::objects::CallError<#error>>>
            + ::std::marker::Send + use<> {
            ::iolite::objects::generated::call::<#class, #value, #error>(
                &self.0,
                #name,
                ::iolite::objects::generated::CallMode::#mode,
                ::iolite::objects::generated::arguments(&#tuple),
            )
        }
    }
}

/// The arguments of a method, as a tuple. No arguments are an empty array and no unit, which is null in CBOR.
fn tuple<T: ToTokens>(parts: &[T], empty: &TokenStream) -> TokenStream {
    if parts.is_empty() {
        return empty.clone();
    }
    quote! { (#(#parts,)*) }
}

/// The arm that a method's name leads to, where the object is.
fn arm(method: &Method) -> TokenStream {
    let (ident, name) = (&method.ident, method.name());
    let (names, types) = method.values();
    let (running, object, result, problem) = (hidden("running"), hidden("object"), hidden("result"), hidden("problem"));
    let kinds = tuple(&types, &quote! { [(); 0] });
    let pattern = tuple(&names, &quote! { [] });
    let given = method.arguments.iter().map(|argument| match argument {
        Argument::Context => quote! { #running.context() },
        Argument::Value(name, _) => quote! { #name },
    });
    let guard = match method.mode {
        Mode::Read => quote! { let #object = #running.read(); },
        Mode::Write => quote! { let mut #object = #running.write(); },
    };
    let end = match &method.returned {
        Returned::Value(_) => quote! { returned },
        Returned::Result(..) => quote! { returned_or_threw },
    };
    let outcome = match method.timing {
        Timing::Sync => quote! {
            ::iolite::objects::generated::Outcome::Ended({
                let #result = { #guard #object.#ident(#(#given),*) };
                ::iolite::objects::generated::#end(&#result)
            })
        },
        // The error of a method that waits with what cannot go to another thread is shown at its name.
        Timing::Async => quote_spanned! { ident.span() =>
            ::iolite::objects::generated::Outcome::Later(::std::boxed::Box::pin(async move {
                let #result = { #guard #object.#ident(#(#given),*).await };
                ::iolite::objects::generated::#end(&#result)
            }))
        },
    };
    quote! {
        #name => match #running.arguments::<#kinds>() {
            ::std::result::Result::Ok(#pattern) => #outcome,
            ::std::result::Result::Err(#problem) => ::iolite::objects::generated::Outcome::Ended(#problem),
        },
    }
}
