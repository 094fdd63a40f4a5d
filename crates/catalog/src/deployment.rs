//! Deployments: an operator puts a schema and its rights into effect together, by one version of the catalog.
//!
//! Invariants: a deployment takes nothing away that a version before it has. Rights with a problem are never in effect. They cover every table of the
//! schema that they stand beside, those of earlier versions included.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_rights::{ClaimType, Context, Problem, Rights, RightsError};
use iolite_values::{Schema, SchemaError};
use serde_json::value::RawValue;

use crate::{Catalog, Growth};

/// A schema, and who may do what with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub schema: Schema,
    pub rights: Rights,
}

/// The reason for which a deployment cannot be read, or not be put into effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeploymentError {
    #[error("this is no deployment: {problem}. It is JSON with `schema` and `rights`, as `defineRights` makes it")]
    Unreadable { problem: String },
    #[error("the schema: {0}")]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Unread(#[from] RightsError),
    #[error("{}", lines(.0))]
    Rights(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts<'a> {
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    rights: &'a RawValue,
}

impl Deployment {
    /// Reads `{"schema": …, "rights": …}`.
    ///
    /// # Errors
    /// [`DeploymentError`] with the place, and a sentence that says what to write there.
    pub fn from_json(text: &str) -> Result<Deployment, DeploymentError> {
        let parts: Parts<'_> =
            serde_json::from_str(text).map_err(|error| DeploymentError::Unreadable { problem: error.to_string() })?;
        let (schema, rights) = (Schema::from_json(parts.schema.get())?, Rights::from_json(parts.rights.get())?);
        Ok(Deployment { schema, rights })
    }

    /// The same as JSON, in its canonical form.
    pub fn to_json(&self) -> String {
        format!(r#"{{"rights":{},"schema":{}}}"#, self.rights.to_json(), self.schema.to_json())
    }
}

impl Catalog {
    /// The version that puts a deployment into effect. None: it is in effect.
    ///
    /// `claims` are those that the operator has named. None: any claim may be said. `has_indexes` says whether the store has secondary indexes.
    ///
    /// # Errors
    /// [`DeploymentError`]: the schema contradicts the server's, or something is wrong with the rights.
    pub fn deploy(
        &self,
        deployment: &Deployment,
        claims: Option<&BTreeMap<String, ClaimType>>,
        has_indexes: bool,
    ) -> Result<Option<Growth>, DeploymentError> {
        Catalog::check_names(&deployment.schema)?;
        let schema = self.schema.merged_with(&deployment.schema)?;
        let context = Context { schema: &schema, claims, classes: None, has_indexes };
        let problems = deployment.rights.problems(&context);
        if !problems.is_empty() {
            return Err(DeploymentError::Rights(problems));
        }
        if schema == self.schema && self.rights.as_deref() == Some(&deployment.rights) {
            return Ok(None);
        }
        Ok(Some(Growth { rights: Some(Arc::new(deployment.rights.clone())), ..self.growth_to(schema) }))
    }
}
