//! A real PostgreSQL for a test: fresh, durable (fsync on), reached by a Unix socket, and gone when the test is, however it ends.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Debian's packages, which `scripts/setup` installs.
const BINARIES: &str = "/usr/lib/postgresql/15/bin";
const USER: &str = "iolite";

/// The shell stays between: when this process is gone, however it ended, its input ends, and it stops the server and removes the folder.
const RUN: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 -c log_min_messages=warning 2>"$2/log" >&2 &
server=$!
cat >/dev/null
kill -INT $server
wait $server
rm -rf "$2"
"#;

pub struct Server {
    folder: PathBuf,
    shell: Child,
}

/// PostgreSQL does not run as root.
struct Account {
    uid: u32,
    gid: u32,
}

impl Server {
    pub fn start() -> Server {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("iolite-postgres-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("the folder for temporary files can be written");
        let account = Account::for_servers();
        if let Some(account) = &account {
            chown(&folder, Some(account.uid), Some(account.gid)).expect("root may give folders away");
        }
        let mut create = Command::new(format!("{BINARIES}/initdb"));
        create.args(["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]);
        create.arg("--pgdata").arg(folder.join("data")).stdout(Stdio::null());
        let created = as_account(&mut create, account.as_ref()).status();
        let created = created.unwrap_or_else(|error| panic!("{BINARIES}/initdb: {error}: run scripts/setup"));
        assert!(created.success(), "initdb failed");
        let shell = Server::run(&folder, account.as_ref());
        let server = Server { folder, shell };
        server.wait_until_it_answers();
        server
    }

    fn run(folder: &Path, account: Option<&Account>) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", RUN, "postgres", BINARIES]).arg(folder).stdin(Stdio::piped());
        as_account(&mut shell, account).process_group(0).spawn().expect("there is a shell")
    }

    fn wait_until_it_answers(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let mut ask = Command::new(format!("{BINARIES}/pg_isready"));
            ask.arg("--quiet").arg("--host").arg(&self.folder);
            if ask.status().is_ok_and(|status| status.success()) {
                return;
            }
            assert!(Instant::now() < deadline, "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn database(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host_path(&self.folder).user(USER).dbname("postgres");
        config
    }

    /// What the server complained about.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Kills a backend. The server then ends all others, forgets what it had in memory, and recovers from what it had synced.
    #[allow(dead_code, reason = "not every test file crashes it")]
    pub fn crash(&self, backend: i32) {
        let killed = Command::new("kill").args(["-KILL", &backend.to_string()]).status().expect("there is kill");
        assert!(killed.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ends the shell's input, and so the server.
        drop(self.shell.stdin.take());
        // A test that has failed already says more than this could.
        let _ = self.shell.wait();
    }
}

impl Account {
    /// The one that Debian's package made; none when this process is not root's.
    fn for_servers() -> Option<Account> {
        let own = std::fs::metadata("/proc/self").expect("this is Linux").uid();
        (own == 0).then(|| {
            let users = std::fs::read_to_string("/etc/passwd").expect("there are users");
            let line = users.lines().find(|line| line.starts_with("postgres:")).expect("run scripts/setup");
            let numbers: Vec<u32> = line.split(':').skip(2).take(2).filter_map(|field| field.parse().ok()).collect();
            Account { uid: numbers[0], gid: numbers[1] }
        })
    }
}

fn as_account<'a>(command: &'a mut Command, account: Option<&Account>) -> &'a mut Command {
    match account {
        // Where it starts must be open to that account.
        Some(account) => command.uid(account.uid).gid(account.gid).current_dir("/"),
        None => command,
    }
}
