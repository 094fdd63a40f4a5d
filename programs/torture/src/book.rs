//! What clients asked, where it outlives them: a run that fails has its history still.
//!
//! Invariant: a transaction is in the book before anything of it is sent, and of unknown outcome until its client knows better.

use std::sync::{Arc, Mutex, MutexGuard};

use iolite_histories::{Moment, Outcome};

use crate::moment::moment;
use crate::step::Plan;

/// A transaction as its client knows it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub plan: Plan,
    pub invoked: Moment,
    pub completed: Moment,
    pub outcome: Outcome,
}

/// A page for each client.
#[derive(Clone, Debug)]
pub struct Book {
    pages: Arc<Vec<Mutex<Page>>>,
}

#[derive(Debug, Default)]
struct Page {
    ended: Vec<Asked>,
    /// What its client waits for, and since when.
    open: Option<(Plan, Moment)>,
}

impl Book {
    pub fn new(clients: u32) -> Book {
        Book { pages: Arc::new((0..clients).map(|_| Mutex::default()).collect()) }
    }

    fn page(&self, client: u32) -> MutexGuard<'_, Page> {
        self.pages[client as usize].lock().expect("nobody panics who holds it")
    }

    /// A client is about to ask this.
    pub fn begins(&self, client: u32, plan: Plan) {
        self.page(client).open = Some((plan, moment()));
    }

    /// What it asked last has come to an end, or was given up.
    pub fn ends(&self, client: u32, outcome: Outcome) {
        let mut page = self.page(client);
        let open = page.open.take();
        page.ended.extend(open.map(|(plan, invoked)| Asked { plan, invoked, completed: moment(), outcome }));
    }

    /// For people: what a client waits for that has no answer.
    pub fn waits_for(&self, client: u32) -> String {
        let page = self.page(client);
        match (&page.open, page.ended.last()) {
            (Some((plan, invoked)), _) => {
                let seconds = moment().0.saturating_sub(invoked.0) / 1_000_000_000;
                let (number, steps) = (plan.number, &plan.steps);
                format!("client {client} waits since {seconds} s for its transaction {number}, {steps:?}")
            }
            (None, Some(last)) => {
                let number = last.plan.number;
                format!(
                    "client {client} reaches no gateway: its transaction {number} was the last one that did not begin"
                )
            }
            (None, None) => format!("client {client} has not begun"),
        }
    }

    /// All that is in it. What is open has an unknown outcome.
    pub fn take(&self) -> Vec<Asked> {
        let numbers = 0..self.pages.len() as u32;
        numbers
            .flat_map(|client| {
                self.ends(client, Outcome::Unknown);
                std::mem::take(&mut self.page(client).ended)
            })
            .collect()
    }
}
