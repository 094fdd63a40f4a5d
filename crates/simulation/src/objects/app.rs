//! The app's side of a process: its objects are lists of numbers, each of which is put in once.
//!
//! Invariant: the first number of a list says which beginning of its object it is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_objects::{CallError, CallResult, Ended, FromApp, Placing, Run, RunId, Ticket, ToApp};
use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::limits::STATE_PART;
use iolite_wire::objects::Placed;

use super::happened::ObjectEvent;
use super::kinds::Kind;
use super::names::{APPEND, At, LOOK, PASS, READ, SLOW, reads};
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::told::{CallIndex, RunIndex, RunTold, WordIndex};
use super::transacting::Script;
use super::world::World;
use crate::checker::Invariant;
use crate::history::Moment;

#[derive(Debug, Default)]
pub struct App {
    /// Objects that are here, and copies of objects.
    pub objects: BTreeMap<ObjectName, Vec<u64>>,
    pub copies: BTreeSet<ObjectName>,
    /// The epochs with which states of objects are kept, if the process has a disk.
    pub epochs: BTreeMap<ObjectName, ObjectEpoch>,
    /// Transactions of the client.
    pub scripts: BTreeMap<ObjectName, Script>,
    pub runs: BTreeMap<RunId, OpenRun>,
    pub tickets: BTreeMap<Ticket, Asked>,
    /// Words for the kernel.
    pub says: VecDeque<FromApp>,
    pub last_ticket: u64,
}

/// A method that runs.
#[derive(Clone, Debug)]
pub struct OpenRun {
    pub object: ObjectName,
    pub call: CallIndex,
    pub run: RunIndex,
    pub caller: String,
}

/// Something that was asked, and has no answer yet.
#[derive(Clone, Debug)]
pub enum Asked {
    /// `within`: the run whose method waits.
    Call {
        call: CallIndex,
        within: Option<RunId>,
    },
    Word(WordIndex),
    Create,
    Find(ObjectName, Moment),
    Move,
}

/// How many of 1,000 states are longer than one message, and how many are ready late only.
const LONG_STATES: u64 = 60;
const LATE_STATES: u64 = 150;
/// A list of so many numbers has a long state, where equal lists have equal states.
const LONG_LISTS: usize = 16;

impl World {
    pub fn perform(&mut self, at: At, output: ToApp) {
        match output {
            ToApp::Restore { object, state, keep } => self.make(at, object, &state, keep),
            ToApp::Forget { object } => {
                self.keep_no_more(at, &object);
                let app = &mut self.host_mut(at).app;
                app.objects.remove(&object);
                app.epochs.remove(&object);
                app.runs.retain(|_, run| run.object != object);
                if app.copies.remove(&object) {
                    self.told.forgotten.push((self.moment, at, object));
                }
            }
            ToApp::Run(run, of) => self.on_run(at, run, of),
            ToApp::Answered(ticket, result) => self.on_answered(at, ticket, result),
            ToApp::Created(ticket, created) => {
                let was_asked = matches!(self.take(at, ticket), Some(Asked::Create));
                self.expect_asked(was_asked, "a creation");
                self.probe_created(at, ticket, created);
            }
            ToApp::Found(ticket, found) => self.on_found(at, ticket, found),
            ToApp::Save { object } => {
                if !self.healing && self.random.chance(LATE_STATES) {
                    let after = self.random.below(800) * MILLISECOND;
                    return self.later(at, after, NodeEvent::Save(object));
                }
                self.saved(at, object);
            }
            ToApp::Moved(ticket, _) => {
                let was_asked = matches!(self.take(at, ticket), Some(Asked::Move));
                self.expect_asked(was_asked, "a move");
            }
        }
    }

    fn take(&mut self, at: At, ticket: Ticket) -> Option<Asked> {
        self.host_mut(at).app.tickets.remove(&ticket)
    }

    fn expect_asked(&mut self, was_asked: bool, what: &str) {
        if !was_asked {
            self.broke(Invariant::Answered, format!("{what} is answered that was not asked, or is answered"));
        }
    }

    fn make(&mut self, at: At, object: ObjectName, state: &[u8], keep: Option<ObjectEpoch>) {
        let restored = match list_of(state) {
            Some(list) => {
                self.take_state(at, &object, list);
                let epochs = &mut self.host_mut(at).app.epochs;
                epochs.remove(&object);
                epochs.extend(keep.map(|epoch| (object.clone(), epoch)));
                Ok(())
            }
            None => {
                self.broke(Invariant::KeptWrites, format!("a state of {object} is none: {} bytes", state.len()));
                Err("it is no list".to_owned())
            }
        };
        let said = FromApp::Restored { object: object.clone(), restored };
        if !self.healing && self.random.chance(LATE_STATES) {
            let after = self.random.below(800) * MILLISECOND;
            return self.later(at, after, NodeEvent::Made(object, said));
        }
        self.say_when_kept(at, &object, said);
    }

    /// The app's side has made an object.
    pub fn made(&mut self, at: At, object: &ObjectName, said: FromApp) {
        self.say_when_kept(at, object, said);
        self.carry(at);
    }

    fn take_state(&mut self, at: At, object: &ObjectName, list: Vec<u64>) {
        let is_copy = self.kernel(at).is_some_and(|kernel| kernel.has_copy(object));
        self.judge_state(at, object, &list, is_copy);
        let app = &mut self.host_mut(at).app;
        app.objects.insert(object.clone(), list);
        if is_copy {
            app.copies.insert(object.clone());
        } else {
            app.copies.remove(object);
        }
    }

    pub fn save(&mut self, at: At, object: ObjectName) {
        self.saved(at, object);
        self.carry(at);
    }

    fn saved(&mut self, at: At, object: ObjectName) {
        let by_chance = self.random.chance(LONG_STATES);
        let Some(list) = self.host(at).app.objects.get(&object) else { return };
        let is_long = if Kind::of(&object).has_one_state() { list.len() % LONG_LISTS == 0 } else { by_chance };
        let state = Ok(state_of(list, is_long));
        self.host_mut(at).app.says.push_back(FromApp::Saved { object, state });
    }

    fn on_run(&mut self, at: At, run: RunId, of: Run) {
        let call = call_of(&of.arguments);
        let told = &self.told.calls[call.0];
        let (number, method, hold) = (told.number, told.method, told.hold);
        if told.object != of.object || told.method != of.method {
            self.broke(Invariant::Assertion, format!("{of:?} is not what was called: {:?}", self.told.calls[call.0]));
        }
        self.judge_run(at, &of.object, method);
        let Some(index) = self.started(at, call, &of) else { return };
        let open = OpenRun { object: of.object.clone(), call, run: index, caller: of.caller };
        self.host_mut(at).app.runs.insert(run, open);
        match method {
            READ => self.return_list(at, run, &of.object),
            APPEND => self.put(at, run, &of.object, number),
            SLOW | LOOK => self.later(at, hold, NodeEvent::EndRun(run)),
            PASS => self.pass_on(at, run, call),
            other => panic!("{other} is no method"),
        }
    }

    /// A method starts. None: there is no such object, which is told.
    fn started(&mut self, at: At, call: CallIndex, of: &Run) -> Option<RunIndex> {
        let now = self.now(at).instant;
        let is_copy = self.host(at).app.copies.contains(&of.object);
        let epoch = self.kernel(at)?.serving_at(now).into_iter().find(|(object, _)| *object == of.object);
        let last = self.host(at).epochs.get(&of.object).map(|(_, epoch)| *epoch);
        // It may have begun here and be on its way to another node already, both in this step.
        let (row, node) = (self.rows.last(self.store.id, &of.object), self.kernel(at)?.node());
        let named = row.filter(|row| row.places.first().copied() == node).map(|row| row.epoch);
        let epoch = epoch.map(|(_, epoch)| epoch).or(named).or(last);
        let epoch = epoch.filter(|_| !is_copy);
        let Some(birth) = self.host(at).app.objects.get(&of.object).and_then(|list| list.first().copied()) else {
            self.broke(Invariant::Assertion, format!("{} runs at {at:?}, and is not there", of.object));
            return None;
        };
        let (store, ended, caller) = (self.host(at).store, None, of.caller.clone());
        let index = RunIndex(self.told.runs.len());
        let run = RunTold { call, at, is_copy, store, epoch, birth, ended, caller };
        self.judge_start(&run);
        self.judge_rights(&run);
        self.told.runs.push(run);
        self.told.calls[call.0].runs.push(index);
        Some(index)
    }

    fn return_list(&mut self, at: At, run: RunId, object: &ObjectName) {
        let list = self.host(at).app.objects.get(object).cloned().unwrap_or_default();
        self.ended(at, run, state_of(&list, false));
    }

    fn put(&mut self, at: At, run: RunId, object: &ObjectName, number: u64) {
        if let Some(list) = self.host_mut(at).app.objects.get_mut(object) {
            list.push(number);
        }
        self.ended(at, run, Vec::new());
    }

    /// A method that was open ends.
    pub fn end_run(&mut self, at: At, run: RunId) {
        let Some(open) = self.host(at).app.runs.get(&run).cloned() else { return };
        let (number, method) = (self.told.calls[open.call.0].number, self.told.calls[open.call.0].method);
        if method == LOOK {
            self.return_list(at, run, &open.object);
        } else {
            self.put(at, run, &open.object, number);
        }
        self.carry(at);
    }

    fn ended(&mut self, at: At, run: RunId, result: Vec<u8>) {
        let moment = self.moment;
        let Some(open) = self.host_mut(at).app.runs.remove(&run) else { return };
        self.told.runs[open.run.0].ended = Some(moment);
        let said = FromApp::Ended { run, ended: Ended::Returned(result) };
        if reads(self.told.calls[open.call.0].method) {
            self.host_mut(at).app.says.push_back(said);
        } else {
            self.say_when_kept(at, &open.object, said);
        }
    }

    fn on_answered(&mut self, at: At, ticket: Ticket, result: CallResult) {
        let (call, within) = match self.take(at, ticket) {
            Some(Asked::Call { call, within }) => (call, within),
            Some(Asked::Word(word)) => return self.word_answered(at, word, result),
            Some(Asked::Create | Asked::Find(..) | Asked::Move) | None => return self.expect_asked(false, "a call"),
        };
        self.count_result(&result, within.is_some());
        self.count_under(call, &result);
        self.begin_if_lost(at, call, &result);
        let told = &mut self.told.calls[call.0];
        told.answered = Some((self.moment, result));
        let (object, is_part) = (told.object.clone(), told.transaction.is_some());
        if let Some(run) = within {
            self.later(at, 0, NodeEvent::EndRun(run));
        }
        if is_part {
            self.script_answered(at, &object);
        }
    }

    /// An app whose object cannot be reached, or is gone, begins it anew, or tries to.
    fn begin_if_lost(&mut self, at: At, call: CallIndex, result: &CallResult) {
        use iolite_wire::objects::NotRun;
        let is_lost = matches!(result, Err(CallError::Gone | CallError::NotRun(NotRun::Unreachable)));
        if is_lost && self.works && self.random.chance(600) {
            let object = self.told.calls[call.0].object.clone();
            self.create(at, object, Placing::AtServer);
        }
    }

    fn count_result(&mut self, result: &CallResult, is_nested: bool) {
        use iolite_wire::objects::NotRun;
        match result {
            Ok(_) if is_nested => self.happened(ObjectEvent::Nested),
            Err(CallError::NotRun(NotRun::WouldDeadlock(_))) => self.happened(ObjectEvent::WouldDeadlock),
            Err(CallError::InDoubt(_)) => self.happened(ObjectEvent::CallInDoubt),
            Err(CallError::Fenced) => self.happened(ObjectEvent::Fenced),
            Ok(_) | Err(CallError::NotRun(_) | CallError::App(_) | CallError::Gone | CallError::Broke(_)) => {}
        }
    }

    fn on_found(&mut self, at: At, ticket: Ticket, found: Result<Option<Placed>, CallError>) {
        let Some(Asked::Find(object, asked)) = self.take(at, ticket) else {
            return self.expect_asked(false, "a search");
        };
        if let Ok(Some(placed)) = found {
            self.judge_found(at, &object, asked, &placed);
        }
    }
}

/// The list as a state: how many numbers, the numbers, and perhaps much more.
pub fn state_of(list: &[u64], is_long: bool) -> Vec<u8> {
    let mut state = (list.len() as u64).to_le_bytes().to_vec();
    state.extend(list.iter().flat_map(|number| number.to_le_bytes()));
    if is_long {
        state.resize(STATE_PART.most + STATE_PART.most / 4, 0);
    }
    state
}

pub fn list_of(state: &[u8]) -> Option<Vec<u64>> {
    let mut numbers = state.chunks(8).map(|bytes| bytes.try_into().map(u64::from_le_bytes));
    let count = numbers.next()?.ok()?;
    let list: Result<Vec<u64>, _> = numbers.take(count as usize).collect();
    list.ok().filter(|list| list.len() as u64 == count)
}

pub fn arguments_of(call: CallIndex) -> Vec<u8> {
    (call.0 as u64).to_le_bytes().to_vec()
}

fn call_of(arguments: &[u8]) -> CallIndex {
    CallIndex(u64::from_le_bytes(arguments.try_into().expect("arguments of this world")) as usize)
}
