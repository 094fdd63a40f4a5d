//! Mistakes in a design are told when it is loaded, with its line and what to do.

use super::{BROKEN, DESIGNS, Design};
use crate::file::Problem;

fn chain() -> &'static str {
    DESIGNS[0].text
}

/// The problems of the chain with something else in it, and the line at which the change is.
fn problems(from: &str, to: &str) -> (Vec<Problem>, usize) {
    let text = chain();
    let place = text.find(from).unwrap_or_else(|| panic!("{from} is not in the design"));
    let line = text[..place].lines().count() + usize::from(text[..place].ends_with('\n') || place == 0);
    let found = Design::load("d.toml", &text.replacen(from, to, 1)).expect_err(to);
    assert!(found.iter().all(|problem| !problem.remedy.is_empty() && problem.file == "d.toml"));
    (found, line)
}

/// Asserts that the change is found, at its own line or so many below.
fn finds(from: &str, to: &str, below: usize, what: &str) {
    let (found, line) = problems(from, to);
    let told: Vec<String> = found.iter().map(Problem::to_string).collect();
    let is_found = found.iter().any(|problem| problem.what.contains(what) && problem.line == line + below);
    assert!(is_found, "`{what}` at line {} is not among\n{}", line + below, told.join("\n"));
}

#[test]
fn all_designs_that_come_with_the_program_load() {
    let texts = DESIGNS.iter().map(|kept| (kept.file, kept.text)).chain(BROKEN.iter().map(|one| (one.file, one.text)));
    for (file, text) in texts {
        if let Err(problems) = Design::load(file, text) {
            panic!("{}", problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"));
        }
    }
}

#[test]
fn a_broken_design_differs_from_its_own_in_few_lines() {
    for broken in BROKEN {
        let sound = DESIGNS.iter().find(|kept| kept.name == broken.design).expect("it is made of a design");
        let lines: Vec<&str> = sound.text.lines().collect();
        let new = broken.text.lines().filter(|line| !lines.contains(line)).count();
        // A name, a comment, what makes it likely to be seen, and the edges of the rule.
        assert!((1..=6).contains(&new), "{}: {new} lines", broken.rule);
    }
}

#[test]
fn mistakes_of_the_file_are_told() {
    finds("name = \"chain\"", "name \"chain\"", 0, "not TOML");
    finds("name = \"chain\"\n", "nam = \"chain\"\n", 0, "nothing reads `nam`");
    finds("\"linearizable\"", "\"strong\"", 0, "`consistency` cannot be `strong`");
    finds("replicas = 3", "replicas = 3\ncopies = 3", 1, "nothing reads `copies`");
    finds("count = 3", "count = 0", 0, "`count` is not a whole number");
    finds("count = 3", "count = 3\ncolour = 3", 1, "nothing reads `colour`");
}

#[test]
fn mistakes_of_steps_are_told() {
    finds("module = \"ring\"", "module = \"rong\"", 0, "there is no module `rong`");
    finds("call = \"insert\"", "call = \"put\"", 0, "`call` cannot be `put`");
    finds(", full = \"refuse\"", "", 0, "says nothing of the result `full`");
    finds("fsync = true", "fsync = 3", 0, "`fsync` is not true or false");
    finds("fsync = true", "fsink = true", 0, "nothing reads `fsink`");
    finds("to = \"head\"", "to = \"middle\"", 0, "`to` cannot be `middle`");
    finds("start = \"ring\"", "start = \"rang\"", 0, "which is no step of this graph");
    finds("replicas = 3", "replicas = 5", 0, "5 replicas do not fit on 3 nodes");
}

#[test]
fn loops_and_loose_ends_are_told() {
    finds("tail = \"reply-to-client\"", "tail = \"place\"", 0, "goes round: ");
    finds(
        "number = { module = \"version-counter\", ok = \"place\" }",
        "number = { module = \"version-counter\", ok = \"done\" }",
        1,
        "nothing leads to step `place`",
    );
}

#[test]
fn what_a_step_takes_must_be_there_on_every_way_to_it() {
    finds(
        "place = { module = \"disk-placement\"",
        "place = { module = \"version-counter\"",
        1,
        "step `reserve` takes a disk",
    );
    finds(
        "call = \"find\", found = \"read\", missing = \"missing\"",
        "call = \"find\", found = \"read\", missing = \"read\"",
        1,
        "step `read` takes a position",
    );
    // Through a message: the tail of a chain needs the replicas that the client chose.
    finds(
        "start = \"ring\"\nring = { module = \"ring\", ok = \"head\" }",
        "start = \"head\"\nring = { module = \"ring\", ok = \"head\" }",
        1,
        "nothing leads to step `ring`",
    );
    finds(
        "to = \"head\", message = \"put\"",
        "to = \"head\", value = false, message = \"put\"",
        20,
        "step `reserve` takes a value",
    );
}

#[test]
fn messages_without_a_handler_and_handlers_without_a_message_are_told() {
    finds(
        "to = \"head\", message = \"put\"",
        "to = \"head\", message = \"write\"",
        0,
        "role `store` has nothing for the message `write`",
    );
    finds("to = \"tail\",", "to = \"tail\", role = \"shop\",", 0, "there is no role `shop`");
    finds(
        "[role.client.on.put-response]",
        "[role.store.on.reply]\nstart = \"done\"\n\n[role.client.on.put-response]",
        1,
        "nothing sends the message `reply`",
    );
    finds("middle = \"next\"", "middle = \"finish\"", 0, "ends an operation at the client");
}

#[test]
fn a_wait_that_nothing_ends_is_told() {
    finds(
        "place = { module = \"disk-placement\", ok = \"reserve\" }",
        "place = { module = \"disk-placement\", ok = \"wait\" }\nwait = { module = \"acks\", call = \"expect\", ok = \"reserve\" }",
        1,
        "nothing ends that in role `store`",
    );
}
