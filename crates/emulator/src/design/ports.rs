//! Whether each step has what it takes, on every way that leads to it, through messages as well as within graphs.
//!
//! What is there at a step is what all ways to it leave; what a message brings is what all its senders have. Both are found by taking away until
//! nothing changes any more.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Draft;
use super::loading::{Cause, Graph};
use crate::engine::{Deployment, End, Kind, Kinds, Target};
use crate::file::Problem;
use crate::modules::Port;

type Ports = BTreeSet<Port>;

/// The things that a message can bring along.
const CARRIED: [Port; 5] = [Port::Key, Port::Value, Port::Version, Port::Volume, Port::Replicas];

/// The ports that each message brings to each role; nothing is known of those that are not here yet.
type Brought = BTreeMap<(String, Kind), Ports>;

pub(super) fn check(graphs: &[Graph], kinds: &Kinds, problems: &mut Vec<Problem>) {
    let client = Deployment::CLIENT_ROLE.to_owned();
    let mut brought = Brought::from([
        ((client.clone(), Kinds::PUT), Ports::from([Port::Key, Port::Value])),
        ((client, Kinds::GET), Ports::from([Port::Key])),
    ]);
    loop {
        let before = brought.clone();
        for graph in graphs {
            if let Some(start) = at_start(graph, &brought) {
                let at = within(&graph.draft, start);
                sent(graph, &at, kinds).into_iter().for_each(|(to, ports)| narrow(&mut brought, to, &ports));
            }
        }
        if brought == before {
            break;
        }
    }
    for graph in graphs {
        match at_start(graph, &brought) {
            Some(start) => report(graph, &within(&graph.draft, start), problems),
            None => problems.extend(unheard(graph, kinds)),
        }
    }
}

fn at_start(graph: &Graph, brought: &Brought) -> Option<Ports> {
    match &graph.cause {
        Cause::Message(kind) => brought.get(&(graph.role.clone(), *kind)).cloned(),
        Cause::Every(_) | Cause::When { .. } => Some(Ports::new()),
    }
}

fn narrow(brought: &mut Brought, to: (String, Kind), ports: &Ports) {
    brought.entry(to).and_modify(|had| had.retain(|port| ports.contains(port))).or_insert_with(|| ports.clone());
}

/// The step and the result that lead to an end; none when the graph starts with it.
type LedBy = Option<(usize, &'static str)>;

/// The ports that are there before each step, and before each end by the step and result that lead to it.
struct At {
    steps: BTreeMap<usize, Ports>,
    ends: Vec<(LedBy, End, Ports)>,
}

fn within(draft: &Draft, start: Ports) -> At {
    let mut at = At { steps: BTreeMap::new(), ends: Vec::new() };
    let lead = |at: &mut At, by, target, ports: Ports| match target {
        Target::Step(number) => {
            at.steps.entry(number).and_modify(|had| had.retain(|port| ports.contains(port))).or_insert(ports);
        }
        Target::End(end) => at.ends.push((by, end, ports)),
    };
    lead(&mut at, None, draft.start, start);
    for number in &draft.order {
        let step = &draft.steps[*number];
        let has = at.steps.get(number).cloned().unwrap_or_default();
        for (result, gives) in step.call.results {
            let after = has.iter().chain(*gives).copied().collect();
            lead(&mut at, Some((*number, *result)), step.edges[result], after);
        }
    }
    at
}

fn sent(graph: &Graph, at: &At, kinds: &Kinds) -> Vec<((String, Kind), Ports)> {
    let carried = |ports: &Ports| ports.iter().copied().filter(|port| CARRIED.contains(port)).collect::<Ports>();
    let client = || Deployment::CLIENT_ROLE.to_owned();
    let mut sent = Vec::new();
    for (number, ports) in &at.steps {
        let step = &graph.draft.steps[*number];
        let mut ports = carried(ports);
        if step.entry.name == "send" {
            let section = &step.section;
            let (Ok(role), Ok(message)) = (section.text("role"), section.text("message")) else { continue };
            let Some(kind) = kinds.find(message) else { continue };
            if !section.flag_or("value", true).unwrap_or(true) {
                ports.remove(&Port::Value);
            }
            sent.push(((role.to_owned(), kind), ports));
        } else if step.entry.name == "acknowledge" {
            ports.remove(&Port::Value);
            sent.push(((client(), Kinds::PUT_RESPONSE), ports));
        }
    }
    for (_, end, ports) in &at.ends {
        let mut ports = carried(ports);
        match (end, &graph.cause) {
            (End::Next, Cause::Message(kind)) => sent.push(((graph.role.clone(), *kind), ports)),
            (End::ReplyToClient | End::Missing | End::Refuse, _) => {
                ports.remove(&Port::Value);
                sent.extend([Kinds::PUT_RESPONSE, Kinds::GET_RESPONSE].map(|kind| ((client(), kind), ports.clone())));
            }
            (End::Next | End::Finish | End::Done, _) => {}
        }
    }
    sent
}

fn report(graph: &Graph, at: &At, problems: &mut Vec<Problem>) {
    for (number, has) in &at.steps {
        let step = &graph.draft.steps[*number];
        let chosen = match step.section.text("to") {
            Ok("head" | "tail" | "replicas" | "any-replica") if step.entry.name == "send" => &[Port::Replicas][..],
            Ok(_) | Err(_) => &[],
        };
        for port in step.call.takes.iter().chain(chosen).filter(|port| !has.contains(port)) {
            let what = format!("step `{}` takes {}, which is not there on every way to it", step.name, told(*port));
            let who: Vec<&str> = givers(*port);
            let remedy = format!("let a step before it give it ({})", who.join(", "));
            problems.push(step.section.problem("module", what, remedy));
        }
    }
    for (by, end, has) in &at.ends {
        if *end == End::Next && !has.contains(&Port::Replicas) {
            let (section, key) = match by {
                Some((number, result)) => (&graph.draft.steps[*number].section, *result),
                None => (&graph.section, "start"),
            };
            let what = "`next` takes the replicas, which are not there on every way to it";
            problems.push(section.problem(key, what, "let the client's graph choose them before it sends (ring)"));
        }
    }
}

fn unheard(graph: &Graph, kinds: &Kinds) -> Option<Problem> {
    let Cause::Message(kind) = &graph.cause else { return None };
    let what = format!("nothing sends the message `{}` to role `{}`", kinds.name(*kind), graph.role);
    Some(graph.section.problem("start", what, "send it from another role's graph, or take this one out"))
}

fn told(port: Port) -> &'static str {
    match port {
        Port::Key => "a key",
        Port::Value => "a value",
        Port::Version => "a version",
        Port::Volume => "a volume",
        Port::Replicas => "replicas",
        Port::Placed => "a disk",
        Port::Position => "a position",
    }
}

fn givers(port: Port) -> Vec<&'static str> {
    let gives = |call: &crate::modules::Call| call.results.iter().any(|(_, ports)| ports.contains(&port));
    crate::modules::entries().iter().filter(|entry| entry.calls.iter().any(gives)).map(|entry| entry.name).collect()
}
