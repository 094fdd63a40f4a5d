//! Deployments: an operator puts a schema and its rights into effect, by the next version of the catalog.
//!
//! Invariants: one deployment at a time, and none beside a growth. It is answered once this gateway has its version from the feed, so from then on the
//! gateway serves by it. In doubt it is answered with an error that says so. A plan commits nothing.

use iolite_catalog::{Changes, Deployment, Growth};
use iolite_store::{CommitReply, Refusal};
use iolite_values::Counter;

use crate::Gateway;
use crate::interface::{AccessNews, Output};
use crate::schema_growth::Growing;
use crate::sessions::greeting::{refusal_of, unserved_table};

/// How often a deployment is tried: another gateway may be first once.
const TRIES: u8 = 2;

const NOT_THERE: &str = "the store is not there yet: ask again in a moment";
const BUSY: &str = "another deployment is under way: ask again in a moment";
const OVERTAKEN: &str = "other gateways have changed the schema or the rights meanwhile, and nothing was put into effect: look at the plan, and ask again";
const IN_DOUBT: &str =
    "the store has started again, so the deployment may be in effect or not: look at the plan, which says so";

/// Names an order to deploy. Chosen by the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeploymentId(pub u64);

/// An order to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deploy {
    pub deployment: Deployment,
    /// Whether nothing is put into effect.
    pub is_plan: bool,
}

/// The answer to an order to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The version of the catalog that has it in effect, or would have.
    pub version: i64,
    /// None: it was in effect before.
    pub changes: Option<Changes>,
}

/// The deployment that is under way, if there is one.
#[derive(Debug, Default)]
pub struct Deploying(Option<Order>);

#[derive(Debug)]
struct Order {
    id: DeploymentId,
    deployment: Deployment,
    tries_left: u8,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// Something else grows, or the feed has not brought the version that was first.
    Waiting,
    Committing(Counter, Deployed),
    /// Committed; this gateway has it when the growth is finished.
    Committed(Deployed),
}

impl Deploying {
    pub fn validate(&self, growing: Option<Growing>) {
        match self.0.as_ref().map(|own| &own.step) {
            None => {}
            Some(Step::Waiting) => assert!(growing.is_some(), "a deployment waits for a growth"),
            Some(Step::Committing(..)) => assert_eq!(growing, Some(Growing::Asked), "it is the growth"),
            Some(Step::Committed(_)) => assert!(matches!(growing, Some(Growing::Decided(_))), "it is the growth"),
        }
    }
}

impl Gateway {
    pub(crate) fn on_deploy(&mut self, asked: DeploymentId, deploy: Deploy) {
        let Deploy { deployment, is_plan } = deploy;
        if !self.home.is_serving() {
            return self.tell_deployed(asked, Err(NOT_THERE.into()));
        }
        if is_plan {
            let result = self.deployment_of(&deployment).map(|(deployed, _)| deployed);
            return self.tell_deployed(asked, result);
        }
        if self.deploying.0.is_some() {
            return self.tell_deployed(asked, Err(BUSY.into()));
        }
        self.deploying.0 = Some(Order { id: asked, deployment, tries_left: TRIES, step: Step::Waiting });
        self.try_deployment();
    }

    /// The changes of a deployment, and the version that makes them. None: nothing is to be done.
    fn deployment_of(&self, deployment: &Deployment) -> Result<(Deployed, Option<Growth>), String> {
        if self.group.is_some()
            && let Some(table) = unserved_table(&deployment.schema)
        {
            return Err(refusal_of(table));
        }
        let (claims, has_indexes) = (self.settings.access.claims(), self.settings.has_indexes);
        let growth =
            self.catalog.deploy(deployment, claims.as_ref(), has_indexes).map_err(|error| error.to_string())?;
        let version = growth.as_ref().map_or(self.catalog.version(), |growth| growth.version);
        let changes = growth.as_ref().map(|growth| self.catalog.changes(growth));
        Ok((Deployed { version, changes }, growth))
    }

    /// Commits the deployment that waits, unless something else grows.
    fn try_deployment(&mut self) {
        if self.growing.is_some() {
            return;
        }
        let Some(order) = self.deploying.0.take_if(|own| matches!(own.step, Step::Waiting)) else { return };
        if !self.home.is_serving() {
            return self.tell_deployed(order.id, Err(NOT_THERE.into()));
        }
        match self.deployment_of(&order.deployment) {
            Err(problem) => self.tell_deployed(order.id, Err(problem)),
            Ok((deployed, None)) => self.tell_deployed(order.id, Ok(deployed)),
            Ok((deployed, Some(growth))) => {
                let step = Step::Committing(self.commit_growth(&growth), deployed);
                self.deploying.0 = Some(Order { step, tries_left: order.tries_left - 1, ..order });
            }
        }
    }

    /// The store has answered a growth. Perhaps it is the deployment.
    pub(crate) fn deployment_decided(&mut self, counter: Counter, reply: &CommitReply) {
        let Some(order) = self.take_committing(counter) else { return };
        let Step::Committing(_, deployed) = order.step else { return };
        let step = match reply {
            CommitReply::Completed(_) => Step::Committed(deployed),
            CommitReply::Conflict { .. } if order.tries_left == 0 => {
                return self.tell_deployed(order.id, Err(OVERTAKEN.into()));
            }
            CommitReply::Conflict { .. } => Step::Waiting,
            // A growth has no such ends.
            CommitReply::Forgotten | CommitReply::InDoubt { .. } => {
                return self.tell_deployed(order.id, Err(IN_DOUBT.into()));
            }
        };
        self.deploying.0 = Some(Order { step, ..order });
    }

    /// The store refuses a growth. Returns whether it is the deployment.
    pub(crate) fn deployment_refused(&mut self, counter: Counter, refusal: &Refusal) -> bool {
        let Some(order) = self.take_committing(counter) else { return false };
        self.tell_deployed(order.id, Err(refusal.to_string()));
        true
    }

    fn take_committing(&mut self, counter: Counter) -> Option<Order> {
        self.deploying.0.take_if(|own| matches!(&own.step, Step::Committing(of, _) if *of == counter))
    }

    /// A growth has ended, and the feed shows what came of it.
    pub(crate) fn go_on_deploying(&mut self) {
        if let Some(order) = self.deploying.0.take_if(|own| matches!(own.step, Step::Committed(..)))
            && let Step::Committed(deployed) = order.step
        {
            self.tell_deployed(order.id, Ok(deployed));
        }
        self.try_deployment();
    }

    /// The store has started again: nobody knows what comes of the deployment.
    pub(crate) fn forget_deployment(&mut self) {
        if let Some(order) = self.deploying.0.take() {
            self.tell_deployed(order.id, Err(IN_DOUBT.into()));
        }
    }

    fn tell_deployed(&mut self, asked: DeploymentId, result: Result<Deployed, String>) {
        self.output(Output::Access(AccessNews::Deployed(asked, result)));
    }
}
