//! A node's file: which node of the cluster it is, and what it has on its machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_catalog::SchemaPolicy;
use iolite_engine::Durability;
use iolite_gateway::Without;
use iolite_host::{AppFiles, Hosts, LinkSecurity, Origins, TlsFiles};
use iolite_replication::node::ReplicaId;
use iolite_values::CoordinatorId;
use serde::{Deserialize, Serialize};

use super::blobs::{BlobsConfig, BlobsTable};
use super::centre::{CentreConfig, CentreProblem, CentreTable};
use super::cluster::Cluster;
use super::error::{ConfigError, ConfigProblem, read};
use super::key_address::KeyAddress;
use super::objects::{ObjectsConfig, ObjectsProblem, ObjectsTable};
use super::tokens::{TokensConfig, TokensProblem, TokensTable};
use crate::Directory;
use crate::data_directory::is_data_directory;
use crate::names::{FIRST_NUMBER_OF_COMMANDS, NodeRole};
use crate::objects::ObjectsAddress;

/// Milliseconds of a round trip that are added to each: no cluster works with more.
pub const DELAY_MS_MAX: f64 = 60_000.0;

/// One node: its file, and the cluster's. Paths are relative to the file that they are in.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    pub directory: Directory,
    pub security: LinkSecurity,
    /// Half of the round trip that every link gets in addition: for measurements.
    pub delay: Duration,
    /// Where its process writes its number, and holds a lock.
    pub pid_file: Option<PathBuf>,
    pub faults: Faults,
    pub role: RoleConfig,
}

/// What a node does wrong on purpose: for tests with real processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// When it is killed, it loses what a power cut would take: [`iolite_engine::HoldingDisk`].
    pub hold_unsynced: bool,
    /// A file of microseconds by which its wall clock is wrong.
    pub clock_shift_file: Option<PathBuf>,
    /// The means that this gateway does without, so that its use is measured.
    pub without: Without,
    /// A class of which no user may do anything at this gateway.
    pub deny_class: Option<String>,
}

#[derive(Clone, Debug)]
pub enum RoleConfig {
    Store(StoreConfig),
    Gateway(Box<GatewayConfig>),
}

/// A replica of one shard.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub id: ReplicaId,
    pub data: PathBuf,
    pub durability: Durability,
    /// Where other nodes reach it.
    pub listen: Vec<String>,
    /// Where its probes and metrics are.
    pub observe: Option<SocketAddr>,
}

/// What clients connect to.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    pub id: CoordinatorId,
    pub listen: SocketAddr,
    /// The file of the operator's token; made if it is missing. Clients are let in by it, too, unless there are [`GatewayConfig::tokens`].
    pub token: PathBuf,
    /// The tokens of users, by which clients are let in.
    pub tokens: Option<TokensConfig>,
    /// Whether pages and programs of this machine are told the token, at `/iolite.json`: for development.
    pub tells_token: bool,
    /// The folder of the app's page.
    pub app: Option<PathBuf>,
    /// The node's own files, and the folders that they are in: none of them is the app's.
    pub secrets: Vec<PathBuf>,
    /// Whose pages may connect beside that one.
    pub origins: Origins,
    pub schemas: Schemas,
    /// The store of chunks. Without one this gateway takes no blob that does not lie in its row.
    pub blobs: Option<BlobsConfig>,
    /// The group of data centres that it is of. None: this one is alone.
    pub centre: Option<Box<CentreConfig>>,
    /// Its part in objects. None: it serves none.
    pub objects: Option<ObjectsConfig>,
}

/// Whether clients make the schema grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schemas {
    /// What a client's schema adds is added to the store's: for development.
    Grow,
    /// A client's schema has to be covered by the store's.
    Fixed,
}

/// The file, as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeFile {
    pub cluster: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<PathBuf>,
    #[serde(default)]
    pub plain: bool,
    #[serde(default)]
    pub delay_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "FaultsTable::is_nothing")]
    pub faults: FaultsTable,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blobs: Option<BlobsTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centre: Option<CentreTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectsTable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultsTable {
    #[serde(default)]
    pub hold_unsynced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_shift_file: Option<PathBuf>,
    /// For measurements: what a gateway of the replicated store does without.
    #[serde(default, skip_serializing_if = "WithoutWord::is_nothing")]
    pub without: WithoutWord,
    /// A class of objects of which this gateway lets no user do anything: rights come with access lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny_class: Option<String>,
}

/// [`Without`], as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutWord {
    #[default]
    Nothing,
    DataPush,
    DataTypes,
}

impl FaultsTable {
    fn is_nothing(&self) -> bool {
        *self == FaultsTable::default()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreTable {
    pub number: u64,
    pub data: PathBuf,
    #[serde(default)]
    pub durability: DurabilityWord,
    /// Where it listens, if that is not the address that others know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observe: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DurabilityWord {
    #[default]
    Fsync,
    Memory,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayTable {
    pub number: u16,
    pub listen: SocketAddr,
    pub token: PathBuf,
    #[serde(default)]
    pub tells_token: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    pub schemas: Schemas,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokensTable>,
}

impl NodeConfig {
    /// # Errors
    /// [`ConfigError`], of this file or of the cluster's.
    pub fn read(file: &Path) -> Result<NodeConfig, ConfigError> {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let node: NodeFile = read(file)?;
        let directory = Directory::open(&folder.join(&node.cluster))?;
        let of_group = node.centre.as_ref().and_then(|centre| centre.certificates.clone());
        let own = [Some(node.cluster.clone()), node.certificates.clone(), node.pid_file.clone(), of_group];
        let mut config = NodeConfig::of(node, directory, &folder).map_err(|problem| problem.of(file))?;
        if let RoleConfig::Gateway(gateway) = &mut config.role {
            gateway.keep_secret(file, own.into_iter().flatten().map(|own| folder.join(own)));
        }
        Ok(config)
    }

    pub fn node(&self) -> NodeRole {
        match &self.role {
            RoleConfig::Store(store) => NodeRole::Store(store.id),
            RoleConfig::Gateway(gateway) => NodeRole::Gateway(gateway.id),
        }
    }

    fn of(file: NodeFile, directory: Directory, folder: &Path) -> Result<NodeConfig, ConfigProblem> {
        let security = match (&file.certificates, file.plain) {
            (Some(certificates), false) => LinkSecurity::Tls(TlsFiles::in_folder(&folder.join(certificates))),
            (None, true) => LinkSecurity::PlainOnLoopback,
            (None, false) => return Err(ConfigProblem::NoSecurity),
            (Some(_), true) => return Err(ConfigProblem::TwoSecurities),
        };
        if !(0.0..=DELAY_MS_MAX).contains(&file.delay_ms) {
            return Err(ConfigProblem::Delay(file.delay_ms));
        }
        let delay = Duration::from_secs_f64(file.delay_ms / 2_000.0);
        let role = match (file.store, file.gateway) {
            (Some(_), None) if file.blobs.is_some() => return Err(ConfigProblem::BlobsOfStore),
            (Some(_), None) if file.centre.is_some() => return Err(CentreProblem::OfStore.into()),
            (Some(_), None) if file.objects.is_some() => return Err(ObjectsProblem::OfStore.into()),
            (Some(store), None) => RoleConfig::Store(StoreConfig::of(store, directory.cluster(), folder)?),
            (None, Some(_)) if file.centre.is_some() && file.objects.is_some() => {
                return Err(ObjectsProblem::WithCentre.into());
            }
            (None, Some(gateway)) => {
                let objects = file.objects.map(ObjectsConfig::of).transpose()?;
                let centre = file.centre.map(|centre| CentreConfig::of(centre, folder).map(Box::new)).transpose()?;
                let gateway = GatewayConfig::of(gateway, file.blobs, folder)?;
                if centre.is_some() && gateway.tokens.as_ref().is_some_and(|tokens| tokens.settings.anonymous) {
                    return Err(TokensProblem::AnonymousInCentre.into());
                }
                RoleConfig::Gateway(Box::new(GatewayConfig { centre, objects, ..gateway }))
            }
            (None, None) => return Err(ConfigProblem::NoRole),
            (Some(_), Some(_)) => return Err(ConfigProblem::TwoRoles),
        };
        let pid_file = file.pid_file.map(|file| folder.join(file));
        let FaultsTable { hold_unsynced, clock_shift_file, without, deny_class } = file.faults;
        let clock_shift_file = clock_shift_file.map(|file| folder.join(file));
        let faults = Faults { hold_unsynced, clock_shift_file, without: without.into(), deny_class };
        Ok(NodeConfig { directory, security, delay, pid_file, faults, role })
    }
}

impl WithoutWord {
    fn is_nothing(&self) -> bool {
        *self == WithoutWord::Nothing
    }
}

impl From<WithoutWord> for Without {
    fn from(word: WithoutWord) -> Without {
        match word {
            WithoutWord::Nothing => Without::Nothing,
            WithoutWord::DataPush => Without::DataPush,
            WithoutWord::DataTypes => Without::DataTypes,
        }
    }
}

impl StoreConfig {
    fn of(table: StoreTable, cluster: &Cluster, folder: &Path) -> Result<StoreConfig, ConfigProblem> {
        let id = ReplicaId(table.number);
        let address = cluster.addresses.get(&id).ok_or(ConfigProblem::UnknownReplica { id })?;
        let listen = if table.listen.is_empty() { vec![address.clone()] } else { table.listen };
        Ok(StoreConfig {
            id,
            data: folder.join(table.data),
            durability: table.durability.into(),
            listen,
            observe: table.observe,
        })
    }
}

impl From<Schemas> for SchemaPolicy {
    fn from(schemas: Schemas) -> SchemaPolicy {
        match schemas {
            Schemas::Grow => SchemaPolicy::Grow,
            Schemas::Fixed => SchemaPolicy::Fixed,
        }
    }
}

impl From<DurabilityWord> for Durability {
    fn from(word: DurabilityWord) -> Durability {
        match word {
            DurabilityWord::Fsync => Durability::Fsync,
            DurabilityWord::Memory => Durability::Memory,
        }
    }
}

impl GatewayConfig {
    pub(super) fn of(
        table: GatewayTable,
        blobs: Option<BlobsTable>,
        folder: &Path,
    ) -> Result<GatewayConfig, ConfigProblem> {
        let own = Some(table.number).filter(|number| *number < FIRST_NUMBER_OF_COMMANDS);
        let id = own.and_then(CoordinatorId::new).ok_or(ConfigProblem::GatewayNumber(table.number))?;
        let (token, app) = (folder.join(table.token), table.app.map(|app| folder.join(app)));
        let origins = Origins::new(&table.origins)?;
        let blobs = blobs.map(|blobs| BlobsConfig::of(blobs, folder)).transpose()?;
        let GatewayTable { listen, tells_token, schemas, .. } = table;
        let tokens = table.tokens.map(|tokens| TokensConfig::of(tokens, folder)).transpose()?;
        if tokens.is_some() && tells_token {
            return Err(TokensProblem::ToldToken.into());
        }
        let (secrets, centre, objects) = (Vec::new(), None, None);
        Ok(GatewayConfig {
            id,
            listen,
            token,
            tokens,
            tells_token,
            app,
            secrets,
            origins,
            schemas,
            blobs,
            centre,
            objects,
        })
    }

    /// This file, the token and these, each with the folder that it is in.
    pub(super) fn keep_secret(&mut self, file: &Path, more: impl Iterator<Item = PathBuf>) {
        if let Some(blobs) = &self.blobs {
            if let ObjectsAddress::Folder(folder) = &blobs.address {
                self.secrets.push(folder.clone());
            }
            self.secrets.extend(blobs.trace.clone());
        }
        let keys: Vec<PathBuf> = self.tokens.iter().flat_map(TokensConfig::secrets).collect();
        for secret in more.chain([file.to_owned(), self.token.clone()]).chain(keys) {
            let folder = secret.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            self.secrets.extend([folder.to_owned(), secret.clone()]);
        }
    }

    /// Where the issuer of tokens publishes its keys, if there is such an address.
    pub(crate) fn key_address(&self) -> Option<&KeyAddress> {
        self.tokens.as_ref().and_then(|tokens| tokens.key_address.as_ref())
    }

    /// The app's folder, if there is one, without what is secret. A gateway that tells its token is for this machine, and so are its files then.
    pub(crate) fn app_files(&self) -> Option<AppFiles> {
        let is_for_this_machine = self.tells_token && self.listen.ip().is_loopback();
        let hosts = if is_for_this_machine { Hosts::Loopback } else { Hosts::Any };
        let files = |folder| AppFiles { folder, secrets: self.secrets.clone(), is_secret: is_data_directory, hosts };
        self.app.clone().map(files)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use iolite_replication::node::{Group, ShardId};
    use iolite_values::StoreIncarnation;

    use super::*;

    fn node(text: &str) -> Result<NodeConfig, String> {
        let file: NodeFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let addresses = BTreeMap::from([(ReplicaId(0), "10.0.0.1:7800".to_owned())]);
        let group = Group::alone(ShardId(0), ReplicaId(0));
        let directory = Directory::fixed(Cluster::one(StoreIncarnation::default(), group, addresses));
        NodeConfig::of(file, directory, Path::new("/etc/iolite")).map_err(|problem| problem.to_string())
    }

    const TOKENS: &str =
        "[gateway.tokens]\nissuer = \"a\"\naudience = \"b\"\nrights = \"open\"\njwks = \"https://a.example/keys\"\n";

    #[test]
    fn a_store_listens_where_the_cluster_says_and_its_paths_are_beside_its_file() {
        let config = node("cluster = \"c\"\ncertificates = \"tls\"\n[store]\nnumber = 0\ndata = \"data\"").unwrap();
        assert_eq!(config.node().to_string(), "store-0");
        let RoleConfig::Store(store) = config.role else { panic!("a store") };
        assert_eq!((store.listen, store.data), (vec!["10.0.0.1:7800".into()], PathBuf::from("/etc/iolite/data")));
        assert_eq!(store.durability, Durability::Fsync);
    }

    #[test]
    fn the_page_on_tokens_has_a_file_that_works_and_all_settings() {
        let page = include_str!("../../../../docs/operations.md");
        let section = page.split_once("\n## Tokens\n").expect("the section").1.split_once("\n## ").expect("the next").0;
        let text = section.split_once("```toml\n").expect("a file").1.split_once("```").expect("its end").0;
        let RoleConfig::Gateway(gateway) = node(text).expect("it works").role else { panic!("a gateway") };
        let tokens = gateway.tokens.expect("it has tokens");
        assert_eq!((tokens.keys.len(), tokens.settings.claims.len(), tokens.settings.anonymous), (2, 4, true));
        assert_eq!(tokens.keys[0].file, PathBuf::from("/etc/iolite/sign-in.secret"));
        // A setting that is missing from the list is written with all others, and looked for on the page.
        let table: NodeFile = toml::from_str(text).expect("it was read");
        let mut table = table.gateway.and_then(|gateway| gateway.tokens).expect("it has tokens");
        table.jwks = Some("https://sign-in.example.org/keys".into());
        table.rights = Some(crate::config::tokens::RightsWord::Open);
        let written = toml::Table::try_from(table).expect("it can be written");
        let listed = |name: &str| {
            section.lines().any(|line| line.split('|').nth(1).is_some_and(|cell| cell.contains(&format!("`{name}`"))))
        };
        let missing: Vec<&String> = written.keys().filter(|name| !listed(name)).collect();
        assert!(missing.is_empty() && written.len() == 8, "{missing:?} of {}", written.len());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let gateway = "[gateway]\nnumber = 4032\nlisten = \"127.0.0.1:7777\"\ntoken = \"token\"\nschemas = \"grow\"\n";
        let store = "[store]\nnumber = 0\ndata = \"data\"\n";
        let head = "cluster = \"c\"\nplain = true\n";
        for (text, told) in [
            (head.to_owned(), "neither [store] nor [gateway]"),
            (format!("{head}{store}{gateway}"), "both [store] and [gateway]"),
            (format!("{head}{gateway}"), "not one of 0 to 4031: those beyond are of commands"),
            (
                format!("{head}{}origins = [\"app.example\"]\n", gateway.replace("4032", "0")),
                "as in https://app.example",
            ),
            (format!("cluster = \"c\"\n{store}"), "neither `certificates = FOLDER`"),
            (format!("{head}certificates = \"tls\"\n{store}"), "choose one"),
            (format!("{head}delay_ms = -1.0\n{store}"), "delay_ms"),
            (format!("{head}delay_ms = 1e19\n{store}"), "at most 60000"),
            (format!("{head}delay_ms = nan\n{store}"), "at most 60000"),
            (format!("{head}[store]\nnumber = 4\ndata = \"data\""), "no replica 4"),
            (format!("{head}{store}[objects]\nlisten = \"127.0.0.1:1\""), "[objects] is for gateways"),
            (
                format!(
                    "{head}{}[objects]\nlisten = \"127.0.0.1:1\"\n[centre]\ngroup = \"shop\"\nname = \"eu\"",
                    gateway.replace("4032", "0")
                ),
                "a move of an object would wait for other data centres",
            ),
            (format!("{head}{store}[centre]\ngroup = \"shop\"\nname = \"eu\""), "[centre] is for gateways"),
            (
                format!("{head}{}tells_token = true\n{TOKENS}", gateway.replace("4032", "0")),
                "the token is the operator's then",
            ),
            (format!("{head}[store]\nnumber = 0\ndata = \"d\"\ndurable = \"yes\""), "unknown field `durable`"),
        ] {
            let error = node(&text).map(drop).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
