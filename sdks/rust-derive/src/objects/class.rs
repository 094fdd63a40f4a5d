//! `#[sapphire(name = "..")]` above a struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Attribute, Error, Ident, Item, ItemStruct, LitInt, LitStr, Result};

use super::chosen::Chosen;
use super::types::check_field;

/// The options in the brackets.
struct Said {
    name: LitStr,
    version: u32,
    devices: Devices,
    managers: Chosen,
}

#[derive(Clone, Copy, Default)]
enum Devices {
    #[default]
    Call,
    Read,
    Hold,
}

/// Bytes of a class's name, as `ObjectName` has them.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 1..=64;

/// The code of a class.
pub fn class(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let class = read_struct(syn::parse2(item)?)?;
    let said = Said::read(attribute)?;
    Ok(output(&said, &class))
}

fn read_struct(item: Item) -> Result<ItemStruct> {
    let class = match item {
        Item::Struct(class) => class,
        Item::Enum(item) => {
            let problem = "a class of objects is a struct: put the enum into a field of one";
            return Err(Error::new_spanned(item.ident, problem));
        }
        other => return Err(Error::new_spanned(other, "a class of objects is a struct")),
    };
    if !class.generics.params.is_empty() {
        let problem = "a class of objects has a name of its own, and so no parameters: write one struct for each type";
        return Err(Error::new_spanned(&class.generics, problem));
    }
    class.attrs.iter().try_for_each(check_derives)?;
    let mut errors = class.fields.iter().filter_map(|field| check_field(&field.ty).err());
    match errors.next() {
        None => Ok(class),
        Some(mut first) => {
            errors.for_each(|error| first.combine(error));
            Err(first)
        }
    }
}

/// Serde's derives are the macro's own part.
fn check_derives(attribute: &Attribute) -> Result<()> {
    if !attribute.path().is_ident("derive") {
        return Ok(());
    }
    attribute.parse_nested_meta(|meta| {
        let last = meta.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        match last.as_str() {
            "Serialize" | "Deserialize" => {
                Err(meta.error("#[sapphire] derives Serialize and Deserialize itself: leave them out here"))
            }
            _ => Ok(()),
        }
    })
}

impl Said {
    fn read(attribute: TokenStream) -> Result<Said> {
        let (mut name, mut version, mut devices, mut managers) = (None, 1, Devices::default(), Chosen::none());
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("name") {
                name = Some(read_name(&meta)?);
            } else if meta.path.is_ident("version") {
                version = meta.value()?.parse::<LitInt>()?.base10_parse()?;
            } else if meta.path.is_ident("devices") {
                devices = Devices::read(&meta.value()?.parse()?)?;
            } else if meta.path.is_ident("managers") {
                managers = Chosen::read(&meta.value()?.parse()?)?;
            } else {
                let known =
                    "a class has `name = \"...\"`, `version = 1`, `devices = \"call\"` and `managers = LeaseCaching`";
                return Err(meta.error(known));
            }
            Ok(())
        });
        parser.parse2(attribute)?;
        let name = name.ok_or_else(|| {
            let problem =
                "a class has the name by which programs of all languages know it: #[sapphire(name = \"TodoList\")]";
            Error::new(proc_macro2::Span::call_site(), problem)
        })?;
        Ok(Said { name, version, devices, managers })
    }
}

fn read_name(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name: LitStr = meta.value()?.parse()?;
    if NAME_BYTES.contains(&name.value().len()) {
        return Ok(name);
    }
    let problem = format!("the name of a class has {} to {} bytes", NAME_BYTES.start(), NAME_BYTES.end());
    Err(Error::new_spanned(name, problem))
}

impl Devices {
    fn read(said: &LitStr) -> Result<Devices> {
        match said.value().as_str() {
            "call" => Ok(Devices::Call),
            "read" => Ok(Devices::Read),
            "hold" => Ok(Devices::Hold),
            _ => Err(Error::new_spanned(
                said,
                "devices may \"call\", which is the default, \"read\" (hold copies for reading) or \"hold\" (be owner)",
            )),
        }
    }

    fn variant(self) -> Ident {
        match self {
            Devices::Call => format_ident!("Call"),
            Devices::Read => format_ident!("Read"),
            Devices::Hold => format_ident!("Hold"),
        }
    }
}

/// The name of the struct that references are used as.
pub fn stub_of(class: &Ident) -> Ident {
    format_ident!("{class}Stub", span = class.span())
}

fn output(said: &Said, class: &ItemStruct) -> TokenStream {
    let Said { name, version, devices, managers } = said;
    let (ident, visibility, devices) = (&class.ident, &class.vis, devices.variant());
    let stub = stub_of(ident);
    let check = managers.check(ident);
    let documentation = format!("The methods of [`{ident}`], as callers see them: what a `Ref<{ident}>` is used as.");
    quote! {
        #[derive(::iolite::objects::generated::serde::Serialize, ::iolite::objects::generated::serde::Deserialize)]
        #[serde(crate = "::iolite::objects::generated::serde")]
        #class

        #[doc = #documentation]
        #[derive(Clone, Debug)]
        #visibility struct #stub(::iolite::objects::generated::Target);

        #[automatically_derived]
        impl ::iolite::objects::generated::Stub for #stub {
            fn new(target: ::iolite::objects::generated::Target) -> Self {
                #stub(target)
            }

            fn target(&self) -> &::iolite::objects::generated::Target {
                &self.0
            }
        }

        #[automatically_derived]
        impl ::iolite::objects::Object for #ident {
            const NAME: &'static str = #name;
            const VERSION: u32 = #version;
            const MANAGERS: &'static [::iolite::objects::generated::Choice] = #managers;
            const DEVICES: ::iolite::objects::generated::DeviceRight =
                ::iolite::objects::generated::DeviceRight::#devices;
            type Stub = #stub;
        }

        #check
    }
}

#[cfg(test)]
mod tests;
