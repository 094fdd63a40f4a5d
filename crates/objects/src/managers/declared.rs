//! The managers of a class, in their canonical text: `AtLeastOnceRPC within=5000; KeepInPlace`.
//!
//! Invariant: a text that is read names managers that are known, one a slot, from the outermost, with all their settings.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use iolite_wire::limits::MANAGERS;

use super::facts::{Kind, Misfit, misfit};
use super::{AnyManager, Coordinator, InstanceManager, Proxy, Settings, built_in};

/// A manager with its settings.
#[derive(Clone, Debug)]
pub struct DeclaredManager {
    pub manager: Arc<dyn AnyManager>,
    pub settings: Settings,
}

/// Why there are no such managers. Each message says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagersProblem {
    /// No manager has this name.
    #[error(
        "no manager is called {name:?} here: there are {known}. Managers of an app's own are given to each Rust host"
    )]
    Unknown { name: String, known: String },
    /// The manager has no such setting.
    #[error("{name} has no setting {setting:?}: it has {known}")]
    Setting { name: String, setting: String, known: String },
    /// The text has a word that is no setting.
    #[error("{0:?} is no setting: write it as name=number")]
    Malformed(String),
    /// Two of the managers exclude each other.
    #[error("{0}")]
    Misfit(Misfit),
    /// The text is too long for a message.
    #[error("these managers take {has} bytes as text, of {limit}: give their settings shorter names", limit = MANAGERS)]
    TooLong { has: usize },
    /// A manager of an app's own has a name that a text cannot have.
    #[error("{0:?} is no name of a manager or of a setting: such a name has letters and digits only")]
    Name(&'static str),
    /// A manager of an app's own has the name of another one.
    #[error("two managers are called {0:?}: give yours another name")]
    Taken(&'static str),
}

/// The managers of a node: those that are built in, and these.
///
/// # Errors
/// [`ManagersProblem::Name`] and [`ManagersProblem::Taken`].
pub fn with_built_in(own: &[Arc<dyn AnyManager>]) -> Result<Vec<Arc<dyn AnyManager>>, ManagersProblem> {
    let mut all = built_in();
    for manager in own {
        let kind = manager.kind();
        let mut names = kind.settings.iter().map(|(name, _)| *name).chain([kind.name]);
        if let Some(wrong) = names.find(|name| !is_name(name)) {
            return Err(ManagersProblem::Name(wrong));
        }
        if all.iter().any(|other| other.kind().name == kind.name) {
            return Err(ManagersProblem::Taken(kind.name));
        }
        all.push(manager.clone());
    }
    Ok(all)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads a text. `known` are the managers of the node.
///
/// # Errors
/// [`ManagersProblem`].
pub fn parse(text: &str, known: &[Arc<dyn AnyManager>]) -> Result<Vec<DeclaredManager>, ManagersProblem> {
    read(parts(text), known)
}

/// Looks at those managers of a text that are known here. A server has no use for the others: only nodes that have the object, or call it, run its managers.
///
/// # Errors
/// [`ManagersProblem`], but for [`ManagersProblem::Unknown`].
pub(crate) fn check_known(text: &str, known: &[Arc<dyn AnyManager>]) -> Result<(), ManagersProblem> {
    read(parts(text).filter(|part| find(part, known).is_some()), known).map(drop)
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|part| !part.is_empty())
}

fn read<'t>(
    parts: impl Iterator<Item = &'t str>,
    known: &[Arc<dyn AnyManager>],
) -> Result<Vec<DeclaredManager>, ManagersProblem> {
    let mut declared: Vec<DeclaredManager> = Vec::new();
    for part in parts {
        let one = one(part, known)?;
        let at = declared.partition_point(|outer| outer.manager.kind().slot <= one.manager.kind().slot);
        declared.insert(at, one);
    }
    let kinds: Vec<&Kind> = declared.iter().map(|declared| declared.manager.kind()).collect();
    misfit(&kinds).map_or(Ok(declared), |misfit| Err(ManagersProblem::Misfit(misfit)))
}

fn name_of(part: &str) -> &str {
    part.split_whitespace().next().unwrap_or_default()
}

fn find<'k>(part: &str, known: &'k [Arc<dyn AnyManager>]) -> Option<&'k Arc<dyn AnyManager>> {
    known.iter().find(|manager| manager.kind().name == name_of(part))
}

fn one(part: &str, known: &[Arc<dyn AnyManager>]) -> Result<DeclaredManager, ManagersProblem> {
    let Some(manager) = find(part, known) else {
        let known = known.iter().map(|manager| manager.kind().name).collect::<Vec<_>>().join(", ");
        return Err(ManagersProblem::Unknown { name: name_of(part).to_owned(), known });
    };
    let Kind { name, settings, .. } = manager.kind();
    let mut settings: Vec<(String, u64)> = settings.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    for word in part.split_whitespace().skip(1) {
        let pair = word.split_once('=').and_then(|(name, value)| Some((name, value.parse::<u64>().ok()?)));
        let Some((setting, value)) = pair else { return Err(ManagersProblem::Malformed(word.to_owned())) };
        match settings.iter_mut().find(|(own, _)| own == setting) {
            Some((_, own)) => *own = value,
            None => {
                let known = settings.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".to_owned() } else { known };
                let (name, setting) = ((*name).to_owned(), setting.to_owned());
                return Err(ManagersProblem::Setting { name, setting, known });
            }
        }
    }
    Ok(DeclaredManager { manager: manager.clone(), settings: Settings(settings) })
}

/// The one form of a text that names managers which are built in.
///
/// # Errors
/// [`ManagersProblem`].
pub fn canonical(text: &str) -> Result<String, ManagersProblem> {
    canonical_of(text, &built_in())
}

/// The one form of a text. `known` are the managers of the node.
///
/// # Errors
/// [`ManagersProblem`].
pub fn canonical_of(text: &str, known: &[Arc<dyn AnyManager>]) -> Result<String, ManagersProblem> {
    let text = write(&parse(text, known)?);
    if text.len() > MANAGERS.most { Err(ManagersProblem::TooLong { has: text.len() }) } else { Ok(text) }
}

/// The canonical text of managers.
pub fn write(declared: &[DeclaredManager]) -> String {
    declared.iter().map(DeclaredManager::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for DeclaredManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.manager.kind().name, self.settings)
    }
}

/// The layers of an object at one node: the components that are there.
#[derive(Clone)]
pub(crate) struct Layers {
    pub proxies: Vec<Option<Arc<dyn Proxy>>>,
    pub instances: Vec<Option<Arc<dyn InstanceManager>>>,
    pub coordinators: Vec<Option<Arc<dyn Coordinator>>>,
}

impl Layers {
    /// No managers: of a copy.
    pub fn none() -> Layers {
        Layers { proxies: Vec::new(), instances: Vec::new(), coordinators: Vec::new() }
    }

    pub fn of(declared: &[DeclaredManager]) -> Layers {
        Layers {
            proxies: declared.iter().map(|declared| declared.manager.make_proxy(&declared.settings)).collect(),
            instances: declared.iter().map(|declared| declared.manager.make_instance(&declared.settings)).collect(),
            coordinators: declared
                .iter()
                .map(|declared| declared.manager.make_coordinator(&declared.settings))
                .collect(),
        }
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write!(text, "{} layers", self.proxies.len())?;
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Manager, Slot};
    use super::*;

    fn canonical(text: &str) -> Result<String, String> {
        super::canonical(text).map_err(|problem| problem.to_string())
    }

    #[test]
    fn managers_are_read_and_written_in_one_order_with_all_their_settings() {
        let both = "AtLeastOnceRPC within=5000; KeepInPlace";
        assert_eq!(canonical("KeepInPlace ; AtLeastOnceRPC"), Ok(both.to_owned()));
        assert_eq!(canonical(both), Ok(both.to_owned()));
        assert_eq!(canonical("AtLeastOnceRPC within=7"), Ok("AtLeastOnceRPC within=7".to_owned()));
        assert_eq!(canonical(""), Ok(String::new()));
    }

    #[test]
    fn a_text_that_is_wrong_says_what_to_write() {
        for (text, word) in [
            ("KeepInPlaces", "there are AtLeastOnceRPC, "),
            ("AtLeastOnceRPC seconds=5", "it has within"),
            ("AtLeastOnceRPC within=five", "name=number"),
            ("KeepInPlace; ExplicitMigration", "both do placement"),
        ] {
            let problem = canonical(text).expect_err(text);
            assert!(problem.contains(word), "{problem}");
        }
    }

    #[derive(Debug)]
    struct Raft;

    impl Manager for Raft {
        const KIND: Kind = Kind { name: "KeepInPlace", slot: Slot::Replication, facts: &[], settings: &[("a b", 1)] };
    }

    #[derive(Debug)]
    struct Stays;

    impl Manager for Stays {
        const KIND: Kind = Kind { name: "KeepInPlace", slot: Slot::Replication, facts: &[], settings: &[] };
    }

    #[test]
    fn a_manager_of_an_app_has_a_name_of_its_own_that_can_be_written() {
        assert_eq!(with_built_in(&[Arc::new(Raft)]).expect_err("a space"), ManagersProblem::Name("a b"));
        assert_eq!(with_built_in(&[Arc::new(Stays)]).expect_err("taken"), ManagersProblem::Taken("KeepInPlace"));
    }

    #[test]
    fn a_server_looks_at_the_managers_that_it_knows_and_passes_others_on() {
        let check = |text| check_known(text, &built_in());
        assert_eq!(check("Audit of whatever; KeepInPlace; LeaseCaching lease=5"), Ok(()));
        assert!(matches!(check("KeepInPlace; Audit; ExplicitMigration"), Err(ManagersProblem::Misfit(_))));
        assert!(matches!(check("Audit; KeepInPlace for=ever"), Err(ManagersProblem::Malformed(_))));
    }
}
