//! `cargo xtask lines`: how many lines of code an app has on Iolite, and on Redis or Yjs, and how many a manager of objects has. The page
//! `docs/lines-of-code.md` is held to it by a test.
//!
//! A line counts unless it is empty, holds nothing but a comment, or belongs to a Rust file's tests. What is counted is named here, file by file.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

struct App {
    name: &'static str,
    files: &'static [&'static str],
}

const APPS: &[App] = &[
    App { name: "The 100 game on Iolite, in TypeScript", files: &["examples/hundred-game/typescript/src/game.ts"] },
    App { name: "The 100 game on Iolite, in Rust", files: &["examples/hundred-game/rust/src/main.rs"] },
    App { name: "The 100 game on Redis", files: &["examples/hundred-game/redis/src/game.ts"] },
    App {
        name: "The sheet with its views on Iolite, in Rust: tables, operations, views",
        files: &["benchmarks/src/views/sheet.rs"],
    },
    App { name: "The sheet with its views on Yjs and Hocuspocus", files: &["benchmarks/hocuspocus/src/sheet.js"] },
    App {
        name: "The chat on Iolite: schema, mutators, hooks",
        files: &["examples/chat/src/model.ts", "examples/chat/src/chat.ts", "examples/chat/src/Connection.tsx"],
    },
    App {
        name: "What it takes of the examples' common page, and Redis's does not",
        files: &[
            "examples/page/src/startPage.tsx",
            "examples/page/src/openClient.ts",
            "examples/page/src/useMarks.ts",
            "examples/page/src/SyncChip.tsx",
            "examples/page/src/NetworkSwitch.tsx",
            "examples/page/src/connectionWords.ts",
            "examples/page/src/Refusals.tsx",
            "examples/page/src/Notice.tsx",
        ],
    },
    App {
        name: "The chat on Redis: messages, server, link, hooks",
        files: &[
            "examples/chat/redis/src/messages.ts",
            "examples/chat/redis/src/server.ts",
            "examples/chat/redis/src/page/link.ts",
            "examples/chat/redis/src/page/chat.tsx",
        ],
    },
    App {
        name: "The chat's page, the same for both",
        files: &[
            "examples/chat/src/App.tsx",
            "examples/chat/src/Composer.tsx",
            "examples/chat/src/Lines.tsx",
            "examples/chat/src/Reached.tsx",
            "examples/chat/src/main.tsx",
            "examples/chat/src/useRead.ts",
            "examples/chat/src/useEvery.ts",
            "examples/chat/src/lengths.ts",
        ],
    },
    App { name: "The to-do list of an object: the class", files: &["examples/todo/objects.js"] },
    App { name: "The to-do list of an object: the page", files: &["examples/todo/src/main.tsx"] },
    App { name: "Word duel: the class, without its words", files: &["examples/word-duel/objects.js"] },
    App {
        name: "Word duel: the page",
        files: &[
            "examples/word-duel/src/App.tsx",
            "examples/word-duel/src/main.tsx",
            "examples/word-duel/src/problemOf.ts",
            "examples/word-duel/src/useGame.ts",
        ],
    },
];

/// Managers of objects, with the lines that the paper gives them (Zhang 2017, Table 2.1), if it does.
const MANAGERS: &[(&str, Option<usize>, &[&str])] = &[
    ("Immutable", None, &["immutable"]),
    ("AtLeastOnceRPC", Some(27), &["at_least_once"]),
    ("KeepInPlace", Some(15), &["keep_in_place"]),
    ("KeepInCloud", Some(15), &["keep_in_cloud"]),
    ("KeepOnDevice", Some(45), &["keep_on_device"]),
    ("ExplicitCaching", Some(41), &["explicit_caching"]),
    ("LeaseCaching", Some(133), &["lease_caching"]),
    ("WriteThroughCaching", Some(43), &["write_through_caching"]),
    ("ConsistentCaching", Some(98), &["consistent_caching"]),
    ("shared by the last two", None, &["caches", "caches/cached", "caches/origin"]),
    ("SerializableRPC", Some(10), &["serializable_rpc"]),
    ("LockingTransactions", Some(81), &["locking_transactions"]),
    ("OptimisticTransactions", Some(92), &["optimistic_transactions"]),
    ("shared by both transactions", None, &["transactions", "transactions/beside"]),
    ("ExplicitMigration", Some(20), &["explicit_migration"]),
    ("LoadBalancedFrontEnd", Some(53), &["load_balanced_front_end"]),
];

/// The tables of apps and of managers, in Markdown.
pub fn tables(root: &Path) -> Result<[String; 2]> {
    let mut apps = String::from("| | Lines | Files |\n|---|---:|---|\n");
    for app in APPS {
        let files: Vec<String> = app.files.iter().map(|file| link(file)).collect();
        writeln!(apps, "| {} | {} | {} |", app.name, lines_of(root, app.files)?, files.join(", "))?;
    }
    let mut managers = String::from("| | Lines | The paper's | Files |\n|---|---:|---:|---|\n");
    for (name, papers, modules) in MANAGERS {
        let files: Vec<String> =
            modules.iter().map(|module| format!("crates/objects/src/managers/{module}.rs")).collect();
        let papers = papers.map_or_else(|| "-".to_owned(), |lines| lines.to_string());
        let links: Vec<String> = files.iter().map(|file| link(file)).collect();
        writeln!(managers, "| {name} | {} | {papers} | {} |", lines_of(root, &files)?, links.join(", "))?;
    }
    Ok([apps, managers])
}

fn lines_of(root: &Path, files: &[impl AsRef<str>]) -> Result<usize> {
    let mut lines = 0;
    for file in files.iter().map(AsRef::as_ref) {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        lines += lines_of_code(&text);
    }
    Ok(lines)
}

fn link(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("[`{name}`](../{file})")
}

fn lines_of_code(text: &str) -> usize {
    let mut in_comment = false;
    let mut count = 0;
    // The tests of a Rust file are its end.
    for line in text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]") {
        let begins = line.starts_with("/*");
        let is_comment = in_comment || begins || line.starts_with("//");
        if in_comment || begins {
            in_comment = !line.contains("*/");
        }
        count += usize::from(!line.is_empty() && !is_comment);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_and_comments_do_not_count() {
        assert_eq!(lines_of_code("/** One. */\n\n//! Two.\n  // three\n/*\n * four\n */\na();\n  b(); // five\n"), 2);
    }

    #[test]
    fn the_page_says_what_is_counted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository's root");
        let page = fs::read_to_string(root.join("docs/lines-of-code.md")).expect("the page");
        for table in tables(root).expect("every file is there") {
            assert!(page.contains(&table), "docs/lines-of-code.md does not have this table:\n{table}");
        }
    }
}
