//! The macros' errors, by what apps may write.

use quote::quote;

use super::*;
use crate::objects::methods;

fn problem(attribute: TokenStream, item: TokenStream) -> String {
    class(attribute, item).err().map(|error| error.to_string()).unwrap_or_default()
}

fn problem_of_method(function: TokenStream) -> String {
    let block = quote! { impl A { #function } };
    methods(TokenStream::new(), block).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn what_is_no_class_says_why() {
    let (named, fields) = (quote! { name = "A" }, quote! { struct A { value: i64 } });
    assert_eq!(problem(named.clone(), fields.clone()), "");
    assert_eq!(problem(quote! { name = "A", devices = "hold", version = 3 }, fields.clone()), "");
    assert!(problem(quote! {}, fields.clone()).contains("name = \"TodoList\""));
    assert!(problem(quote! { name = "" }, fields.clone()).contains("1 to 64 bytes"));
    assert!(problem(quote! { name = "A", devices = "own" }, fields.clone()).contains("\"hold\""));
    assert!(problem(quote! { name = "A", lively }, fields.clone()).contains("`devices = "));
    assert!(problem(named.clone(), quote! { enum A { B } }).contains("put the enum into a field"));
    assert!(problem(named.clone(), quote! { struct A<T> { value: T } }).contains("no parameters"));
    assert!(problem(named.clone(), quote! { #[derive(Clone, Serialize)] struct A; }).contains("leave them out"));
    let hashed = problem(named, quote! { struct A { by_name: Vec<std::collections::HashMap<String, i64>> } });
    assert!(hashed.contains("BTreeMap in place of HashMap"), "{hashed}");
}

#[test]
fn a_name_alone_is_built_in_and_a_path_is_of_the_app() {
    let text = |managers: TokenStream| {
        let code = class(quote! { name = "A", managers = #managers }, quote! { struct A; });
        code.map(|code| code.to_string()).map_err(|error| error.to_string())
    };
    for (managers, written) in [
        (quote! { LeaseCaching }, quote! { Choice::built_in("LeaseCaching", &[]) }),
        (quote! { LeaseCaching { lease: secs(5) } }, quote! { built_in("LeaseCaching", &[("lease", 5000u64)]) }),
        (quote! { [KeepInPlace, crate::Audit { last: 3 }] }, quote! { kind: &<crate::Audit as }),
        (quote! { [KeepInPlace, crate::Audit { last: 3 }] }, quote! { given: &[("last", 3u64)] }),
    ] {
        let (code, written) = (text(managers).expect("it is right"), written.to_string());
        assert!(code.contains(&written), "{written} in {code}");
    }
    for (wrong, word) in [
        (quote! { LeaseCaching(5) }, "a manager is written as"),
        (quote! { LeaseCaching { lease: "5s" } }, "a setting is a number"),
        (quote! { LeaseCaching { lease: hours(5) } }, "a setting is a number"),
    ] {
        let problem = text(wrong).expect_err("it is wrong");
        assert!(problem.contains(word), "{problem}");
    }
}

#[test]
fn what_is_no_method_says_why() {
    assert_eq!(
        problem_of_method(quote! { #[read] fn get(&self, a: i64, cx: &Context) -> Result<i64, Full> { 1 } }),
        ""
    );
    assert_eq!(problem_of_method(quote! { async fn set(&mut self, mut a: Vec<Ref<Self>>) {} }), "");
    assert!(problem_of_method(quote! { fn get(&self) {} }).contains("mark it #[read], or take &mut self"));
    assert!(problem_of_method(quote! { #[read] fn get(&mut self) {} }).contains("takes &self"));
    assert!(problem_of_method(quote! { #[read(all)] fn get(&self) {} }).contains("stands alone"));
    assert!(problem_of_method(quote! { fn get(self) {} }).contains("stays where it is"));
    assert!(problem_of_method(quote! { fn new() -> A { A } }).contains("`impl` block of their own"));
    assert!(problem_of_method(quote! { fn set(&mut self, name: &str) {} }).contains("String in place of &str"));
    assert!(problem_of_method(quote! { fn set(&mut self, a: impl Into<i64>) {} }).contains("in place of `impl`"));
    assert!(problem_of_method(quote! { fn set(&mut self, (a, b): (i64, i64)) {} }).contains("has a name"));
    assert!(problem_of_method(quote! { fn set<T>(&mut self, a: T) {} }).contains("name the types"));
    assert!(problem_of_method(quote! { fn set(&mut self) -> io::Result<()> {} }).contains("write Result<T, E>"));
}
