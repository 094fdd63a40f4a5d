//! `iolite backup` and `iolite restore` with clusters of processes: taken under load, restored into another shape, and what a clumsy operator is told.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::object_rows::ObjectRows;
use crate::support::local::{Folder, Local, PATIENCE, PROGRAM, fails, succeeds};
use iolite::{CellState, Client, Mutators, Options, Schema, Value, View};
use iolite_backup::{Manifest, Part};
use iolite_cluster::{ClusterShape, LocalCluster, NodeState, Ports};
use iolite_values::{ColumnId, TableId};
use tokio::task::JoinHandle;

/// In several shards, some of which begin in their midst; money goes from them to as many vaults, which are in another table.
const ACCOUNTS: i64 = 60;
/// The one that nobody but depositors use.
const DEPOSITS: i64 = 1_000;

fn schema() -> Schema {
    let json = r#"{"tables": {
        "accounts": {"key": ["id"], "live": true, "columns": {"id": {"type": "int"}, "balance": {"type": "counter"}}},
        "vaults": {"key": ["id"], "live": true, "columns": {"id": {"type": "int"}, "balance": {"type": "counter"}}},
        "notes": {"key": ["name"], "columns": {"name": {"type": "string"}, "words": {"type": "list", "of": "string"},
            "tags": {"type": "set", "of": "string"}, "facts": {"type": "map", "of": "string"}, "place": {"type": "int"}}},
        "tallies": {"key": ["board"], "live": true, "consistency": "log", "log": "tally",
            "columns": {"board": {"type": "int"}, "words": {"type": "string", "default": ""}}}
    }}"#;
    Schema::from_json(json).expect("a valid schema")
}

fn mutators() -> Mutators {
    let transfer = |tx: &mut iolite::Transaction<'_>, (from, to, amount): (i64, i64, i64)| {
        tx.add("accounts", from, "balance", -amount)?;
        tx.add("vaults", to, "balance", amount)
    };
    Mutators::new()
        .with("transfer", transfer)
        .with("deposit", |tx, (account, amount): (i64, i64)| tx.add("accounts", account, "balance", amount))
        .with("essay", |tx, (name, length): (String, usize)| {
            tx.insert("notes", &name, [("place", Value::Int(0))])?;
            tx.append("notes", &name, "words", "x".repeat(length).as_str())
        })
        .operation("tally", "add", |tx, word: String| {
            let before = tally_of(tx)?;
            tx.set("tallies", 1, "words", format!("{before}{word}"))
        })
        .with("note", |tx, (name, place): (String, i64)| {
            tx.insert("notes", &name, [("place", Value::Int(place))])?;
            tx.append("notes", &name, "words", "first")?;
            tx.append("notes", &name, "words", name.as_str())?;
            tx.insert_member("notes", &name, "tags", "new")?;
            tx.put_entry("notes", &name, "facts", "by", "a test")
        })
}

fn tally_of(tx: &mut iolite::Transaction<'_>) -> iolite::Result<String> {
    Ok(match tx.cell("tallies", 1, "words")? {
        Some(CellState::Scalar(Value::String(words))) => words.to_string(),
        _ => String::new(),
    })
}

fn open(cluster: &Local, gateway: usize, options: Options) -> Client {
    Client::connect(&cluster.sync_url(gateway), cluster.token(), schema(), options.mutators(mutators())).expect("new")
}

/// Two shards, that cut the accounts in halves.
fn start(folder: &Path, splits: &[&str], replicas: u64) -> Local {
    let splits = splits.iter().map(|split| split.parse().expect("a place")).collect();
    let shape = ClusterShape { replicas, gateways: 1, splits, ports: Ports::Free, ..ClusterShape::default() };
    Local::of(folder, &shape)
}

fn path(folder: &Path) -> &str {
    folder.to_str().expect("plain letters")
}

async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("{what} takes too long"))
}

async fn balances(client: &Client) -> Vec<i64> {
    let read = client.read(View::Confirmed, |tx| {
        let rows = [tx.rows("accounts", &[])?, tx.rows("vaults", &[])?].concat();
        let own = rows.iter().filter(|row| row.key() != [Value::Int(DEPOSITS)]);
        own.map(|row| row.counter("balance")).collect::<iolite::Result<Vec<i64>>>()
    });
    (*within("a read", read).await.expect("it can be read")).clone()
}

async fn notes(client: &Client) -> BTreeSet<String> {
    let read = client.read(View::Confirmed, |tx| {
        let rows = tx.rows("notes", &[])?;
        Ok(rows.iter().map(|row| format!("{:?}", row.key())).collect::<BTreeSet<String>>())
    });
    (*within("a read", read).await.expect("it can be read")).clone()
}

/// Clients that go on until it is enough: one moves money, the others take notes.
struct Load {
    enough: Arc<AtomicBool>,
    transfers: JoinHandle<u64>,
    notes: Vec<JoinHandle<u64>>,
}

impl Load {
    fn start(cluster: &Local, number: i64) -> Load {
        let enough = Arc::new(AtomicBool::new(false));
        let client = open(cluster, 0, Options::new());
        let own = Arc::clone(&enough);
        let transfers = tokio::spawn(async move {
            let mut done = 0;
            while !own.load(Ordering::Relaxed) {
                let (from, to) = (done as i64 % (ACCOUNTS / 2), ACCOUNTS - 1 - done as i64 % (ACCOUNTS / 2));
                let sent = client.mutate("transfer", &(from, to, 1 + done as i64 % 7)).expect("called");
                sent.confirmed().await.expect("it is done once, by whoever asks");
                done += 1;
            }
            done
        });
        let numbers = [2 * number, 2 * number + 1].into_iter();
        let notes =
            numbers.map(|own| tokio::spawn(take_notes(open(cluster, 0, Options::new()), own, Arc::clone(&enough))));
        Load { enough: Arc::clone(&enough), transfers, notes: notes.collect() }
    }

    async fn end(self) -> (u64, u64) {
        self.enough.store(true, Ordering::Relaxed);
        let transfers = within("the load", self.transfers).await.expect("it did not panic");
        let mut notes = 0;
        for own in self.notes {
            notes += within("the load", own).await.expect("it did not panic");
        }
        (transfers, notes)
    }
}

async fn take_notes(client: Client, number: i64, enough: Arc<AtomicBool>) -> u64 {
    let mut done = 0;
    while !enough.load(Ordering::Relaxed) {
        let sent = client.mutate("note", &(format!("{number}.{done}"), number)).expect("called");
        sent.confirmed().await.expect("it is done once, by whoever asks");
        done += 1;
    }
    done
}

/// A client whose last mutation is done, and the folder of its device as it was when that was only about to be sent.
async fn deposit_and_forget(cluster: &Local, devices: &Path) -> std::path::PathBuf {
    let (device, before) = (devices.join("device"), devices.join("before"));
    let client = open(cluster, 0, Options::new().directory(&device));
    within("a deposit", client.mutate("deposit", &(DEPOSITS, 1)).expect("called").confirmed())
        .await
        .expect("confirmed");
    client.go_offline();
    let deposit = client.mutate("deposit", &(DEPOSITS, 7)).expect("called");
    within("a deposit", deposit.durable()).await.expect("it is on the device");
    let copied = std::process::Command::new("cp").arg("-r").args([&device, &before]).status();
    assert!(copied.expect("there is cp").success());
    client.go_online();
    within("a deposit", deposit.confirmed()).await.expect("confirmed");
    before
}

async fn deposited(client: &Client) -> i64 {
    let read = client.read(View::Confirmed, |tx| tx.counter("accounts", DEPOSITS, "balance"));
    *within("a read", read).await.expect("it can be read")
}

/// The device is as it was when it had not heard of its deposit, which is in the backup.
async fn the_device_is_told_what_its_deposit_came_to(restored: &Local, device: &Path, client: &Client) {
    assert_eq!(deposited(client).await, 8);
    let again = open(restored, 0, Options::new().directory(device));
    let pending = again.pending();
    assert_eq!(pending.len(), 1, "{pending:?}");
    let handle = again.mutation(pending[0].counter).expect("it is pending");
    within("the deposit's outcome", handle.confirmed()).await.expect("it has the outcome that it had");
    assert_eq!(deposited(&again).await, 8, "it was not done twice");
    assert!(again.refused().is_empty());
    // And the cluster goes on.
    within("a deposit", again.mutate("deposit", &(DEPOSITS, 2)).expect("called").confirmed()).await.expect("confirmed");
    assert_eq!(deposited(&again).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_one_moment_and_is_restored_into_another_shape() {
    let folder = Folder::new("backup");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let (first, second, backup) = (folder.0.join("first"), folder.0.join("second"), folder.0.join("backup"));
    let mut cluster = start(&first, &["accounts:30"], 3);
    let device = deposit_and_forget(&cluster, &folder.0).await;
    let before = open(&cluster, 0, Options::new());
    let load = Load::start(&cluster, 0);
    let mut settled = before.settled();
    for number in 0..30 {
        before.mutate("note", &(format!("before.{number}"), number)).expect("called");
        within("a note", settled.recv()).await.expect("the client is open");
    }
    let acknowledged = notes(&before).await;
    let log = before.log("tally", 1).expect("the schema has it");
    for word in ["a", "b", "c"] {
        within("an operation", log.run("add", word).expect("called").confirmed()).await.expect("confirmed");
    }
    let mut objects = ObjectRows::of(&cluster);
    objects.register().await;
    objects.begin().await;
    let (object, _) = objects.all().await;
    let (config, to) = (path(&first).to_owned(), path(&backup).to_owned());
    let taken = tokio::task::spawn_blocking(move || succeeds(&["backup", "--data", &config, "--to", &to]));
    let taken = within("the backup", taken).await.expect("it did not panic");
    assert!(taken.contains("8 tables"), "{taken}");
    within("a note", before.mutate("note", &("after", 1)).expect("called").confirmed()).await.expect("confirmed");
    let (transfers, many) = load.end().await;
    assert!(transfers > 0 && many > 0);
    let afterwards = notes(&before).await;
    cluster.kill(&[]);
    drop(cluster);

    let restored = start(&second, &["accounts:10", "accounts:50", "notes"], 1);
    let told = succeeds(&["restore", "--data", path(&second), "--from", path(&backup)]);
    assert!(told.contains("restored, read back and compared"), "{told}");
    assert!(object.is_some(), "it has begun");
    assert_eq!(ObjectRows::of(&restored).all().await, (object, 0), "nodes and buckets are not in a backup");
    let client = open(&restored, 0, Options::new());
    let found = notes(&client).await;
    assert!(found.is_superset(&acknowledged), "what was acknowledged before is there");
    assert!(found.is_subset(&afterwards) && !found.contains("[String(\"after\")]"), "and nothing of later");
    let balances = balances(&client).await;
    assert_eq!(balances.iter().sum::<i64>(), 0, "all of a transfer or nothing: {balances:?}");
    assert!(balances.iter().any(|balance| *balance != 0), "there were some");

    let _log = client.log("tally", 1).expect("the schema has it");
    let mut tally = client.react(View::Confirmed, tally_of);
    let replayed = async { while **tally.next().await.expect("it can be read") != *"abc" {} };
    within("the log", replayed).await;

    the_device_is_told_what_its_deposit_came_to(&restored, &device, &client).await;
    let again = fails(&["restore", "--data", path(&second), "--from", path(&backup)]);
    assert!(again.contains("was restored already, whole and compared"), "{again}");
    let other = folder.0.join("other");
    succeeds(&["backup", "--data", path(&second), "--to", path(&other)]);
    let third = folder.0.join("third");
    let cluster = start(&third, &[], 1);
    ObjectRows::of(&cluster).register().await;
    let used = fails(&["restore", "--data", path(&third), "--from", path(&other)]);
    assert!(used.contains("the store is not empty") && used.contains("a node of objects has registered"), "{used}");
}

/// The balances that the files of a backup say.
fn balances_in(backup: &Path) -> Vec<i64> {
    let read = |name: &str| std::fs::read(backup.join(name)).expect("it was written");
    let manifest = Manifest::decode(&read("manifest.json")).expect("our own");
    let (tables, column) = (["accounts", "vaults"].map(TableId::of), ColumnId::of("balance"));
    let mut balances = Vec::new();
    for part in &manifest.parts {
        let Part::Rows(rows) = Part::decode(&read(&part.name)).expect("our own") else { continue };
        for row in rows.iter().filter(|row| tables.contains(&row.table)) {
            let Some(CellState::Counter(balance)) = row.row.cell(column) else { panic!("a balance: {row:?}") };
            balances.push(*balance);
        }
    }
    balances
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_taken_a_backup_shows_one_moment_of_all_shards() {
    let folder = Folder::new("moments");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let data = folder.0.join("cluster");
    let cluster = start(&data, &["accounts:10", "accounts:20", "accounts:40", "accounts:50"], 1);
    let loads = [0, 1, 2].map(|number| Load::start(&cluster, number));
    let watching = open(&cluster, 0, Options::new());
    // What is between accounts and vaults takes a while.
    for number in 0..8 {
        let sent = watching.mutate("essay", &(format!("essay.{number}"), 400_000)).expect("called");
        within("an essay", sent.confirmed()).await.expect("confirmed");
    }
    let mut last = Vec::new();
    for number in 0..5 {
        let (from, to) = (path(&data).to_owned(), folder.0.join(format!("{number}")));
        let taken = to.clone();
        let take = move || succeeds(&["backup", "--data", &from, "--to", path(&taken)]);
        within("a backup", tokio::task::spawn_blocking(take)).await.expect("it did not panic");
        let balances = balances_in(&to);
        assert_eq!(balances.iter().sum::<i64>(), 0, "backup {number}: all of a transfer or nothing: {balances:?}");
        assert!(balances.is_empty() || balances != last, "the load goes on");
        last = balances;
        within("a deposit", watching.mutate("deposit", &(0, 0)).expect("called").confirmed()).await.expect("confirmed");
    }
    assert!(last.len() > 40, "accounts of all shards were used: {last:?}");
    for load in loads {
        load.end().await;
    }
}

/// A backup of a few notes, of a cluster that is gone.
async fn backup_of_notes(folder: &Path) -> std::path::PathBuf {
    std::fs::create_dir_all(folder).expect("a temporary folder");
    let (origin, backup) = (folder.join("origin"), folder.join("backup"));
    let cluster = start(&origin, &[], 1);
    let client = open(&cluster, 0, Options::new());
    for number in 0..20 {
        let sent = client.mutate("note", &(format!("{number}"), number)).expect("called");
        within("a note", sent.confirmed()).await.expect("confirmed");
    }
    succeeds(&["backup", "--data", path(&origin), "--to", path(&backup)]);
    let again = fails(&["backup", "--data", path(&origin), "--to", path(&backup)]);
    assert!(again.contains("there is a backup in") && again.contains("choose another place"), "{again}");
    let own = fails(&["restore", "--data", path(&origin), "--from", path(&backup)]);
    assert!(own.contains("this is the cluster that the backup is of"), "{own}");
    backup
}

/// All of them, and each once.
async fn expect_notes_of_the_backup(client: &Client) {
    assert_eq!(notes(client).await.len(), 20);
    let words = client.read(View::Confirmed, |tx| tx.cell("notes", "7", "words"));
    let words = within("a read", words).await.expect("it can be read");
    assert_eq!(*words, Some(CellState::List(vec![Value::from("first"), Value::from("7")])), "appended once each");
}

fn is_ready(cluster: &Local) -> bool {
    let gateway = cluster.cluster.gateways().next().expect("it has one");
    matches!(gateway.state().expect("it can be asked"), NodeState::Ready { .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_half_restored_is_served_to_nobody_and_a_restore_goes_on_where_it_was() {
    let folder = Folder::new("half");
    let backup = backup_of_notes(&folder.0).await;
    let (manifest, second) = (backup.join("manifest.json"), folder.0.join("second"));
    let bytes = std::fs::read(&manifest).expect("it was written");
    let mut wrong = Manifest::decode(&bytes).expect("our own");
    wrong.tables.last_mut().expect("it has tables").sha256 = "0".repeat(64);
    std::fs::write(&manifest, wrong.encode()).expect("it can be written");
    let cluster = start(&second, &["notes"], 1);
    let different = fails(&["restore", "--data", path(&second), "--from", path(&backup)]);
    assert!(different.contains("the cluster serves nobody") && different.contains("Run it again"), "{different}");
    assert!(different.contains("what was restored is not what the backup says"), "{different}");
    // Gateways see the mark before any row: feeds are in the order of time.
    let begun = std::time::Instant::now();
    while is_ready(&cluster) {
        assert!(begun.elapsed() < PATIENCE, "the gateway does not see the mark");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let client = open(&cluster, 0, Options::new());
    let read = client.read(View::Confirmed, |tx| Ok(tx.rows("notes", &[])?.len()));
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), read).await.is_err(), "it is served");
    let other = folder.0.join("other");
    succeeds(&["cluster", "up", "--data", path(&other), "--port", "0", "--replicas", "1"]);
    succeeds(&["backup", "--data", path(&other), "--to", path(&folder.0.join("empty"))]);
    succeeds(&["cluster", "down", "--data", path(&other)]);
    let another = fails(&["restore", "--data", path(&second), "--from", path(&folder.0.join("empty"))]);
    assert!(another.contains("is being restored into this store"), "{another}");
    let copied = fails(&["backup", "--data", path(&second), "--to", path(&folder.0.join("copy"))]);
    assert!(copied.contains("is being restored into this store"), "{copied}");

    std::fs::write(&manifest, bytes).expect("it can be written");
    succeeds(&["restore", "--data", path(&second), "--from", path(&backup)]);
    expect_notes_of_the_backup(&client).await;
}

/// Wherever it was killed: it goes on, or it had ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_at_any_moment_ends_and_says_so() {
    let folder = Folder::new("killed-restore");
    let (backup, second) = (backup_of_notes(&folder.0).await, folder.0.join("second"));
    let cluster = start(&second, &["notes"], 1);
    let restore = ["restore", "--data", path(&second), "--from", path(&backup)];
    for millis in [30, 80, 130, 180, 230, 280, 350, 450, 600, 800, 1_100, 1_500] {
        let mut command = Command::new(PROGRAM);
        let started = command.args(restore).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut tool = started.expect("the program can be run");
        tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
        let _ = tool.kill();
        tool.wait().expect("it was started");
    }
    let ended = Command::new(PROGRAM).args(restore).output().expect("the program can be run");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() || said.contains("was restored already"), "{said}");
    expect_notes_of_the_backup(&open(&cluster, 0, Options::new())).await;
    let again = fails(&restore);
    assert!(again.contains("was restored already"), "{again}");
}

/// As by two operators who do not know of each other.
#[tokio::test(flavor = "multi_thread")]
async fn two_restores_of_a_backup_at_once_end_as_one() {
    let folder = Folder::new("two-restores");
    let (backup, second) = (backup_of_notes(&folder.0).await, folder.0.join("second"));
    let cluster = start(&second, &["notes"], 1);
    let restore = ["restore", "--data", path(&second), "--from", path(&backup)];
    // Commands have a number each, or the later one takes the links of the other.
    let start_one = |number: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(restore).args(["--number", number]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program can be run")
    };
    let both = ["4090", "4091"].map(start_one).map(|tool| tool.wait_with_output().expect("it was started"));
    let said = both.each_ref().map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    let have_ended = both.each_ref().map(|output| output.status.success());
    assert!(have_ended.contains(&true), "{said:?}");
    for (has_ended, said) in have_ended.into_iter().zip(&said) {
        assert!(has_ended || said.contains("was restored already"), "{said}");
    }
    expect_notes_of_the_backup(&open(&cluster, 0, Options::new())).await;
}

/// A server of S3's protocol, which is installed with the packages of the TypeScript tests.
struct S3 {
    server: Child,
    address: String,
}

impl S3 {
    fn start(data: &Path) -> S3 {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../node_modules/.bin/s3rver");
        assert!(program.exists(), "{} is missing: run scripts/setup", program.display());
        let loopback = "127.0.0.1".parse().expect("an address");
        let port = iolite_cluster::free_ports(&[loopback], 1).expect("one is free")[0];
        let mut command = Command::new(program);
        command.args([
            "--address",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--configure-bucket",
            "backups",
            "--silent",
        ]);
        let server = command.arg("--directory").arg(data).spawn().expect("there is node");
        let begun = std::time::Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "s3rver does not start");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        S3 { server, address: format!("http://127.0.0.1:{port}") }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env("AWS_ENDPOINT", &self.address).env("AWS_ALLOW_HTTP", "true");
        command
            .env("AWS_ACCESS_KEY_ID", "S3RVER")
            .env("AWS_SECRET_ACCESS_KEY", "S3RVER")
            .env("AWS_REGION", "eu-west-1");
        command.output().expect("the program can be run")
    }

    fn succeeds(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "it did not fail: {arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_several_parts_goes_to_s3_and_comes_back() {
    let folder = Folder::new("s3");
    std::fs::create_dir_all(folder.0.join("s3")).expect("a temporary folder");
    let (first, second, files) =
        (folder.0.join("first"), folder.0.join("second"), folder.0.join("s3/backups/daily/one"));
    let s3 = S3::start(&folder.0.join("s3"));
    let cluster = start(&first, &[], 1);
    let client = open(&cluster, 0, Options::new());
    for number in 0..24 {
        let sent = client.mutate("essay", &(format!("{number}"), 400_000)).expect("called");
        within("an essay", sent.confirmed()).await.expect("confirmed");
    }
    let (to, from) = ("s3://backups/daily/one", "s3://backups/daily/one/");
    s3.succeeds(&["backup", "--data", path(&first), "--to", to]);
    let manifest = Manifest::decode(&file_of(&files.join("manifest.json"))).expect("our own");
    assert!(manifest.parts.len() >= 3, "rows in two parts, and completion records: {:?}", manifest.parts);
    let again = s3.fails(&["backup", "--data", path(&first), "--to", to]);
    assert!(again.contains("there is a backup in s3://backups/daily/one already"), "{again}");
    drop(cluster);

    let restored = start(&second, &[], 1);
    let none = s3.fails(&["restore", "--data", path(&second), "--from", "s3://backups/daily/two"]);
    assert!(none.contains("there is no backup in s3://backups/daily/two"), "{none}");
    let nowhere = s3.fails(&["restore", "--data", path(&second), "--from", "s3://nowhere/one"]);
    assert!(nowhere.contains("NoSuchBucket") && nowhere.contains("Correct the address"), "{nowhere}");
    s3.succeeds(&["restore", "--data", path(&second), "--from", from]);
    let client = open(&restored, 0, Options::new());
    assert_eq!(notes(&client).await.len(), 24);
}

/// As s3rver keeps it.
fn file_of(path: &Path) -> Vec<u8> {
    std::fs::read(format!("{}._S3rver_object", path.display())).expect("it was put")
}

#[test]
fn what_a_clumsy_operator_does_to_backups_is_told() {
    let folder = Folder::new("clumsy-backup");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let (data, to) = (folder.0.join("cluster"), folder.0.join("backup"));
    let nothing = fails(&["backup", "--data", path(&data), "--to", path(&to)]);
    assert!(nothing.contains("cluster"), "{nothing}");
    let cluster = start(&data, &[], 1);
    let config = data.join("cluster.toml");
    let bare = fails(&["backup", "--cluster", path(&config), "--to", path(&to)]);
    assert!(bare.contains("give the certificate of gateway-4094 with --certificates"), "{bare}");
    std::fs::create_dir(&to).expect("it can be made");
    std::fs::write(to.join("thesis.txt"), "finished").expect("it can be written");
    let full = fails(&["backup", "--data", path(&data), "--to", path(&to)]);
    assert!(full.contains("is not empty") && full.contains("choose another place"), "{full}");
    let file = to.join("thesis.txt");
    let no_folder = fails(&["backup", "--data", path(&data), "--to", path(&file)]);
    assert!(
        no_folder.contains("thesis.txt cannot be used") || no_folder.contains("thesis.txt/manifest.json"),
        "{no_folder}"
    );
    let unfinished = fails(&["check-backup", "--from", path(&to)]);
    assert!(unfinished.contains("was not finished"), "{unfinished}");
    // The number of a gateway that works, of an operator, and of nobody.
    for number in ["0", "4095", "5000"] {
        let told = fails(&["backup", "--data", path(&data), "--number", number, "--to", path(&folder.0.join("x"))]);
        assert!(told.contains("one of 4032 to 4094"), "{told}");
    }
    assert!(
        LocalCluster::open(&data).expect("it was made").unready().expect("it is whole").is_empty(),
        "its gateway works"
    );
    // By the cluster's file, with a certificate of the operator's own.
    let (authority, own) = (data.join("authority"), folder.0.join("own"));
    succeeds(&["certificate", "issue", "gateway-4077", "--authority", path(&authority), "--into", path(&own)]);
    let there = folder.0.join("there");
    let by_file =
        ["backup", "--cluster", path(&config), "--certificates", path(&own), "--number", "4077", "--to", path(&there)];
    succeeds(&by_file);
    assert!(there.join("manifest.json").is_file());
    drop(cluster);
}
