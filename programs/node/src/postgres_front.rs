//! A gateway in front of PostgreSQL, and tracking beside it, as one machine. The store is outside of it.

use iolite_gateway::{Gateway, Input, Output};
use iolite_machine::{Instant, Machine, Now};
use iolite_tracking::Tracking;

#[derive(Debug)]
pub(crate) struct PostgresFront {
    pub gateway: Gateway,
    /// None: no objects are served.
    pub tracking: Option<Tracking>,
}

#[derive(Debug)]
pub(crate) enum PostgresInput {
    Gateway(Input),
    Tracking(iolite_tracking::Input),
}

#[derive(Debug)]
pub(crate) enum PostgresOutput {
    Gateway(Output),
    Tracking(iolite_tracking::Output),
}

impl Machine for PostgresFront {
    type Input = PostgresInput;
    type Output = PostgresOutput;

    fn handle(&mut self, now: Now, input: PostgresInput) {
        match (input, &mut self.tracking) {
            (PostgresInput::Gateway(input), _) => self.gateway.handle(now, input),
            (PostgresInput::Tracking(input), Some(tracking)) => tracking.handle(now, input),
            (PostgresInput::Tracking(_), None) => {}
        }
    }

    fn poll(&mut self) -> Option<PostgresOutput> {
        let of_tracking = self.tracking.as_mut().and_then(Machine::poll).map(PostgresOutput::Tracking);
        of_tracking.or_else(|| self.gateway.poll().map(PostgresOutput::Gateway))
    }

    fn deadline(&self) -> Option<Instant> {
        let tracking = self.tracking.as_ref().and_then(Machine::deadline);
        [self.gateway.deadline(), tracking].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.gateway.on_deadline(now);
        if let Some(tracking) = &mut self.tracking {
            tracking.on_deadline(now);
        }
    }

    fn validate(&self) {
        self.gateway.validate();
        if let Some(tracking) = &self.tracking {
            tracking.validate();
        }
    }
}
