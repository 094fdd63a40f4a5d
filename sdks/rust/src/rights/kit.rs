//! The kit: rights over rows that a test gives, without a server.
//!
//! Invariant: a test judges by the code of servers, and what it asks changes nothing. Errors name values, since they are for tests only.

use std::fmt;

use iolite_rights::{Caller, Claim, Claims, Explanation, Right, Rights, SUBJECT, Trial};
use iolite_values::{LogId, ObjectName, Schema, Table as Definition, Value};

use super::Writes;
use crate::error::Abort;
use crate::row::Record;
use crate::table::Table;

/// Rights that are tested, and the rows that are there. See [`crate::rights`].
#[derive(Clone, Debug)]
pub struct RightsTest {
    trial: Trial,
}

/// A user of a test, with what their token says.
#[derive(Clone, Debug)]
pub struct TestUser<'a> {
    trial: &'a Trial,
    name: String,
    claims: Vec<(String, Claim)>,
    now_ms: i64,
}

/// The reason for which a test fails. It is shown as the same text everywhere, so that a test that returns it is easy to read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum RightsTestError {
    /// A user may not do what they should. The text has the rule as a tree.
    #[error("{user} may not do this: {explained}")]
    Denied {
        /// The user's name.
        user: String,
        /// The rules that were asked, with their values.
        explained: String,
    },
    /// A user may do what they should not. The text has the rule as a tree.
    #[error("{user} may do this, and should not: {explained}")]
    Allowed {
        /// The user's name.
        user: String,
        /// The rules that were asked, with their values.
        explained: String,
    },
    /// The test, the rights or the rows do not fit the schema. The text says what to write.
    #[error("{0}")]
    Mistake(String),
}

impl fmt::Debug for RightsTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<iolite_rights::Mistake> for RightsTestError {
    fn from(mistake: iolite_rights::Mistake) -> RightsTestError {
        RightsTestError::Mistake(mistake.to_string())
    }
}

impl From<Abort> for RightsTestError {
    fn from(abort: Abort) -> RightsTestError {
        RightsTestError::Mistake(abort.to_string())
    }
}

impl RightsTest {
    /// A test of these rights, over tables that are empty.
    ///
    /// # Errors
    /// [`RightsTestError::Mistake`]: the rights do not fit the schema. Each problem is a line, as `iolite schema plan` tells it.
    pub fn new(schema: &Schema, rights: &Rights) -> Result<RightsTest, RightsTestError> {
        Ok(RightsTest { trial: Trial::new(schema.clone(), rights.clone())? })
    }

    /// The same with these rows, whoever may make them. A row that was given before is replaced.
    ///
    /// # Errors
    /// [`RightsTestError::Mistake`]: a row does not fit the schema.
    pub fn given<T: Table>(mut self, rows: impl IntoIterator<Item = T>) -> Result<RightsTest, RightsTestError> {
        for row in rows {
            self.trial.give(&super::create(&row).whole()?)?;
        }
        Ok(self)
    }

    /// A user of this name: `sub` in their token, which says nothing else.
    pub fn user(&self, name: &str) -> TestUser<'_> {
        TestUser { trial: &self.trial, name: name.to_owned(), claims: Vec::new(), now_ms: 0 }
    }
}

impl TestUser<'_> {
    /// The same user, whose token says this, too.
    ///
    /// # Panics
    /// The name is `sub`, which [`RightsTest::user`] gives.
    #[must_use]
    pub fn claim(mut self, name: &str, claim: Claim) -> Self {
        assert!(name != SUBJECT, "`sub` is the user's name: give it to RightsTest::user");
        self.claims.push((name.to_owned(), claim));
        self
    }

    /// The same user with a role: a text of the claim `roles`.
    #[must_use]
    pub fn role(mut self, role: &str) -> Self {
        const ROLES: &str = "roles";
        if let Some((_, Claim::Texts(roles))) = self.claims.iter_mut().find(|(name, _)| name == ROLES) {
            roles.insert(role.to_owned());
            return self;
        }
        self.claim(ROLES, Claim::Texts([role.to_owned()].into()))
    }

    /// The same user at another time than the beginning of 1970, for rules that look at `now`. In milliseconds since then.
    #[must_use]
    pub fn at(self, now_ms: i64) -> Self {
        TestUser { now_ms, ..self }
    }

    /// The user may do this, as one mutation.
    ///
    /// # Errors
    /// [`RightsTestError::Denied`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may(&self, writes: Writes) -> Result<(), RightsTestError> {
        self.allowed(&self.explanation(writes)?)
    }

    /// The user may not do this, as one mutation.
    ///
    /// # Errors
    /// [`RightsTestError::Allowed`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_not(&self, writes: Writes) -> Result<(), RightsTestError> {
        self.denied(&self.explanation(writes)?)
    }

    /// The user may be a member of a log, by the value that names its instance.
    ///
    /// # Errors
    /// [`RightsTestError::Denied`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_join(&self, log: &str, instance: impl Into<Value>) -> Result<(), RightsTestError> {
        self.allowed(&self.trial.may_join(&self.caller(), &self.log(log, instance)?))
    }

    /// The user may not be a member of a log.
    ///
    /// # Errors
    /// [`RightsTestError::Allowed`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_not_join(&self, log: &str, instance: impl Into<Value>) -> Result<(), RightsTestError> {
        self.denied(&self.trial.may_join(&self.caller(), &self.log(log, instance)?))
    }

    /// The user may call this operation of a log.
    ///
    /// # Errors
    /// [`RightsTestError::Denied`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_run(&self, log: &str, instance: impl Into<Value>, operation: &str) -> Result<(), RightsTestError> {
        self.allowed(&self.trial.may_run(&self.caller(), &self.log(log, instance)?, operation))
    }

    /// The user may not call this operation of a log.
    ///
    /// # Errors
    /// [`RightsTestError::Allowed`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_not_run(&self, log: &str, instance: impl Into<Value>, operation: &str) -> Result<(), RightsTestError> {
        self.denied(&self.trial.may_run(&self.caller(), &self.log(log, instance)?, operation))
    }

    /// The user may call this method of an object.
    ///
    /// # Errors
    /// [`RightsTestError::Denied`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_call(&self, class: &str, id: &str, method: &str) -> Result<(), RightsTestError> {
        self.allowed(&self.use_of(class, id, Right::Call, Some(method))?)
    }

    /// The user may not call this method of an object.
    ///
    /// # Errors
    /// [`RightsTestError::Allowed`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_not_call(&self, class: &str, id: &str, method: &str) -> Result<(), RightsTestError> {
        self.denied(&self.use_of(class, id, Right::Call, Some(method))?)
    }

    /// The user's device may hold an object.
    ///
    /// # Errors
    /// [`RightsTestError::Denied`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_hold(&self, class: &str, id: &str) -> Result<(), RightsTestError> {
        self.allowed(&self.use_of(class, id, Right::Hold, None)?)
    }

    /// The user's device may not hold an object.
    ///
    /// # Errors
    /// [`RightsTestError::Allowed`] with the rule as a tree; [`RightsTestError::Mistake`].
    pub fn may_not_hold(&self, class: &str, id: &str) -> Result<(), RightsTestError> {
        self.denied(&self.use_of(class, id, Right::Hold, None)?)
    }

    /// The rows of a table that the user may see, in the order of their keys.
    ///
    /// # Errors
    /// [`RightsTestError::Mistake`]: the schema has no such table, or another one.
    pub fn sees<T: Table>(&self) -> Result<Vec<T>, RightsTestError> {
        let rows = self.trial.sees(&self.caller(), T::NAME)?;
        let definition: Option<&Definition> = self.trial.schema().table(T::NAME);
        let rows = rows.into_iter().map(|(key, row)| {
            let key = key.values().map_err(|error| RightsTestError::Mistake(error.to_string()))?;
            let definition = definition.ok_or_else(|| RightsTestError::Mistake(format!("no table {:?}", T::NAME)))?;
            Ok(T::from_record(&Record::new(definition, key, row))?)
        });
        rows.collect()
    }

    fn log(&self, name: &str, instance: impl Into<Value>) -> Result<LogId, RightsTestError> {
        if !self.trial.schema().logs().contains_key(name) {
            return Err(RightsTestError::Mistake(format!("the schema has no log {name:?}: correct its name")));
        }
        LogId::new(name, &instance.into()).map_err(|error| RightsTestError::Mistake(error.to_string()))
    }

    fn use_of(
        &self,
        class: &str,
        id: &str,
        right: Right,
        method: Option<&str>,
    ) -> Result<Explanation, RightsTestError> {
        let object = ObjectName::new(class, id).map_err(|error| RightsTestError::Mistake(error.to_string()))?;
        Ok(self.trial.may_use(&self.caller(), &object, right, method))
    }

    fn allowed(&self, explanation: &Explanation) -> Result<(), RightsTestError> {
        if explanation.is_allowed() {
            return Ok(());
        }
        Err(RightsTestError::Denied { user: self.name.clone(), explained: self.text(explanation) })
    }

    fn denied(&self, explanation: &Explanation) -> Result<(), RightsTestError> {
        if !explanation.is_allowed() {
            return Ok(());
        }
        Err(RightsTestError::Allowed { user: self.name.clone(), explained: self.text(explanation) })
    }

    fn explanation(&self, writes: Writes) -> Result<Explanation, RightsTestError> {
        Ok(self.trial.may(&self.caller(), &writes.whole()?)?)
    }

    fn text(&self, explanation: &Explanation) -> String {
        explanation.text(self.trial.schema())
    }

    fn caller(&self) -> Caller {
        Caller { claims: Claims::new(&self.name, self.claims.clone()), now_ms: self.now_ms }
    }
}

#[cfg(test)]
mod tests;
