//! `iolite objects`: which objects there are, where they live, and another node for one.

use clap::{Args, Subcommand};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::target::Target;

#[derive(Subcommand)]
pub enum Command {
    /// All objects, with their managers and nodes
    List(List),
    /// One object: where it lives, and whether its node is there
    Show(Show),
    /// Move an object under ExplicitMigration to another node
    Move(Move),
}

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    target: Target,
    /// Only objects of this class
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub struct Show {
    /// The object as CLASS/ID, like TodoList/home
    #[arg(value_name = "ID")]
    object: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub struct Move {
    /// The object as CLASS/ID, like TodoList/home
    #[arg(value_name = "ID")]
    object: String,
    /// The node as `show` writes it, like gateway-0#1: its name and its life
    #[arg(value_name = "NODE")]
    node: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub struct Form {
    /// For programs
    #[arg(long)]
    json: bool,
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::List(arguments) => list(arguments),
        Command::Show(Show { object, target, form }) => {
            let shown = target.ask(&format!("objects/show?object={}", encoded(object)), |_, _| {})?;
            tell(&form.of(&shown));
            Ok(())
        }
        Command::Move(Move { object, node, target, form }) => {
            let command = format!("objects/move?object={}&to={}", encoded(object), encoded(node));
            let moved = target.ask(&command, |_, _| {})?;
            tell(&form.of(&moved));
            Ok(())
        }
    }
}

/// Objects come bucket by bucket. People look for a name.
fn list(arguments: &List) -> anyhow::Result<()> {
    let class = arguments.class.as_ref().map(|class| format!("?class={}", encoded(class))).unwrap_or_default();
    let mut objects = Vec::new();
    arguments.target.ask(&format!("objects/list{class}"), |kind, line| {
        if kind == "object" {
            objects.push(line.clone());
        }
    })?;
    objects.sort_by_cached_key(|object| text(&object["object"]).to_owned());
    if arguments.form.json {
        tell(&format!("{}\n", Value::Array(objects)));
        return Ok(());
    }
    tell(&table(&objects));
    Ok(())
}

impl Form {
    fn of(&self, object: &Value) -> String {
        if self.json { format!("{object}\n") } else { shown(object) }
    }
}

fn table(objects: &[Value]) -> String {
    let lines = objects.iter().map(|object| {
        let managers = text(&object["managers"]);
        let managers = if managers.is_empty() { "-" } else { managers };
        let places: Vec<&str> = object["places"].as_array().into_iter().flatten().map(text).collect();
        [text(&object["object"]).to_owned(), managers.to_owned(), object["epoch"].to_string(), places.join(" ")]
    });
    let head = ["OBJECT", "MANAGERS", "EPOCH", "LIVES AT"].map(str::to_owned);
    let lines: Vec<[String; 4]> = std::iter::once(head).chain(lines).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let [object, managers, epoch, _] = [0, 1, 2, 3].map(width);
    lines.iter().map(|[a, b, c, d]| format!("{a:<object$}  {b:<managers$}  {c:<epoch$}  {d}\n")).collect()
}

fn shown(object: &Value) -> String {
    let managers = text(&object["managers"]);
    let managers = if managers.is_empty() { "none" } else { managers };
    let mut told = format!("{}, version {} of its class\n", text(&object["object"]), object["version"]);
    told += &format!("managers: {managers}\ndevices may: {}\n", text(&object["devices"]));
    told += &format!("epoch: {}\n", object["epoch"]);
    for (at, place) in object["places"].as_array().into_iter().flatten().enumerate() {
        let kind = if at == 0 { "lives at" } else { "copy at" };
        let standing = match place["server"].as_str() {
            Some(server) if text(&place["node"]).starts_with(&format!("{server}#")) => "it is there".to_owned(),
            Some(server) => format!("it is there, connected to {server}"),
            None => "it is lost, or has ended".to_owned(),
        };
        told += &format!("{kind}: {} ({standing})\n", text(&place["node"]));
    }
    if object["is_over"] == true {
        told += "Its node is lost, so it may begin anew when somebody creates it\n";
    }
    if object["memory_bytes"] != 0 {
        told += &format!("its coordinators remember {} bytes\n", object["memory_bytes"]);
    }
    told
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Prints. Nobody may listen.
fn tell(text: &str) {
    let _ = iolite_host::print(text);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_lines_with_their_managers_and_nodes() {
        let object = |name: &str, managers: &str| json!({ "object": name, "managers": managers, "epoch": 2, "places": ["gateway-0#1", "gateway-1#3"] });
        let told = table(&[object("Note/a", ""), object("TodoList/home", "KeepInPlace")]);
        let expected = "\
            OBJECT         MANAGERS     EPOCH  LIVES AT\n\
            Note/a         -            2      gateway-0#1 gateway-1#3\n\
            TodoList/home  KeepInPlace  2      gateway-0#1 gateway-1#3\n";
        assert_eq!(told, expected);
    }

    #[test]
    fn an_object_is_shown_with_what_became_of_its_node() {
        let object = json!({
            "object": "Note/a", "managers": "", "devices": "hold", "version": 1, "epoch": 3, "is_over": true, "memory_bytes": 0,
            "places": [{ "node": "gateway-0#1", "server": "gateway-0" }, { "node": "device-1#1", "server": null }],
        });
        let told = shown(&object);
        assert!(
            told.contains("lives at: gateway-0#1 (it is there)\ncopy at: device-1#1 (it is lost, or has ended)\n"),
            "{told}"
        );
        assert!(told.contains("may begin anew") && !told.contains("remember"), "{told}");
    }
}
