//! Objects in two languages and two processes: a class of this program, which has a server inside, and a class in Node. And Node as `iolite dev` starts it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use iolite::objects::{CallError, Context, Host, Ref, sapphire};

use crate::support::dev::{Dev, Folder, PATIENCE};
use crate::support::local::{fails, succeeds};

#[sapphire(name = "Account")]
#[derive(Default)]
struct Account {
    cents: i64,
}

#[sapphire::methods]
impl Account {
    #[read]
    fn cents(&self) -> i64 {
        self.cents
    }

    fn add(&mut self, cents: i64) -> Result<i64, String> {
        match self.cents.checked_add(cents) {
            Some(sum) if sum >= 0 => self.cents = sum,
            Some(_) | None => return Err(format!("{} cents are there", self.cents)),
        }
        Ok(self.cents)
    }

    /// Calls an object in Node, which calls this program again.
    async fn print(&mut self, _cx: &Context, printer: Ref<Printer>) -> Result<String, CallError> {
        printer.print(self.cents).await
    }
}

/// The class in Node, as its callers here see it.
#[sapphire(name = "Printer")]
struct Printer {}

#[sapphire::methods]
impl Printer {
    fn print(&mut self, _cents: i64) -> String {
        unreachable!("it runs in Node")
    }

    async fn collect(&mut self, _account: Ref<Account>, _cents: i64) -> i64 {
        unreachable!("it runs in Node")
    }
}

/// Creates its own object, and changes one of the Rust program's, whose error it understands.
const NODE: &str = r#"
import { CallError, connectObjects, defineObject } from "@iolite/objects";
class Account { cents() {} add(cents) {} }
defineObject("Account", Account, { read: ["cents"] });
class Printer {
  printed = 0;
  print(cents) { this.printed += 1; return `${cents / 100} (${this.printed})`; }
  async collect(account, cents) { return account.add(cents); }
}
defineObject("Printer", Printer, {});
const host = await connectObjects({ url: process.argv[1], token: process.argv[2], kind: "server", classes: [Printer, Account] });
await host.create(Printer, "office", new Printer());
const account = await host.find(Account, "ann");
await account.add(500);
const error = await account.add(-601).catch((error) => error);
if (!(error instanceof CallError) || error.kind !== "app" || error.ran !== "yes") throw new Error(`no error of the app: ${error}`);
console.log("ready");
"#;

/// Ends with the test.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn node(url: &str, token: &str) -> Node {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdks/typescript/objects");
    let arguments = ["--input-type=module", "--eval", NODE, url, token];
    let child = Command::new("node").args(arguments).current_dir(package).stdout(Stdio::piped()).spawn();
    let mut node = Node(child.expect("Node is installed"));
    let mut line = String::new();
    let out = node.0.stdout.take().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("it says something");
    assert_eq!(line, "ready\n", "Node has ended: was `make build` run?");
    node
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_and_node_call_each_other_through_a_server() {
    let server = Host::embedded().class::<Account>().start().await.expect("it starts");
    let account = server.create("ann", Account::default()).await.expect("it is new");
    let program = Host::connect(server.url(), server.token()).start().await.expect("it is let in");
    let from_program = program.find::<Account>("ann").await.expect("tracking answers").expect("it is there");
    assert_eq!(from_program.add(100).await, Ok(100));

    let (url, token) = (server.url().to_owned(), server.token().to_owned());
    let node = tokio::task::spawn_blocking(move || node(&url, &token)).await.expect("Node is ready");
    assert_eq!(account.cents().await, Ok(600));
    let printer = program.find::<Printer>("office").await.expect("tracking answers").expect("it is there");
    assert_eq!(printer.print(600).await, Ok("6 (1)".to_owned()));
    assert_eq!(printer.collect(from_program.clone(), 50).await, Ok(650), "a reference is passed on");
    assert_eq!(from_program.print(printer.clone()).await, Ok("6.5 (2)".to_owned()));

    drop(node);
    let ended = async {
        while printer.print(1).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), ended).await.expect("Node is gone");
    let error = printer.print(1).await.expect_err("Node is gone");
    assert_eq!(error.ran(), iolite::objects::Ran::No, "{error}");
}

/// A class that `iolite dev` has in Node.
#[sapphire(name = "Teller")]
#[derive(Default)]
struct Teller {}

#[sapphire::methods]
impl Teller {
    /// The process, and the name of its node.
    fn told(&mut self) -> (u64, String) {
        unreachable!("it runs in Node")
    }
}

const TELLER: &str = r#"
import { defineObject } from "@iolite/objects";
export class Teller { told() { return [process.pid, process.env.IOLITE_NODE]; } }
defineObject("Teller", Teller, {});
"#;

/// The word of a new object. Node may not be there yet, or end just now.
async fn told(host: &Host) -> (u64, String) {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let told = match host.create(None, Teller::default()).await {
            Ok(teller) => teller.told().await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match told {
            Ok(told) => return told,
            Err(error) => assert!(tokio::time::Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn node_starts_again_under_its_name_when_the_file_of_iolite_dev_is_written() {
    let folder = Folder::new("teller");
    let packages = folder.0.join("node_modules/@iolite");
    std::fs::create_dir_all(&packages).expect("it is new");
    let objects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdks/typescript/objects");
    std::os::unix::fs::symlink(objects, packages.join("objects")).expect("it is new");
    let file = folder.0.join("teller.js");
    std::fs::write(&file, TELLER).expect("it can be written");
    let mut dev = Dev::start_with(&folder.0.join("data"), &["--objects", file.to_str().expect("a path")]);
    let host = Host::connect(&dev.sync_url(), &dev.token()).start().await.expect("it is let in");
    let first = told(&host).await;
    std::fs::write(&file, TELLER).expect("it can be written");
    let restarted = async {
        loop {
            let second = told(&host).await;
            if second.0 != first.0 {
                return second;
            }
        }
    };
    let second = tokio::time::timeout(PATIENCE, restarted).await.expect("Node starts again");
    assert_eq!(first.1.len(), 32, "{first:?}");
    assert_eq!(first.1, second.1, "another process is the same node");
    dev.kill();
    // A process that has ended and that nobody has waited for has no command line.
    let is_there = || std::fs::read(format!("/proc/{}/cmdline", second.0)).is_ok_and(|line| !line.is_empty());
    let ended = async {
        while is_there() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("Node ends with the server, also if that is killed");
}

#[sapphire(name = "Ledger", managers = [ExplicitMigration])]
#[derive(Default)]
struct Ledger {
    lines: u64,
}

#[sapphire::methods]
impl Ledger {
    fn add(&mut self) -> u64 {
        self.lines += 1;
        self.lines
    }
}

#[sapphire(name = "Sign", managers = [KeepInPlace])]
#[derive(Default)]
struct Sign {}

#[sapphire::methods]
impl Sign {
    #[read]
    fn read(&self) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_lists_shows_and_moves_objects() {
    let folder = Folder::new("object-commands");
    let dev = Dev::start(&folder.0);
    let target = format!("http://127.0.0.1:{}", dev.port());
    let said =
        |arguments: &[&str]| succeeds(&[&["objects"][..], arguments, &["--target", target.as_str()][..]].concat());
    let refused =
        |arguments: &[&str]| fails(&[&["objects"][..], arguments, &["--target", target.as_str()][..]].concat());
    assert_eq!(said(&["list"]), "OBJECT  MANAGERS  EPOCH  LIVES AT\n");

    let connect = || Host::connect(&dev.sync_url(), &dev.token()).class::<Ledger>().class::<Sign>().serves().start();
    let hosts = [connect().await.expect("it is let in"), connect().await.expect("it is let in")];
    let nodes = hosts.each_ref().map(|host| host.node_id().expect("it is registered").to_string());
    let ledger = hosts[0].create("a & b/\u{e9} #1", Ledger::default()).await.expect("it is new");
    hosts[0].create("door", Sign::default()).await.expect("it is new");
    assert_eq!(ledger.add().await, Ok(1));
    let name = "Ledger/a & b/\u{e9} #1";
    let listed = said(&["list"]);
    let places: Vec<(&str, &str)> =
        listed.lines().skip(1).map(|line| line.split_at(line.find("  ").expect("columns"))).collect();
    assert!(places.len() == 2 && places[0].0 == name && places[1].0 == "Sign/door", "{listed}");
    let at = nodes.iter().position(|node| places[0].1.ends_with(node.as_str())).expect("it lives at one of them");
    assert_eq!(said(&["list", "--class", "Sign"]).lines().count(), 2);

    let shown = said(&["show", name]);
    let there = |node: &str| format!("lives at: {node} (it is there, connected to gateway-0)\n");
    assert!(shown.contains(&there(&nodes[at])) && shown.contains("epoch: 1\n"), "{shown}");
    let moved = said(&["move", name, &nodes[1 - at]]);
    assert!(moved.contains(&there(&nodes[1 - at])) && moved.contains("epoch: 2\n"), "{moved}");
    assert_eq!(ledger.add().await, Ok(2), "the same object");
    assert!(said(&["show", "--json", name]).contains("\"epoch\":2"));

    for (arguments, why) in [
        (["move", "Sign/door", nodes[0].as_str()], "under ExplicitMigration only, and its managers are KeepInPlace"),
        (["move", "Ledger/none", nodes[0].as_str()], "there is no object Ledger/none"),
        (["move", name, "gateway-7#1"], "its node or gateway-7#1 is not there"),
        (["move", name, "nowhere"], "\"nowhere\" is no node"),
        (["show", "--json", "Ledger"], "write CLASS/ID"),
    ] {
        let told = refused(&arguments);
        assert!(told.contains(why), "{arguments:?}: {told}");
    }
}
