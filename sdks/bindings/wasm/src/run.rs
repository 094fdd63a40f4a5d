//! Runs of closures: begun, run once more to compare, finished.

use iolite_client::{Closed, Peek, Run, Transaction};
use wasm_bindgen::prelude::*;

use crate::core::{Core, wall_ms};
use crate::failure::Failure;
use crate::layout::Layout;
use crate::role::Role;

#[wasm_bindgen]
impl Core {
    /// Begins the run that was asked for last.
    ///
    /// # Errors
    /// None was asked for.
    pub fn begin(&mut self) -> Result<(), JsValue> {
        let of = self.asked.ok_or_else(|| Failure::of_transaction("no closure was asked for"))?;
        self.run = Some(self.role.begin(of));
        Ok(())
    }

    /// Puts the run aside and begins it once more. The first one counts; the second is only compared with it.
    ///
    /// # Errors
    /// None was begun.
    #[wasm_bindgen(js_name = beginAgain)]
    pub fn begin_again(&mut self) -> Result<(), JsValue> {
        self.kept = self.run.take();
        self.begin()
    }

    /// Whether the run missed data, so that it does not count.
    #[wasm_bindgen(js_name = isStopped)]
    pub fn is_stopped(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_stopped)
    }

    /// Ends the run: `returned`, `aborted`, `failed` or `unknown`.
    ///
    /// # Errors
    /// None was begun.
    pub fn finish(&mut self, closed: &str, message: &str) -> Result<(), JsValue> {
        let last = self.run.take();
        let run = self.kept.take().or(last).ok_or_else(|| Failure::of_transaction("no run was begun"))?;
        self.asked = None;
        let closed = match closed {
            "returned" => Closed::Returned,
            "aborted" => Closed::Aborted(message.to_owned()),
            "unknown" => Closed::Unknown,
            _ => Closed::Failed(message.to_owned()),
        };
        self.role.finish(run, closed);
        Ok(())
    }

    /// When the mutation was called, in milliseconds since 1970.
    #[wasm_bindgen(js_name = callTime)]
    pub fn call_time(&mut self) -> Result<f64, JsValue> {
        Ok(self.in_run(|transaction| Ok(wall_ms(transaction.now())))?)
    }

    #[wasm_bindgen(js_name = newId)]
    pub fn new_id(&mut self) -> Result<String, JsValue> {
        Ok(self.in_run(|transaction| Ok(transaction.new_id().to_string()))?)
    }

    /// From 0 up to 1, not included.
    pub fn random(&mut self) -> Result<f64, JsValue> {
        const STEPS: f64 = (1u64 << 53) as f64;
        Ok(self.in_run(|transaction| Ok((transaction.random() >> 11) as f64 / STEPS))?)
    }
}

impl Core {
    pub(crate) fn in_run<T>(
        &mut self,
        call: impl FnOnce(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        call(&mut transaction(&self.role, &mut self.run, &mut self.peek)?)
    }

    /// The same, on one table.
    pub(crate) fn on_table<T>(
        &mut self,
        table: u32,
        call: impl FnOnce(&mut Transaction<'_>, &Layout) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let unknown = || Failure::of_transaction(format!("there is no table {table}"));
        let layout = self.layouts.get(table as usize).ok_or_else(unknown)?;
        call(&mut transaction(&self.role, &mut self.run, &mut self.peek)?, layout)
    }

    /// The same for a write. One that is stopped by missing data returns as if it had worked, so that the closure goes on and everything that
    /// its other writes miss is fetched at once. That is safe: a stopped run does not count.
    pub(crate) fn write_on_table(
        &mut self,
        table: u32,
        call: impl FnOnce(&mut Transaction<'_>, &Layout) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.on_table(table, call) {
            Err(failure) if failure.is_stopped() => Ok(()),
            other => other,
        }
    }
}

/// The handle of the peek or the run that goes on.
fn transaction<'a>(
    role: &'a Role,
    run: &'a mut Option<Run>,
    peek: &'a mut Option<Peek>,
) -> Result<Transaction<'a>, Failure> {
    match (peek, run) {
        (Some(peek), _) => Ok(role.peek_transaction(peek)),
        (None, Some(run)) => Ok(role.transaction(run)),
        (None, None) => Err(Failure::of_transaction("no closure runs")),
    }
}
