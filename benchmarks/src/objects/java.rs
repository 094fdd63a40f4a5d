//! Peers in Java: the JDK that `make setup` installs, Thrift's compiler and library, and the programs in `benchmarks/baselines/objects`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::part::PartProcess;

/// A program, compiled for this run.
pub struct Java {
    java: PathBuf,
    class: &'static str,
    class_path: OsString,
    version: String,
}

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baselines/objects");
/// Where `scripts/setup-thrift` puts the library.
const THRIFT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/thrift");
const THRIFT_VERSION: &str = "0.17.0";
const JARS: [&str; 3] = ["libthrift-0.17.0.jar", "slf4j-api-1.7.36.jar", "slf4j-nop-1.7.36.jar"];
const NO_JDK: &str = "rmi and thrift need OpenJDK 17 (Debian's openjdk-17-jdk-headless): run `make setup`";
const NO_THRIFT: &str =
    "thrift needs Debian's thrift-compiler 0.17 and libthrift 0.17.0 of Maven Central: run `scripts/setup-thrift`";

impl Java {
    /// # Errors
    /// When there is no JDK, or the program cannot be compiled.
    pub fn rmi(folder: &Path) -> anyhow::Result<Java> {
        let jdk = Jdk::find()?;
        let classes = folder.join("rmi");
        jdk.compile("RmiPeer", &[], &classes, classes.as_os_str())?;
        let version = format!("OpenJDK {}", jdk.version);
        Ok(Java { java: jdk.program("java"), class: "RmiPeer", class_path: classes.into(), version })
    }

    /// # Errors
    /// When there is no JDK or no Thrift, or the program cannot be compiled.
    pub fn thrift(folder: &Path) -> anyhow::Result<Java> {
        let jdk = Jdk::find()?;
        let classes = folder.join("thrift");
        let jars = JARS.map(|jar| Path::new(THRIFT).join(jar));
        if jars.iter().any(|jar| !jar.is_file()) {
            bail!(NO_THRIFT);
        }
        let generated = generate(&classes)?;
        let class_path = std::env::join_paths(jars.iter().chain([&classes])).context("a folder's name has a colon")?;
        jdk.compile("ThriftPeer", &[generated], &classes, &class_path)?;
        let version = format!("{THRIFT_VERSION}, OpenJDK {}", jdk.version);
        Ok(Java { java: jdk.program("java"), class: "ThriftPeer", class_path, version })
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// # Errors
    /// When it does not start.
    pub fn server(&self) -> anyhow::Result<PartProcess> {
        self.start("server")
    }

    /// # Errors
    /// When it does not start.
    pub fn client(&self, port: u16) -> anyhow::Result<PartProcess> {
        self.start(&port.to_string())
    }

    fn start(&self, word: &str) -> anyhow::Result<PartProcess> {
        let mut command = Command::new(&self.java);
        // Stubs name the address that the server listens at. One connection is kept, also while the others are measured.
        command.args(["-Djava.rmi.server.hostname=127.0.0.1", "-Dsun.rmi.transport.connectionTimeout=3600000"]);
        command.arg("-cp").arg(&self.class_path).args([self.class, word]);
        PartProcess::start_by(command)
    }
}

/// Debian's OpenJDK 17: the name of its folder ends with the machine's architecture.
struct Jdk {
    folder: PathBuf,
    version: String,
}

impl Jdk {
    fn find() -> anyhow::Result<Jdk> {
        let folders = std::fs::read_dir("/usr/lib/jvm").context(NO_JDK)?;
        let is_17 = |folder: &Path| {
            let name = folder.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| name.starts_with("java-17-openjdk-")) && folder.join("bin/javac").is_file()
        };
        let folder = folders.filter_map(Result::ok).map(|folder| folder.path()).find(|folder| is_17(folder));
        let folder = folder.context(NO_JDK)?;
        let release = std::fs::read_to_string(folder.join("release")).context(NO_JDK)?;
        let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=")).context(NO_JDK)?;
        let version = version.trim_matches('"').to_owned();
        Ok(Jdk { folder, version })
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Compiles a class of `benchmarks/baselines/objects`, with what it names there, and sources that were generated.
    fn compile(&self, class: &str, generated: &[PathBuf], to: &Path, class_path: &OsStr) -> anyhow::Result<()> {
        let mut javac = Command::new(self.program("javac"));
        javac.args(["-sourcepath", SOURCES, "-cp"]).arg(class_path).arg("-d").arg(to);
        javac.arg(Path::new(SOURCES).join(format!("{class}.java"))).args(generated);
        succeed(javac)
    }
}

/// Runs Thrift's compiler on the service's description, and gives the source that it writes.
fn generate(folder: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let said = Command::new("thrift").arg("--version").output().context(NO_THRIFT)?;
    if !String::from_utf8_lossy(&said.stdout).contains(THRIFT_VERSION) {
        bail!(NO_THRIFT);
    }
    let mut thrift = Command::new("thrift");
    thrift.args(["--gen", "java:generated_annotations=suppress", "-out"]).arg(folder);
    thrift.arg(Path::new(SOURCES).join("NullCall.thrift"));
    succeed(thrift)?;
    Ok(folder.join("NullCall.java"))
}

fn succeed(mut command: Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
