//! One graph of a design's file: its steps, where their results lead, and that it has neither loops nor loose ends.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::engine::{End, Target};
use crate::file::{Problem, Section};
use crate::modules::{Call, Entry, entries, entry};

/// A step as the file has it.
#[derive(Debug)]
pub(super) struct DraftStep {
    pub name: String,
    pub section: Section,
    pub entry: &'static Entry,
    pub call: &'static Call,
    pub edges: BTreeMap<&'static str, Target>,
    /// The keys that are parameters.
    pub parameters: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Draft {
    pub start: Target,
    pub steps: Vec<DraftStep>,
    /// Steps in an order in which each comes after all that lead to it.
    pub order: Vec<usize>,
}

/// Reads a graph. `own` are the keys of its section that are no steps.
pub(super) fn read(
    section: &Section,
    own: &[&str],
    global: &Rc<Section>,
    problems: &mut Vec<Problem>,
) -> Option<Draft> {
    let before = problems.len();
    let names: Vec<&str> = section.keys().filter(|key| *key != "start" && !own.contains(key)).collect();
    let start = match section.text("start") {
        Ok(start) => target(section, "start", start, &names).map_err(|problem| problems.push(problem)).ok(),
        Err(problem) => {
            problems.push(problem);
            None
        }
    };
    let mut steps = Vec::new();
    for name in &names {
        match section.section(name).and_then(|step| read_step(name, step.expect("it is a key"), &names, global)) {
            Ok(step) => steps.push(step),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.len() > before {
        return None;
    }
    let (start, order) = (start?, ordered(start?, &steps, problems)?);
    Some(Draft { start, steps, order })
}

fn read_step(name: &str, section: &Section, names: &[&str], global: &Rc<Section>) -> Result<DraftStep, Problem> {
    let module = section.text("module")?;
    let entry = entry(module).ok_or_else(|| {
        let known: Vec<&str> = entries().iter().map(|entry| entry.name).collect();
        section.problem("module", format!("there is no module `{module}`"), format!("take one of {}", known.join(", ")))
    })?;
    let call = read_call(section, entry)?;
    let mut edges = BTreeMap::new();
    for (result, _) in call.results {
        let Some(to) = section.text_or_none(result)? else {
            let results: Vec<&str> = call.results.iter().map(|(result, _)| *result).collect();
            let what = format!("step `{name}` says nothing of the result `{result}`");
            let remedy =
                format!("add `{result} = \"...\"` with a step or an end; its results are {}", results.join(", "));
            return Err(section.problem("module", what, remedy));
        };
        edges.insert(*result, target(section, result, to, names)?);
    }
    let is_parameter = |key: &&str| !["module", "call"].contains(key) && !edges.contains_key(key);
    let parameters = section.keys().filter(is_parameter).map(str::to_owned).collect();
    let section = section.clone().with_fallback(Rc::clone(global));
    Ok(DraftStep { name: name.to_owned(), section, entry, call, edges, parameters })
}

fn read_call(section: &Section, entry: &'static Entry) -> Result<&'static Call, Problem> {
    if let [only] = entry.calls {
        return Ok(only);
    }
    let names: Vec<&str> = entry.calls.iter().map(|call| call.name).collect();
    Ok(&entry.calls[section.choice("call", &names, None)?])
}

fn target(section: &Section, key: &str, name: &str, names: &[&str]) -> Result<Target, Problem> {
    if let Some(number) = names.iter().position(|known| *known == name) {
        return Ok(Target::Step(number));
    }
    End::named(name).map(Target::End).ok_or_else(|| {
        let ends: Vec<&str> = End::ALL.iter().map(|(name, _)| *name).collect();
        let remedy = format!("name a step ({}) or an end ({})", names.join(", "), ends.join(", "));
        section.problem(key, format!("`{key}` leads to `{name}`, which is no step of this graph"), remedy)
    })
}

fn ordered(start: Target, steps: &[DraftStep], problems: &mut Vec<Problem>) -> Option<Vec<usize>> {
    let before = problems.len();
    let mut walk = Walk { steps, done: BTreeSet::new(), path: Vec::new(), order: Vec::new(), problems };
    if let Target::Step(first) = start {
        walk.visit(first);
    }
    let Walk { done, mut order, .. } = walk;
    for (_, step) in steps.iter().enumerate().filter(|(number, _)| !done.contains(number)) {
        let what = format!("nothing leads to step `{}`", step.name);
        problems.push(step.section.problem("module", what, "let a result or `start` lead to it, or take it out"));
    }
    order.reverse();
    (problems.len() == before).then_some(order)
}

struct Walk<'a> {
    steps: &'a [DraftStep],
    done: BTreeSet<usize>,
    path: Vec<usize>,
    order: Vec<usize>,
    problems: &'a mut Vec<Problem>,
}

impl Walk<'_> {
    fn visit(&mut self, number: usize) {
        // Before `done`: a step on the path is done as well.
        if let Some(place) = self.path.iter().position(|seen| *seen == number) {
            let names: Vec<&str> = self.path[place..].iter().map(|seen| self.steps[*seen].name.as_str()).collect();
            let what = format!("the graph goes round: {} -> {}", names.join(" -> "), self.steps[number].name);
            let last = &self.steps[*self.path.last().expect("the step is on the path")];
            self.problems.push(last.section.problem("module", what, "let one of these lead to an end"));
            return;
        }
        if !self.done.insert(number) {
            return;
        }
        self.path.push(number);
        for target in self.steps[number].edges.values() {
            if let Target::Step(next) = target {
                self.visit(*next);
            }
        }
        self.path.pop();
        self.order.push(number);
    }
}
