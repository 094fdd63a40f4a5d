//! Explanations: an operator asks what a user may do with a row, and why.
//!
//! Invariants: nothing is committed. All rows that an explanation rests on are as of one position of the feed. A few are read at a time, and a few
//! explanations are under way at a time. Every order is answered, if only with an error that says what to do.

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_rights::{Claims, Judge, Mistake, Right, Wanted as Question};
use iolite_store::{ReadReply, Refusal, RequestId, TooOld};

use crate::Gateway;
use crate::following::sight::too_large_a_set;
use crate::interface::{AccessNews, Output};
use crate::store::Purpose;
use crate::submissions::rights::case::{Case, Wanted};

/// Explanations that are under way at once. People ask for them one by one.
const AT_ONCE: usize = 8;

/// Rows and sets that one explanation reads. A rule within its limits needs fewer.
const READS: usize = 1024;

const NOT_THERE: &str = "the store is not there yet: ask again in a moment";
const NO_RIGHTS: &str = "no rights are in effect, so no rule is asked: put some into effect with `iolite schema apply`";
const BUSY: &str = "this gateway explains as much as it does at once: ask again in a moment";
const STARTED_AGAIN: &str = "the store has started again: ask once more";
const TOO_OLD: &str = "the store went on while the rows were read: ask once more";
const TOO_MANY: &str = "the rule looks at more rows than are read for one explanation: ask about fewer writes";

/// Names an order to explain. Chosen by the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExplainId(pub u64);

/// A question of an operator, as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// The user, as `sub` in their token.
    pub user: String,
    /// The other claims of the token, as an object in JSON.
    pub claims: Option<String>,
    pub right: Right,
    pub table: String,
    pub key: String,
    /// The row that is created, or what changes, as an object in JSON.
    pub with: Option<String>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub is_allowed: bool,
    /// The rules as a tree, a part a line.
    pub text: String,
}

/// The explanations that are under way.
#[derive(Debug, Default)]
pub struct Explaining(BTreeMap<ExplainId, Order>);

#[derive(Debug)]
struct Order {
    claims: Claims,
    question: Question,
    case: Case,
    reads: usize,
}

impl Explaining {
    pub fn validate(&self) {
        assert!(self.0.len() <= AT_ONCE, "a few at once");
        for order in self.0.values() {
            assert!(!order.case.requests().is_empty(), "an explanation waits for what it reads");
        }
    }
}

impl Gateway {
    pub(crate) fn on_explain(&mut self, now: Now, asked: ExplainId, explain: &Explain) {
        if !self.home.is_serving() {
            return self.tell_explained(asked, Err(NOT_THERE.into()));
        }
        if self.catalog.rights().is_none() {
            return self.tell_explained(asked, Err(NO_RIGHTS.into()));
        }
        if self.explaining.0.len() >= AT_ONCE {
            return self.tell_explained(asked, Err(BUSY.into()));
        }
        match self.question(explain) {
            Err(mistake) => self.tell_explained(asked, Err(mistake.to_string())),
            Ok((claims, question)) => {
                let case = Case::new(self.position());
                self.explain(now, asked, Order { claims, question, case, reads: 0 });
            }
        }
    }

    fn question(&self, explain: &Explain) -> Result<(Claims, Question), Mistake> {
        let Explain { user, claims, right, table, key, with } = explain;
        let types = self.settings.access.claims();
        let claims = Claims::from_text(user, claims.as_deref(), types.as_ref())?;
        let question = Question::typed(self.catalog.schema(), *right, table, key, with.as_deref())?;
        Ok((claims, question))
    }

    /// Explains it, or asks for what has to be known first.
    fn explain(&mut self, now: Now, asked: ExplainId, order: Order) {
        let Some(rights) = self.catalog.rights() else {
            return self.tell_explained(asked, Err(NO_RIGHTS.into()));
        };
        let schema = self.catalog.schema();
        let judge = Judge {
            rights,
            schema,
            claims: &order.claims,
            now_ms: i64::try_from(now.wall.as_micros() / 1000).unwrap_or(i64::MAX),
            rows: &order.case.known,
        };
        let needs = match judge.explanation(&order.question) {
            Ok(_) if order.case.known.has_too_large_a_set => {
                return self.tell_explained(asked, Err(too_large_a_set()));
            }
            Ok(explanation) => {
                let explained = Explained { is_allowed: explanation.is_allowed(), text: explanation.text(schema) };
                return self.tell_explained(asked, Ok(explained));
            }
            Err(needs) => Wanted::all(needs),
        };
        let reads = order.reads + needs.len();
        if reads > READS {
            return self.tell_explained(asked, Err(TOO_MANY.into()));
        }
        let mut order = Order { reads, ..order };
        // All of it is read as of one moment, for nobody's session.
        order.case.wants(needs, |_| None);
        self.explaining.0.insert(asked, order);
        self.ask_to_explain(asked);
    }

    fn ask_to_explain(&mut self, asked: ExplainId) {
        while let Some((wanted, request)) = self.explaining.0.get_mut(&asked).and_then(|own| own.case.next()) {
            let id = self.ask(Purpose::Explanation(asked), request);
            if let Some(order) = self.explaining.0.get_mut(&asked) {
                order.case.asked(id, wanted);
            }
        }
    }

    /// The store has read a row or a set by which something is explained.
    pub(crate) fn on_explained_by(
        &mut self,
        now: Now,
        asked: ExplainId,
        request: RequestId,
        reply: Result<ReadReply, TooOld>,
    ) {
        let Some(order) = self.explaining.0.get_mut(&asked) else { return };
        match order.case.take(request, reply) {
            Ok(false) => self.ask_to_explain(asked),
            Ok(true) => {
                if let Some(order) = self.explaining.0.remove(&asked) {
                    self.explain(now, asked, order);
                }
            }
            Err(TooOld { .. }) => self.stop_explaining(asked, TOO_OLD.into()),
        }
    }

    /// The store cannot read by what something is explained.
    pub(crate) fn on_explained_by_nothing(&mut self, asked: ExplainId, refusal: &Refusal) {
        self.stop_explaining(asked, refusal.to_string());
    }

    fn stop_explaining(&mut self, asked: ExplainId, problem: String) {
        let Some(order) = self.explaining.0.remove(&asked) else { return };
        self.give_up(order.case.requests());
        self.tell_explained(asked, Err(problem));
    }

    /// The store has started again, and what was read is of the one before.
    pub(crate) fn forget_explanations(&mut self) {
        for asked in std::mem::take(&mut self.explaining.0).into_keys() {
            self.tell_explained(asked, Err(STARTED_AGAIN.into()));
        }
    }

    fn tell_explained(&mut self, asked: ExplainId, result: Result<Explained, String>) {
        self.output(Output::Access(AccessNews::Explained(asked, result)));
    }
}
