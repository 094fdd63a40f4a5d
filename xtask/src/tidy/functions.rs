//! Finds the functions of a Rust file and their lines, by braces: quick, and no parser to keep up to date.
//!
//! A function that a macro writes (`fn $name`) is not seen.

use super::plain_code::plain_code;

#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The line of `fn`, from 1.
    pub first_line: usize,
    /// The line of the closing brace.
    pub last_line: usize,
}

impl Function {
    pub fn lines(&self) -> usize {
        self.last_line - self.first_line + 1
    }
}

/// Every function with a body, nested ones too.
pub fn functions(source: &str) -> Vec<Function> {
    let code = plain_code(source);
    let mut found = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while at < code.len() {
        if code[at] == '\n' {
            line += 1;
        }
        if !is_word(code[at]) {
            at += 1;
            continue;
        }
        let word = word_at(&code, at);
        at += word.chars().count();
        if word == "fn"
            && let Some((name, last)) = name_and_end(&code, at)
        {
            let lines = code[at..last].iter().filter(|&&character| character == '\n').count();
            found.push(Function { name, first_line: line, last_line: line + lines });
        }
    }
    found
}

/// The name that follows `fn`, and where the body closes. `None` for a type (`fn(u8)`) or a method without a body.
fn name_and_end(code: &[char], after_fn: usize) -> Option<(String, usize)> {
    let start = after_fn + code[after_fn..].iter().take_while(|character| character.is_whitespace()).count();
    let name = word_at(code, start);
    if name.is_empty() {
        return None;
    }
    let body = start_of_body(code, start)?;
    let mut depth = 0_usize;
    for (offset, character) in code[body..].iter().enumerate() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((name, body + offset));
        }
    }
    None
}

fn start_of_body(code: &[char], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, character) in code[from..].iter().enumerate() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return Some(from + offset),
            _ => {}
        }
    }
    None
}

fn word_at(code: &[char], at: usize) -> String {
    code[at..].iter().take_while(|&&character| is_word(character)).collect()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<(String, usize)> {
        functions(source).into_iter().map(|function| (function.name.clone(), function.lines())).collect()
    }

    #[test]
    fn a_function_spans_from_its_keyword_to_its_closing_brace() {
        let source = "\nfn one() {}\n\npub async fn two(\n  a: [u8; 2],\n) -> u8 {\n  a[0]\n}\n";
        assert_eq!(lines(source), [("one".to_owned(), 1), ("two".to_owned(), 5)]);
        assert_eq!(functions(source)[1].first_line, 4);
    }

    #[test]
    fn braces_in_strings_do_not_end_a_function() {
        assert_eq!(lines("fn a() {\n  let b = \"}\";\n  let c = '}';\n  // }\n}\n"), [("a".to_owned(), 5)]);
    }

    #[test]
    fn nested_functions_are_found_too() {
        assert_eq!(lines("fn a() {\n  fn b() {\n  }\n}\n"), [("a".to_owned(), 4), ("b".to_owned(), 2)]);
    }

    #[test]
    fn declarations_and_types_have_no_body() {
        assert_eq!(lines("trait A { fn a(&self) -> [u8; 4]; }\ntype B = fn(u8) -> u8;\nstruct C { fn_a: u8 }"), []);
    }
}
