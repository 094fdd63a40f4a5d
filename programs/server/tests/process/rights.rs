//! `iolite schema` and `iolite dev --rights`: rights come into effect, stay, and what is wrong with them is told.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::support::dev::{Dev, Folder, PATIENCE, fails};
use crate::support::folder::PROGRAM;
use crate::support::local::{Local, succeeds};
use crate::support::tokens::Issuer;

const SCHEMA: &str = r#"{"tables":{"notes":{"columns":{"id":{"type":"id"},"author":{"type":"string"},"stars":{"type":"counter"}},"key":["id"]}}}"#;
const OWN: &str = r#"{"test":{"is":{"equal":{"claim":"sub"}},"of":{"row":"author"}}}"#;
const READ: &str = r#"{"tables":{"notes":{"read":{"and":[]},"create":OWN}}}"#;
const UNKNOWN: &str = r#"{"tables":{"notes":{"read":{"and":[]}},"nots":"open","rooms":"open"}}"#;

fn deployment(rights: &str) -> String {
    format!(r#"{{"schema":{SCHEMA},"rights":{}}}"#, rights.replace("OWN", OWN))
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    std::fs::create_dir_all(folder).expect("it can be made");
    // A reader finds all of it or none.
    let (part, file) = (folder.join(format!("{name}.part")), folder.join(name));
    std::fs::write(&part, text).expect("it can be written");
    std::fs::rename(part, &file).expect("it can be renamed");
    file
}

/// `iolite schema` with these arguments. Returns whether it succeeds, and what it says.
fn schema(command: &str, file: &Path, more: &[&str]) -> (bool, String) {
    let mut program = Command::new(PROGRAM);
    said(program.args(["schema", command]).arg(file).args(more))
}

fn said(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program can be run");
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

fn url(server: &Dev) -> String {
    format!("http://127.0.0.1:{}", server.port())
}

#[test]
fn rights_are_planned_come_into_effect_and_are_there_after_a_restart() {
    let folder = Folder::new("schema-apply");
    let mut server = Dev::start(&folder.0.join("data"));
    server.wait_until_ready();
    let (target, file) = (url(&server), write(&folder.0, "rights.json", &deployment(READ)));
    let target = ["--target", &target];
    let changes = "  + table notes\n  + table \"notes\", rule \"read\": everybody\n  + table \"notes\", rule \"create\": row.author = user.sub\n";
    assert_eq!(schema("plan", &file, &target), (true, format!("Version 1 would change:\n{changes}")));
    assert_eq!(schema("apply", &file, &target), (true, format!("{changes}Version 1 is in effect\n")));
    let bad = write(&folder.0, "bad.json", &deployment(UNKNOWN));
    let (done, problems) = schema("apply", &bad, &target);
    assert!(!done && problems.lines().count() == 2, "{problems}");
    assert!(problems.contains(r#"table "nots": there is no such table"#), "{problems}");
    server.kill();
    server.restart();
    server.wait_until_ready();
    let nothing = "Version 1 is in effect, and has all of it: nothing changes\n".to_owned();
    assert_eq!(schema("plan", &file, &target), (true, nothing));
}

/// `iolite access explain` with these arguments.
fn explain(server: &Dev, arguments: &[&str]) -> (bool, String) {
    let mut program = Command::new(PROGRAM);
    said(program.args(["access", "explain"]).args(arguments).args(["--target", &url(server)]))
}

#[test]
fn an_operator_is_told_who_may_do_what_and_why() {
    let folder = Folder::new("access-explain");
    let server = Dev::start(&folder.0.join("data"));
    server.wait_until_ready();
    let create = ["--user", "ann", "create", "notes", "000000000000000000000000000000aa"];
    let (done, error) = explain(&server, &create);
    assert!(!done && error.contains("no rights are in effect"), "{error}");
    let rights = READ.replace("}}}}", r#"},"update":{"claim":{"is":{"contains":{"string":"lead"}},"name":"roles"}}}}"#);
    let file = write(&folder.0, "rights.json", &deployment(&rights));
    assert!(schema("apply", &file, &["--target", &url(&server)]).0);
    let with = |name: &str, text: &str| write(&folder.0, name, text).to_str().expect("plain").to_owned();
    let (bobs, likes) = (with("bobs.json", r#"{"author": "bob"}"#), with("likes.json", r#"{"stars": {"add": 1}}"#));
    let tree = r#"denied: table "notes": the rule "create" does not let this user
rule "create" of table "notes": it does not hold
  no  row.author = user.sub
        row.author is "bob"
        user.sub is "ann"
"#;
    assert_eq!(explain(&server, &[&create[..], &["--with", &bobs]].concat()), (true, tree.to_owned()));
    let (claims, update) = (with("claims.json", r#"{"roles": ["lead"]}"#), ["--with", &likes, "--claims"]);
    let gone = [&["--user", "ann", "update", "notes", create[4]], &update[..], &[&claims]].concat();
    assert_eq!(explain(&server, &gone), (true, "denied: table \"notes\": the row is not there\n".to_owned()));
    for (arguments, told) in [
        (vec!["--user", "ann", "read", "nots", "x"], r#"the schema has no table "nots": there are notes"#),
        (vec!["--user", "ann", "read", "notes", "x"], r#"column "id": "x" is no value of type id"#),
        (vec!["--user", "", "read", "notes", create[4]], "say who asks"),
        ([&create[..], &["--with", "/nowhere"]].concat(), "the file /nowhere cannot be read: it is what --with names"),
        (create.to_vec(), r#"column "author": it is required, so give it a value"#),
    ] {
        let (done, error) = explain(&server, &arguments);
        assert!(!done && error.contains(told), "{told}: {error}");
    }
}

#[test]
fn clumsy_commands_about_rights_are_told_what_to_do() {
    let folder = Folder::new("clumsy-rights");
    let issuer = Issuer::new(&folder.0);
    let options = issuer.options();
    let server = Dev::start_with(&folder.0.join("data"), &[&options[0], &options[1]]);
    let (target, file) = (url(&server), |name, text: &str| write(&folder.0, name, text));
    let users = file("users", &issuer.token("ann", Duration::from_secs(60)));
    let operators = file("operators", &server.token());
    let (users, operators) = (users.to_str().expect("plain"), operators.to_str().expect("plain"));
    let good = file("good.json", &deployment(READ));
    let own = |more: &[&str]| more.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>();
    let here = own(&["--target", &target, "--token-file", operators]);
    let module = |name, text: &str| (file(name, text), here.clone());
    for ((file, more), told) in [
        ((folder.0.join("rigths.ts"), here.clone()), "there is no such file"),
        ((folder.0.join("tokens.toml"), here.clone()), ".json, .js, .mjs, .ts or .mts"),
        ((good.clone(), own(&["--target", "http://127.0.0.1:1"])), "is the server running"),
        ((good.clone(), own(&["--target", &target])), "give its token file with --token-file"),
        ((good.clone(), own(&["--target", &target, "--token-file", users])), "this is not the operator's token"),
        (module("empty.json", ""), "this is no deployment"),
        (module("list.json", "[]"), "this is no deployment"),
        (module("half.json", r#"{"schema":{"tables":{}}}"#), "missing field `rights`"),
        (module("large.json", &"x".repeat(5 << 20)), "at most 4194304 bytes"),
        (module("none.mjs", "export const right = {};"), "it exports neither `rights` nor a default"),
        (module("function.mjs", "export const rights = () => 1;"), "what it exports is no data"),
        (module("ends.mjs", "console.log('hello'); process.exit(0)"), "it ended before it had exported anything"),
        (module("throws.mjs", "throw new Error('table notes lacks rights')"), "table notes lacks rights"),
        (module("lacks.mjs", "import './schema'"), "Node wants the whole name in an import"),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let (done, error) = schema("apply", &file, &more);
        assert!(!done && error.contains(told), "{}: {error}", file.display());
    }
    let mut without = Command::new(PROGRAM);
    without.args(["schema", "plan"]).arg(folder.0.join("none.mjs")).args(&here).env("PATH", "");
    assert!(said(&mut without).1.contains("there is no `node` on this machine's path"));
    let told = fails(&["--rights", "/nowhere/rights.ts"], &folder.0.join("other"));
    assert!(told.contains("--rights /nowhere/rights.ts: there is no such file"), "{told}");
}

#[test]
fn a_module_in_typescript_is_run_by_the_vite_of_its_project() {
    let folder = Folder::new("vite-rights");
    let server = Dev::start(&folder.0.join("data"));
    server.wait_until_ready();
    let vite = folder.0.join("node_modules/vite");
    write(&vite, "package.json", r#"{"type":"module","exports":"./index.js"}"#);
    let module = format!("({{ module: {{ default: {} }}, dependencies: [] }})", deployment(READ));
    write(&vite, "index.js", &format!("export const runnerImport = async () => {module};"));
    let file = write(&folder.0, "rights.ts", "console.log('never run by Node itself')");
    let (done, told) = schema("plan", &file, &["--target", &url(&server)]);
    assert!(done && told.starts_with("Version 1 would change:\n"), "{told}");
}

#[test]
fn iolite_dev_puts_rights_into_effect_at_the_start_and_when_the_file_is_written() {
    let folder = Folder::new("dev-rights");
    let module = |rights: &str| format!("console.log('hello');\nexport const rights = {};", deployment(rights));
    let file = write(&folder.0, "rights.mjs", &module(READ));
    let (errors, path) = (folder.0.join("errors"), file.to_str().expect("plain"));
    let server = Dev::start_with_errors(&folder.0.join("data"), &["--rights", path], &errors);
    let plan = |rights: &str| {
        let file = write(&folder.0, "wanted.json", &deployment(rights));
        schema("plan", &file, &["--target", &url(&server)]).1
    };
    until(|| plan(READ).starts_with("Version 1 is in effect"));
    write(&folder.0, "rights.mjs", &module(UNKNOWN));
    let said = || std::fs::read_to_string(&errors).expect("it is there");
    until(|| said().contains(r#"table "rooms": there is no such table"#));
    assert!(said().contains("the rights stay as they were") && said().contains(r#"table "nots""#), "{}", said());
    assert!(plan(READ).starts_with("Version 1 is in effect"), "the bad file changes nothing");
    let open = r#"{"tables":{"notes":"open"}}"#;
    write(&folder.0, "rights.mjs", &module(open));
    until(|| plan(open).starts_with("Version 2 is in effect"));
}

#[test]
fn all_gateways_have_the_rights_and_so_does_a_backup() {
    let folder = Folder::new("schema-backup");
    let [first, second, backup] = ["first", "second", "backup"].map(|name| folder.0.join(name));
    let path = |folder: &Path| folder.to_str().expect("plain letters").to_owned();
    let original = Local::start(&first, 1, 1, 2);
    let file = write(&folder.0, "rights.json", &deployment(READ));
    let ask = |local: &Local, gateway: &str, command: &str| {
        let address = local.node(gateway).address.expect("it has one");
        schema(command, &file, &["--target", &format!("http://{address}")])
    };
    until(|| ask(&original, "gateway-0", "apply").0);
    until(|| ask(&original, "gateway-1", "plan").1.starts_with("Version 1 is in effect"));
    succeeds(&["backup", "--data", &path(&first), "--to", &path(&backup)]);
    drop(original);
    let copy = Local::start(&second, 1, 1, 1);
    succeeds(&["restore", "--data", &path(&second), "--from", &path(&backup)]);
    until(|| ask(&copy, "gateway-0", "plan").1.starts_with("Version 1 is in effect"));
}

fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}
