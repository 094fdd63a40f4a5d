//! Commands of operators about objects: `iolite objects list`, `show` and `move` ask them of a running server.
//!
//! Invariant: where an object is, tracking says. A move is asked of the object's own manager, which decides as it does for its app.

use std::sync::Arc;

use iolite_objects::CallError;
use iolite_tracking::{Ask, Told, right_name};
use iolite_values::{Bucket, NodeId, ObjectName};
use iolite_wire::objects::{NotRun, Placed, TrackAnswer};
use serde_json::{Value, json};

use crate::object_questions::ObjectQuestions;
use crate::operate::{Answering, Lines, option};

/// The manager that moves an object when somebody says so.
const MOVER: &str = "ExplicitMigration";

/// Answers the commands, or says that there are no objects.
pub(crate) struct ObjectCommands {
    questions: Result<Arc<ObjectQuestions>, &'static str>,
}

/// Where an object is, and what its class says.
struct Shown {
    object: ObjectName,
    placed: Placed,
    /// The server of each place, if the node is there.
    servers: Vec<Option<String>>,
    is_over: bool,
    memory_bytes: usize,
}

impl ObjectCommands {
    /// For people: why there are none.
    pub fn new(questions: Result<Arc<ObjectQuestions>, &'static str>) -> ObjectCommands {
        ObjectCommands { questions }
    }

    /// Whether there is such a command.
    pub fn run(&self, name: &str, options: &str, answering: Answering) -> bool {
        let questions = match &self.questions {
            Ok(questions) => questions.clone(),
            Err(why) => {
                answering.lines.begin(json!({ "error": why.trim_end() }));
                return true;
            }
        };
        let (lines, options) = (answering.lines.clone(), options.to_owned());
        match name {
            "list" => answering.spawn(async move { end(&lines, list(&questions, &options, &lines).await).await }),
            "show" => answering.spawn(async move { end(&lines, show(&questions, &options).await).await }),
            "move" => answering.spawn(async move { end(&lines, move_object(&questions, &options).await).await }),
            _ => return false,
        }
        true
    }
}

async fn end(lines: &Lines, ended: Result<Value, String>) {
    let line = match ended {
        Ok(done) => json!({ "done": done }),
        Err(problem) => json!({ "error": problem }),
    };
    lines.say(line).await;
}

/// A line for each object, bucket by bucket.
async fn list(questions: &ObjectQuestions, options: &str, lines: &Lines) -> Result<Value, String> {
    let class = option(options, "class");
    let mut count = 0;
    for bucket in Bucket::all() {
        let told = questions.track(Ask::List(bucket)).await?;
        let Told::Listed(objects) = told else { return Err(unserved(&told)) };
        for (object, placed) in objects {
            if class.as_deref().is_none_or(|class| class == object.class()) {
                count += 1;
                lines.say(json!({ "object": row(&object, &placed) })).await;
            }
        }
    }
    Ok(json!({ "objects": count }))
}

async fn show(questions: &ObjectQuestions, options: &str) -> Result<Value, String> {
    Ok(look(questions, &named(options)?).await?.value())
}

async fn move_object(questions: &ObjectQuestions, options: &str) -> Result<Value, String> {
    let object = named(options)?;
    let to = option(options, "to").unwrap_or_default();
    let to: NodeId = to.parse().map_err(|_| {
        format!("{to:?} is no node: write it as `iolite objects show` does, like gateway-0#1 or device-0123456789abcdef0123456789abcdef#1")
    })?;
    let managers = look(questions, &object).await?.placed.declared.managers;
    let names = managers.split(';').filter_map(|manager| manager.split_whitespace().next());
    if !names.clone().any(|name| name == MOVER) {
        let names: Vec<&str> = names.collect();
        let own = if names.is_empty() { "none".to_owned() } else { names.join(" and ") };
        return Err(format!(
            "{object} was not moved: a command moves objects under {MOVER} only, and its managers are {own}"
        ));
    }
    let moved = questions.manage(object.clone(), MOVER, to.to_string().into_bytes()).await?;
    moved.map_err(|error| unmoved(&object, to, &error))?;
    Ok(look(questions, &object).await?.value())
}

/// The object that the options name.
fn named(options: &str) -> Result<ObjectName, String> {
    let text = option(options, "object").unwrap_or_default();
    let (class, id) = text
        .split_once('/')
        .ok_or_else(|| format!("{text:?} is no object: write CLASS/ID, as `iolite objects list` does"))?;
    ObjectName::new(class, id).map_err(|error| error.to_string())
}

async fn look(questions: &ObjectQuestions, object: &ObjectName) -> Result<Shown, String> {
    let told = questions.track(Ask::Recall(object.clone())).await?;
    let (placed, is_over, memory) = match told {
        Told::Recalled { placed, is_over, memory } => (placed, is_over, memory),
        Told::Track(TrackAnswer::Unknown) => {
            return Err(format!("there is no object {object}: `iolite objects list` shows all"));
        }
        told => return Err(unserved(&told)),
    };
    let mut servers = Vec::new();
    for place in &placed.places {
        let told = questions.track(Ask::Where(*place)).await?;
        let Told::At(server) = told else { return Err(unserved(&told)) };
        servers.push(server.map(|server| format!("gateway-{}", server.number())));
    }
    Ok(Shown { object: object.clone(), placed, servers, is_over, memory_bytes: memory.len() })
}

impl Shown {
    fn value(&self) -> Value {
        let mut value = row(&self.object, &self.placed);
        let places = self.placed.places.iter().zip(&self.servers);
        let places = places.map(|(node, server)| json!({ "node": node.to_string(), "server": server }));
        value["version"] = json!(self.placed.declared.version);
        value["places"] = places.collect();
        value["is_over"] = json!(self.is_over);
        value["memory_bytes"] = json!(self.memory_bytes);
        value
    }
}

fn row(object: &ObjectName, placed: &Placed) -> Value {
    json!({
        "object": object.to_string(),
        "managers": placed.declared.managers,
        "devices": right_name(placed.declared.devices),
        "epoch": placed.epoch.0,
        "places": placed.places.iter().map(NodeId::to_string).collect::<Vec<_>>(),
    })
}

/// Tracking could not answer.
fn unserved(told: &Told) -> String {
    match told {
        Told::Busy | Told::Track(TrackAnswer::Refused(NotRun::Busy)) => {
            "tracking has too many questions: ask again in a moment".to_owned()
        }
        Told::Unavailable | Told::InDoubt => {
            "the store cannot be reached: look whether its replicas run, and try again".to_owned()
        }
        other => format!("tracking has answered {other:?}: a newer Iolite may have written the row"),
    }
}

/// Why an object was not moved.
fn unmoved(object: &ObjectName, to: NodeId, error: &CallError) -> String {
    let why = match error {
        CallError::NotRun(why) => match why {
            NotRun::Unreachable => format!("its node or {to} is not there. `iolite objects show` says where it lives"),
            NotRun::NotPermitted => format!("{to} is a device, and may not have it"),
            NotRun::NoHostForClass => format!("{to} does not run the class {}", object.class()),
            NotRun::Busy => format!("it moves already, or {to} has no room. Try again in a moment"),
            NotRun::Conflict => "it has gone elsewhere meanwhile, or may not leave now".to_owned(),
            NotRun::WrongVersion(version) => format!("{to} has version {version} of its class"),
            NotRun::LeaseUnavailable => "others have leases of it. Try again in a moment".to_owned(),
            NotRun::TooLarge(limit) => limit.clone(),
            NotRun::BadArguments(problem) => problem.clone(),
            NotRun::NoSuchMethod | NotRun::WouldDeadlock(_) => format!("its manager has answered {why:?}"),
        },
        CallError::Gone => "it is gone".to_owned(),
        CallError::Fenced | CallError::InDoubt(_) => {
            return format!("it is not known whether {object} was moved: `iolite objects show` says where it lives");
        }
        CallError::App(_) | CallError::Broke(_) => format!("its manager has answered {error:?}"),
    };
    format!("{object} was not moved: {why}")
}
