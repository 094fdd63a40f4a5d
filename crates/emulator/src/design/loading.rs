//! Reads a design's file: roles, graphs and triggers, and the parameters of modules; then checks what concerns more than one graph.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::graph::{self, Draft};
use super::{Design, Planned, Promise, Role, ports};
use crate::engine::{Deployment, End, Handler, Kind, Kinds, Program, StateTrigger, Step, Target, TimeTrigger};
use crate::file::{Problem, Section};
use crate::quantity::{Bytes, Span};

/// The cause that starts a graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    Message(Kind),
    Every(Span),
    When { measure: String, above: f64 },
}

/// A graph, of which role it is, and what starts it.
#[derive(Debug)]
pub(super) struct Graph {
    pub role: String,
    pub cause: Cause,
    pub section: Section,
    pub draft: Draft,
}

pub(super) fn load(file: &str, text: &str) -> Result<Design, Vec<Problem>> {
    let root = Section::parse(file, text).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let design = read(&root, &mut problems);
    problems.sort_by_key(|problem| problem.line);
    match (design, problems.is_empty()) {
        (Some(design), true) => Ok(design),
        (_, _) => Err(problems),
    }
}

/// Notes what is wrong and goes on with the rest.
fn noted<T>(result: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

fn read(root: &Section, problems: &mut Vec<Problem>) -> Option<Design> {
    let promises: Vec<&str> = Promise::NAMES.iter().map(|(name, _)| *name).collect();
    let name = noted(root.text("name").map(str::to_owned), problems);
    let about = noted(root.text("about").map(str::to_owned), problems);
    let promise = noted(root.choice("consistency", &promises, None), problems);
    let survives = noted(root.text("survives").map(str::to_owned), problems);
    let global = noted(root.section("global"), problems)?.cloned();
    let global = Rc::new(global.unwrap_or_else(|| Section::empty(root.file(), "`global`", 1)));
    let roles = noted(root.section("role"), problems)?.cloned();
    let roles = roles.unwrap_or_else(|| Section::empty(root.file(), "the file", 1));
    let roles: BTreeMap<String, Section> = noted(roles.sections(), problems)?
        .into_iter()
        .map(|(role, section)| (role.to_owned(), section.clone()))
        .collect();
    let kinds = kinds_of(&roles, problems)?;
    let graphs: Vec<Graph> =
        roles.iter().flat_map(|(role, section)| read_graphs(role, section, &kinds, &global, problems)).collect();
    problems.extend(root.finish().err());
    if !problems.is_empty() {
        return None;
    }
    across(root, &roles, &graphs, &kinds, problems);
    let mut planned = BTreeMap::new();
    for (role, section) in &roles {
        let own: Vec<&Graph> = graphs.iter().filter(|graph| graph.role == *role).collect();
        planned.insert(role.clone(), noted(plan(section, &own, &global), problems)?);
    }
    let (name, about, promise, survives) = (name?, about?, Promise::NAMES[promise?].1, survives?);
    let design = Design { name, about, promise, survives, kinds, roles: planned, global };
    if problems.is_empty() {
        try_to_build(&design, problems);
    }
    Some(design)
}

fn kinds_of(roles: &BTreeMap<String, Section>, problems: &mut Vec<Problem>) -> Option<Kinds> {
    let mut kinds = Kinds::default();
    for section in roles.values() {
        if let Some(on) = noted(section.section("on"), problems)? {
            on.keys().for_each(|name| _ = kinds.named(name));
        }
    }
    Some(kinds)
}

fn read_graphs(
    role: &str,
    section: &Section,
    kinds: &Kinds,
    global: &Rc<Section>,
    problems: &mut Vec<Problem>,
) -> Vec<Graph> {
    let mut graphs = Vec::new();
    for (key, own) in [("on", &[][..]), ("every", &["period"]), ("when", &["measure", "above"])] {
        let Some(Some(causes)) = noted(section.section(key), problems) else { continue };
        for (name, section) in noted(causes.sections(), problems).unwrap_or_default() {
            let cause = match key {
                "on" => Ok(Cause::Message(kinds.find(name).expect("all names are known"))),
                "every" => section.span("period").map(Cause::Every),
                _ => when(section),
            };
            let (cause, draft) = (noted(cause, problems), graph::read(section, own, global, problems));
            if let (Some(cause), Some(draft)) = (cause, draft) {
                graphs.push(Graph { role: role.to_owned(), cause, section: section.clone(), draft });
            }
        }
    }
    graphs
}

fn when(section: &Section) -> Result<Cause, Problem> {
    let measure = section.text("measure")?.to_owned();
    if measure != "disk_used" {
        return Err(section.problem("measure", format!("no module measures `{measure}`"), "write \"disk_used\""));
    }
    Ok(Cause::When { measure, above: section.number_or("above", 0.8)? })
}

/// Checks that concern more than one graph.
fn across(
    root: &Section,
    roles: &BTreeMap<String, Section>,
    graphs: &[Graph],
    kinds: &Kinds,
    problems: &mut Vec<Problem>,
) {
    let takes =
        |role: &str, kind: Kind| graphs.iter().any(|graph| graph.role == role && graph.cause == Cause::Message(kind));
    for kind in [Kinds::PUT, Kinds::GET, Kinds::PUT_RESPONSE, Kinds::GET_RESPONSE] {
        if !takes(Deployment::CLIENT_ROLE, kind) {
            let what = format!("the client has nothing for the message `{}`", kinds.name(kind));
            let remedy = format!("add [role.client.on.{}] with its `start`", kinds.name(kind));
            problems.push(root.problem("role", what, remedy));
        }
    }
    for graph in graphs {
        for step in &graph.draft.steps {
            if step.entry.waits && graph.role != Deployment::CLIENT_ROLE {
                let what =
                    format!("`{}` waits for messages, and nothing ends that in role `{}`", step.entry.name, graph.role);
                problems.push(step.section.problem("module", what, "move it to the client, whose time-out ends it"));
            }
            if step.entry.name == "send" {
                problems.extend(check_send(roles, &takes, kinds, &step.section).err());
            }
        }
        if graph.role != Deployment::CLIENT_ROLE {
            problems.extend(finishes(graph).map(|(section, key)| {
                let what = format!("`finish` ends an operation at the client, and this is role `{}`", graph.role);
                section.problem(key, what, "let it lead to `reply-to-client` or `done`")
            }));
        }
    }
    if problems.is_empty() {
        ports::check(graphs, kinds, problems);
    }
}

/// Where a graph leads to `finish`.
fn finishes(graph: &Graph) -> impl Iterator<Item = (&Section, &str)> {
    let is_finish = |target: &Target| *target == Target::End(End::Finish);
    let start = is_finish(&graph.draft.start).then_some((&graph.section, "start"));
    let steps = graph.draft.steps.iter();
    let edges = steps.flat_map(move |step| {
        step.edges.iter().filter(move |(_, target)| is_finish(target)).map(|(result, _)| (&step.section, *result))
    });
    start.into_iter().chain(edges)
}

fn check_send(
    roles: &BTreeMap<String, Section>,
    takes: &impl Fn(&str, Kind) -> bool,
    kinds: &Kinds,
    step: &Section,
) -> Result<(), Problem> {
    let (role, message) = (step.text("role")?, step.text("message")?);
    if !roles.contains_key(role) {
        let known: Vec<&str> = roles.keys().map(String::as_str).collect();
        let what = format!("there is no role `{role}`");
        return Err(step.problem("role", what, format!("name one of {}", known.join(", "))));
    }
    if kinds.find(message).is_some_and(|kind| takes(role, kind)) {
        return Ok(());
    }
    let what = format!("role `{role}` has nothing for the message `{message}`");
    Err(step.problem("message", what, format!("add [role.{role}.on.{message}], or send another message")))
}

fn plan(section: &Section, graphs: &[&Graph], global: &Rc<Section>) -> Result<Role, Problem> {
    let count = section.count_or("count", 1)?.min(100_000) as u32;
    let parameters = section.section("module")?;
    let mut role = Role { count, modules: Vec::new(), program: Program::default() };
    for graph in graphs {
        let handler = handler(&mut role.modules, graph, parameters, global)?;
        match &graph.cause {
            Cause::Message(kind) => _ = role.program.on.insert(*kind, handler),
            Cause::Every(period) => role.program.every.push(TimeTrigger { period: *period, handler }),
            Cause::When { measure, above } => {
                role.program.when.push(StateTrigger { measure: measure.clone(), above: *above, handler });
            }
        }
    }
    section.finish()?;
    if let Some(parameters) = parameters {
        parameters.finish()?;
    }
    Ok(role)
}

fn handler(
    modules: &mut Vec<Planned>,
    graph: &Graph,
    parameters: Option<&Section>,
    global: &Rc<Section>,
) -> Result<Handler, Problem> {
    let mut steps = Vec::new();
    for draft in &graph.draft.steps {
        let entry = draft.entry;
        let had = modules.iter().position(|planned| entry.is_shared && planned.entry.name == entry.name);
        let module = match had {
            Some(module) => module,
            None => {
                let title = format!("`{}`", entry.name);
                let empty = Section::empty(draft.section.file(), &title, draft.section.line());
                modules.push(Planned { entry, section: empty.with_fallback(Rc::clone(global)) });
                modules.len() - 1
            }
        };
        let planned = &mut modules[module].section;
        for key in &draft.parameters {
            planned.take_over(key, &draft.section)?;
        }
        if let Some(configured) = parameters.map(|section| section.section(entry.name)).transpose()?.flatten() {
            configured.keys().try_for_each(|key| planned.take_over(key, configured))?;
        }
        steps.push(Step { name: draft.name.clone(), module, call: draft.call.name, edges: draft.edges.clone() });
    }
    Ok(Handler { start: graph.draft.start, steps })
}

/// Builds a node of each role as the file deploys it, so that every parameter is read.
fn try_to_build(design: &Design, problems: &mut Vec<Problem>) {
    let deployment = Deployment::new(&design.counts(), 8);
    for role in design.roles.keys() {
        let node = deployment.of(role)[0];
        if noted(design.node(&deployment, node, Bytes(500_000_000_000)), problems).is_none() {
            return;
        }
    }
    for planned in design.roles.values().flat_map(|role| &role.modules) {
        problems.extend(planned.section.finish().err());
    }
    problems.extend(design.global.finish().err());
}
