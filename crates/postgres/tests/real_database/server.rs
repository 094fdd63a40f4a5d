//! A real PostgreSQL for a test: fresh, durable (fsync on), reached by a Unix socket, and gone when the test is, however it ends.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Debian's packages, which `scripts/setup` installs.
const BINARIES: &str = "/usr/lib/postgresql/15/bin";
pub const USER: &str = "iolite";

/// The shell stays between: when this process is gone, however it ended, its input ends, and it stops the server and removes the folder. A line of
/// its input kills every process of the server, as a crash of the machine would, or starts it again on what it had synced.
const RUN: &str = r#"
binaries=$1
folder=$2
shift 2
start() {
    "$binaries/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c max_connections=200 -c log_min_messages=warning "$@" \
        2>>"$folder/log" >&2 </dev/null &
    server=$!
}
start "$@"
while read -r word; do
    case $word in
    kill)
        # Held first, so that none begins another one meanwhile.
        kill -STOP $server
        children=$(cat /proc/$server/task/$server/children)
        kill -KILL $children $server 2>/dev/null
        wait $server 2>/dev/null
        # Nobody may wait for these, but as long as one runs, it holds the shared memory.
        for child in $children; do
            while grep -qs '^State:[[:space:]]*[^ZX]' /proc/$child/status; do sleep 0.01; done
        done
        echo killed
        ;;
    start) start "$@" ;;
    esac
done
# Its folder goes with it, so there is no use in a last checkpoint, which is slow.
kill -QUIT $server
wait $server
rm -rf "$folder"
"#;

pub struct Server {
    folder: PathBuf,
    port: u16,
    shell: Child,
}

/// PostgreSQL does not run as root.
struct Account {
    uid: u32,
    gid: u32,
}

impl Server {
    pub fn start() -> Server {
        Server::start_with(5432, &[], &[])
    }

    /// With these files in its folder, which only it may read, and these settings.
    pub fn start_with(port: u16, files: &[(&str, &str)], settings: &[&str]) -> Server {
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
        for (name, content) in files {
            let file = folder.join("data").join(name);
            std::fs::write(&file, content).expect("the folder can be written");
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("its own file");
            if let Some(account) = &account {
                chown(&file, Some(account.uid), Some(account.gid)).expect("root may give files away");
            }
        }
        let shell = Server::run(&folder, port, settings, account.as_ref());
        let server = Server { folder, port, shell };
        server.wait_until_it_answers();
        server
    }

    fn run(folder: &Path, port: u16, settings: &[&str], account: Option<&Account>) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", RUN, "postgres", BINARIES]).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        shell.args(["-p", &port.to_string()]).args(settings.iter().flat_map(|setting| ["-c", setting]));
        as_account(&mut shell, account).process_group(0).spawn().expect("there is a shell")
    }

    fn wait_until_it_answers(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let mut ask = Command::new(format!("{BINARIES}/pg_isready"));
            ask.arg("--quiet").args(["--port", &self.port.to_string()]).arg("--host").arg(&self.folder);
            if ask.status().is_ok_and(|status| status.success()) {
                return;
            }
            assert!(Instant::now() < deadline, "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGKILL to every process of the server.
    pub fn kill(&mut self) {
        self.tell("kill");
        let mut said = [0; "killed\n".len()];
        self.shell.stdout.as_mut().expect("it is piped").read_exact(&mut said).expect("the shell does it");
    }

    /// After [`Server::kill`].
    pub fn start_again(&mut self) {
        self.tell("start");
        self.wait_until_it_answers();
    }

    fn tell(&mut self, word: &str) {
        writeln!(self.shell.stdin.as_mut().expect("it is piped"), "{word}").expect("the shell reads");
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its Unix socket is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn database(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host_path(&self.folder).port(self.port).user(USER).dbname("postgres");
        config
    }

    /// What the server complained about.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Kills a backend. The server then ends all others, forgets what it had in memory, and recovers from what it had synced.
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
