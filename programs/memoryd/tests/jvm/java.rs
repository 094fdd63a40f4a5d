//! A Java program that the tests start, and what they ask it.

use std::ffi::OsStr;
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

/// A program of Debian's OpenJDK 17: the name of its folder ends with the machine's architecture.
fn tool(name: &str) -> PathBuf {
    let is_debians = |folder: &str| folder.starts_with("java-17-openjdk-");
    tools(name).find(|path| path.iter().any(|part| part.to_str().is_some_and(is_debians))).expect(NO_JDK)
}

fn tools(name: &str) -> impl Iterator<Item = PathBuf> {
    let folders = std::fs::read_dir("/usr/lib/jvm").expect(NO_JDK);
    folders.filter_map(Result::ok).map(move |folder| folder.path().join("bin").join(name)).filter(|path| path.is_file())
}

/// The `java` of an OpenJDK with virtual threads, if this machine has one: the newest release in `/usr/lib/jvm`.
pub fn later_java() -> Option<PathBuf> {
    let release_of = |java: &PathBuf| {
        let said = std::fs::read_to_string(java.parent()?.parent()?.join("release")).ok()?;
        let version = said.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
        version.split(['.', '"']).next()?.parse::<u32>().ok().filter(|&release| release >= 21)
    };
    tools("java").filter(|java| release_of(java).is_some()).max_by_key(release_of)
}

/// The folder of the compiled classes, compiled once for all tests.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| compiled("Held.java", OsStr::new("")))
}

fn compiled(source: &str, path: &OsStr) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memoryd-jvm");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm").join(source);
    let compiled = Command::new(tool("javac")).arg("-cp").arg(path).arg("-d").arg(&folder).arg(source).output();
    let compiled = compiled.expect(NO_JDK);
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    folder
}

/// A jar that Maven brings from Maven Central, by its group, name and version; `None` where it cannot.
fn jar(artifact: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memoryd-jars");
    let mut parts = artifact.split(':').skip(1);
    let jar = folder.join(format!("{}-{}.jar", parts.next()?, parts.next()?));
    if !jar.is_file() {
        let mut maven = Command::new("mvn");
        maven.args(["-q", "dependency:copy", &format!("-Dartifact={artifact}")]);
        // What Maven says of its network is no part of the test.
        let _ = maven.arg(format!("-DoutputDirectory={}", folder.display())).output();
    }
    jar.is_file().then_some(jar)
}

/// A program around a library that nobody here wrote: a source of `real`, and the jars that it needs.
pub struct Real {
    pub class: &'static str,
    pub artifacts: &'static [&'static str],
}

pub const REAL: [Real; 5] = [
    Real { class: "Database", artifacts: &["com.h2database:h2:2.3.232"] },
    Real { class: "Cached", artifacts: &["com.github.ben-manes.caffeine:caffeine:3.2.0"] },
    Real { class: "Searched", artifacts: &["org.apache.lucene:lucene-core:9.12.1"] },
    Real {
        class: "Printed",
        artifacts: &[
            "org.apache.pdfbox:pdfbox:3.0.4",
            "org.apache.pdfbox:pdfbox-io:3.0.4",
            "org.apache.pdfbox:fontbox:3.0.4",
            "commons-logging:commons-logging:1.3.4",
        ],
    },
    // The compiler is the JDK's own.
    Real { class: "Compiled", artifacts: &[] },
];

impl Real {
    /// Starts it; `None` where a jar cannot be had.
    pub fn start(&self) -> Option<Program> {
        let jars: Option<Vec<PathBuf>> = self.artifacts.iter().map(|artifact| jar(artifact)).collect();
        let mut path = std::env::join_paths(jars?).expect("no folder has a colon");
        path.push(":");
        let classes = compiled(&format!("real/{}.java", self.class), &path);
        path.push(&classes);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/Held.java");
        let mut command = Command::new(tool("java"));
        command.args(["-Xmx1g", "-XX:+UseG1GC", "-cp"]).arg(path).arg(self.class).arg(source);
        Some(Program::start_by(command.stderr(Stdio::null())))
    }
}

impl Program {
    /// Starts the program with so many entries, each an array of 2 to 10 KiB.
    pub fn start(entries: usize) -> Program {
        Program::start_with(&tool("java"), entries)
    }

    /// The same, with another release.
    pub fn start_with(java: &Path, entries: usize) -> Program {
        let mut command = Command::new(java);
        command.args(["-Xmx256m", "-XX:+UseG1GC", "-cp"]).arg(classes()).arg("Held").arg(entries.to_string());
        Program::start_by(&mut command)
    }

    fn start_by(command: &mut Command) -> Program {
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

    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel says it");
        line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).expect("it is a number") * 1024
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
        std::fs::OpenOptions::new().read(true).write(true).open(path).expect("it is of this user")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
