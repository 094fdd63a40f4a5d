//! A Java program that the tests start, and what they ask it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

const NO_JDK: &str = "these tests need OpenJDK 17: `make setup` installs it";

/// A running `Held.java`, killed when this is dropped.
pub struct Program {
    child: Child,
    orders: ChildStdin,
    lines: BufReader<ChildStdout>,
}

/// The folder of Debian's OpenJDK 17: its name ends with the machine's architecture.
fn tool(name: &str) -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib/jvm").expect(NO_JDK);
    let paths = folders.filter_map(Result::ok).filter(|folder| {
        let name = folder.file_name();
        name.to_string_lossy().starts_with("java-17-openjdk-")
    });
    paths.map(|folder| folder.path().join("bin").join(name)).find(|path| path.is_file()).expect(NO_JDK)
}

/// The folder of the compiled classes, compiled once for all tests.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memoryd-jvm");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/jvm/Held.java");
        let compiled = Command::new(tool("javac")).arg("-d").arg(&folder).arg(source).output().expect(NO_JDK);
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        folder
    })
}

impl Program {
    /// Starts the program with so many entries, each an array of 2 to 10 KiB.
    pub fn start(entries: usize) -> Program {
        let mut command = Command::new(tool("java"));
        command.args(["-Xmx256m", "-XX:+UseG1GC", "-cp"]).arg(classes()).arg("Held").arg(entries.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the JDK is there");
        let orders = child.stdin.take().expect("it is a pipe");
        let lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut program = Program { child, orders, lines };
        assert_eq!(program.line(), "up");
        program
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends an order without waiting for its answer.
    pub fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("the program reads");
    }

    /// The next line that the program prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it prints text");
        line.trim().to_owned()
    }

    pub fn ask(&mut self, order: &str) -> String {
        self.order(order);
        self.line()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.pid()).expect("process numbers are small");
        let pid = rustix::process::Pid::from_raw(pid).expect("process numbers are positive");
        rustix::process::kill_process(pid, signal).expect("it is our child");
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// The file that its arrays are saved in. It has no name any more.
    pub fn swap_file(&self) -> std::fs::File {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("it runs");
        let is_swap = |path: &PathBuf| {
            let target = std::fs::read_link(path).unwrap_or_default();
            target.starts_with(std::env::temp_dir()) && target.to_string_lossy().ends_with("(deleted)")
        };
        let path = files.filter_map(Result::ok).map(|file| file.path()).find(is_swap).expect("it has a swap file");
        std::fs::OpenOptions::new().write(true).open(path).expect("it is of this user")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
