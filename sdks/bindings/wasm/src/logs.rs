//! Logs: joined, called, asked how far they are. Only a core that leads has any.
//!
//! Invariant: a log keeps its number here for as long as the core lives.

use std::time::Duration;

use iolite_client::{LogMember, Run};
use iolite_values::{LogId, TableId, Value};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::core::{Core, wall};
use crate::failure::Failure;
use crate::output::text;
use crate::value::{Place, ticket_from_js, value_from_js};

#[wasm_bindgen]
impl Core {
    /// Joins a log, or finds it joined. The answer is the log's number in later calls.
    ///
    /// # Errors
    /// Code `call`: the schema has no such log, or too many are joined. Code `transaction`: an instance of another type.
    #[wasm_bindgen(js_name = joinLog)]
    pub fn join_log(&mut self, name: &str, instance: &JsValue) -> Result<u32, JsValue> {
        let instance = self.instance_of(name, instance)?;
        let log = self.role.client()?.join(name, &instance).map_err(Failure::from)?;
        let number = self.log_number(&log).unwrap_or_else(|| {
            self.logs.push(log);
            self.logs.len() as u32 - 1
        });
        Ok(number)
    }

    /// Calls an operation of a log that is joined, and gives the counter of the call. `ticket`: as of `mutate`.
    ///
    /// # Errors
    /// Code `call`.
    #[wasm_bindgen(js_name = operateLog)]
    pub fn operate_log(
        &mut self,
        log: u32,
        operation: &str,
        arguments: &str,
        ticket: &str,
        wall_ms: f64,
    ) -> Result<f64, JsValue> {
        let (log, ticket) = (self.joined(log)?, ticket_from_js(ticket)?);
        let counter = self.role.client()?.operate_by_ticket(wall(wall_ms), ticket, &log, operation, arguments);
        Ok(counter.map_err(Failure::from)?.0 as f64)
    }

    /// Replays what others do to a log in batches, so many milliseconds apart; 0: as it comes.
    ///
    /// # Errors
    /// Code `call`: more than 10 s, or no number of milliseconds.
    #[wasm_bindgen(js_name = rebaseLogEvery)]
    pub fn rebase_log_every(&mut self, log: u32, every_ms: f64) -> Result<(), JsValue> {
        let log = self.joined(log)?;
        // What is no time is longer than every limit.
        let every = Duration::try_from_secs_f64(every_ms / 1000.0).unwrap_or(Duration::MAX);
        Ok(self.role.client()?.rebase_every(&log, every).map_err(Failure::from)?)
    }

    /// How far a log is replayed here, why no further, and after how many entries another member has another state: `[position, stopped, differs]`.
    ///
    /// # Errors
    /// It is not joined: the package's mistake.
    #[wasm_bindgen(js_name = logState)]
    pub fn log_state(&mut self, log: u32) -> Result<Array, JsValue> {
        let log = self.joined(log)?;
        let state = self.role.client()?.logs().find(|joined| joined.log == log);
        let (position, stopped, differs) =
            state.map(|state| (state.position, state.stopped, state.differs)).unwrap_or_default();
        let differs = differs.map_or(JsValue::UNDEFINED, |index| JsValue::from_f64(index as f64));
        Ok(Array::of3(&JsValue::from_f64(position as f64), &text(stopped.as_deref()), &differs))
    }

    /// The members of a log: the origin of each in hexadecimal digits, and whether it is this client, in turn.
    ///
    /// # Errors
    /// It is not joined: the package's mistake.
    #[wasm_bindgen(js_name = logMembers)]
    pub fn log_members(&mut self, log: u32) -> Result<Array, JsValue> {
        let log = self.joined(log)?;
        let members = self.role.client()?.log_members(&log).into_iter();
        let parts = |member: LogMember| [JsValue::from_str(&member.origin.to_string()), JsValue::from(member.is_own)];
        Ok(members.flat_map(parts).collect())
    }

    /// Leaves a log: nothing of it is kept here any more. It keeps its number, for when it is joined again.
    ///
    /// # Errors
    /// Code `call`: operations that were called here are pending.
    #[wasm_bindgen(js_name = leaveLog)]
    pub fn leave_log(&mut self, log: u32) -> Result<(), JsValue> {
        let log = self.joined(log)?;
        Ok(self.role.client()?.leave_log(&log).map_err(Failure::from)?)
    }

    /// The instance of the log whose operation runs: the first value of its tables' keys. `undefined` in every other run.
    ///
    /// # Errors
    /// An integer that does not fit a number.
    pub fn instance(&self) -> Result<JsValue, JsValue> {
        let log = self.run.as_ref().and_then(Run::log);
        let layout = log.and_then(|log| self.layouts.iter().find(|layout| self.is_of(layout.table, log)));
        let (Some(log), Some(layout)) = (log, layout) else { return Ok(JsValue::UNDEFINED) };
        let values = log.instance.values().map_err(Failure::from)?;
        Ok(values.first().map_or(Ok(JsValue::UNDEFINED), |value| layout.first_of_key_to_js(value))?)
    }
}

impl Core {
    /// The number of a log, if this core was asked to join it.
    pub(crate) fn log_number(&self, log: &LogId) -> Option<u32> {
        self.logs.iter().position(|own| own == log).map(|at| at as u32)
    }

    fn joined(&self, number: u32) -> Result<LogId, Failure> {
        let unknown = || Failure::of_transaction(format!("there is no log {number}"));
        self.logs.get(number as usize).cloned().ok_or_else(unknown)
    }

    fn is_of(&self, table: TableId, log: &LogId) -> bool {
        let table = self.role.schema().table_by_id(table);
        table.and_then(|table| table.log()).is_some_and(|own| **own == *log.name)
    }

    /// The value of the first key column. Of a log that the schema lacks it is of no interest.
    pub(crate) fn instance_of(&self, log: &str, instance: &JsValue) -> Result<Value, Failure> {
        let schema = self.role.schema();
        let table = schema.tables().find(|(_, table)| table.log().is_some_and(|own| **own == *log));
        let first = table.and_then(|(name, table)| Some((name, table.key.first()?, table.key_types().next()?)));
        let Some((table, column, scalar)) = first else { return Ok(Value::Null) };
        value_from_js(instance, scalar, &Place { table, column })
    }
}
