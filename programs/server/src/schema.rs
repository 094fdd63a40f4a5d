//! `iolite schema`: what a deployment of schema and rights would change, and its coming into effect.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::rights_file;
use crate::target::Target;

#[derive(Subcommand)]
pub enum Command {
    /// Say what a file of schema and rights would change, and what is wrong with it. Nothing is changed
    Plan(Deployment),
    /// Put schema and rights into effect, at all gateways of the store
    Apply(Deployment),
}

#[derive(Args)]
pub struct Deployment {
    /// The file that exports your schema's rights: .json, or JavaScript or TypeScript, which Node runs
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    target: Target,
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    let (Command::Plan(Deployment { file, target }) | Command::Apply(Deployment { file, target })) = command;
    let name = match command {
        Command::Plan(_) => "plan",
        Command::Apply(_) => "apply",
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let deployment = runtime.block_on(rights_file::read(file))?.deployment;
    let mut told = Told::default();
    let done = target.ask_with(&format!("schema/{name}"), &deployment, |kind, value| told.line(kind, value))?;
    // Nobody may listen.
    let _ = iolite_host::print(&told.text(&done, name == "plan"));
    Ok(())
}

/// The answer to a deployment, for people.
#[derive(Default)]
pub struct Told(String);

impl Told {
    /// Takes a line of the answer.
    pub fn line(&mut self, kind: &str, value: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.0 += &match kind {
            "table" | "column" => format!("  + {kind} {}\n", text(value)),
            "cost" => format!("  ! {}\n", text(value)),
            "rule" => {
                let of = text(&value["of"]);
                let of = value["rule"].as_str().map_or(of.clone(), |rule| format!("{of}, rule \"{rule}\""));
                match (value["was"].as_str(), value["is"].as_str()) {
                    (None, is) => format!("  + {of}: {}\n", is.unwrap_or_default()),
                    (Some(was), None) => format!("  - {of}: {was}\n"),
                    (Some(was), Some(is)) => format!("  ~ {of}\n      was {was}\n      is  {is}\n"),
                }
            }
            // A newer server says more.
            _ => String::new(),
        };
    }

    /// All of it. `done` is the last line.
    pub fn text(self, done: &Value, is_plan: bool) -> String {
        let version = done["version"].as_i64().unwrap_or_default();
        match (done["changed"].as_bool().unwrap_or_default(), is_plan) {
            (false, _) => format!("Version {version} is in effect, and has all of it: nothing changes\n"),
            (true, true) => format!("Version {version} would change:\n{}", self.0),
            (true, false) => format!("{}Version {version} is in effect\n", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_told_line_by_line() {
        let mut told = Told::default();
        told.line("table", &json!("rooms"));
        told.line("column", &json!("messages.likes"));
        let rule = |rule: Option<&str>, was: Option<&str>, is: Option<&str>| json!({ "of": "table \"rooms\"", "rule": rule, "was": was, "is": is });
        told.line("rule", &rule(Some("read"), None, Some("everybody")));
        told.line("rule", &rule(Some("create"), Some("everybody"), Some("nobody")));
        told.line("rule", &rule(None, Some("everybody may do everything"), None));
        told.line("cost", &json!("it costs"));
        let wanted = "Version 4 would change:\n  + table rooms\n  + column messages.likes\n  + table \"rooms\", rule \"read\": everybody\n  ~ table \"rooms\", rule \"create\"\n      was everybody\n      is  nobody\n  - table \"rooms\": everybody may do everything\n  ! it costs\n";
        assert_eq!(told.text(&json!({ "version": 4, "changed": true }), true), wanted);
    }
}
