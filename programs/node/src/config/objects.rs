//! The part of a gateway's file that says where other gateways reach it for objects.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// `[objects]`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectsTable {
    /// Where this gateway listens for other gateways.
    pub listen: SocketAddr,
    /// `HOST:PORT` at which they reach it, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// A gateway's part in objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectsConfig {
    pub listen: SocketAddr,
    /// None: others reach it where it listens.
    pub address: Option<String>,
}

/// Mistakes in `[objects]`. Each message says what to correct.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsProblem {
    #[error(
        "`listen` of [objects] is {0}, which others cannot dial: give their way to this gateway as `address`, or listen on one address"
    )]
    NoAddress(SocketAddr),
    #[error("`address` of [objects] is {0:?}; it is to be HOST:PORT")]
    Address(String),
    #[error(
        "it has [objects] and [centre]: a move of an object would wait for other data centres, so gateways of several data centres serve no objects. Leave one of the two out"
    )]
    WithCentre,
    #[error("[objects] is for gateways: put it into their files")]
    OfStore,
}

impl ObjectsConfig {
    pub(super) fn of(table: ObjectsTable) -> Result<ObjectsConfig, ObjectsProblem> {
        let ObjectsTable { listen, address } = table;
        match &address {
            Some(address) => {
                let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
                if port.and_then(|(_, port)| port.parse::<u16>().ok()).is_none_or(|port| port == 0) {
                    return Err(ObjectsProblem::Address(address.clone()));
                }
            }
            None if listen.ip().is_unspecified() => return Err(ObjectsProblem::NoAddress(listen)),
            None => {}
        }
        Ok(ObjectsConfig { listen, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ObjectsConfig, String> {
        let table: ObjectsTable = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        ObjectsConfig::of(table).map_err(|problem| problem.to_string())
    }

    #[test]
    fn others_reach_a_gateway_where_it_listens_or_where_it_says() {
        let own = read("listen = \"10.0.0.1:7900\"").expect("it is right");
        assert_eq!(own, ObjectsConfig { listen: ([10, 0, 0, 1], 7900).into(), address: None });
        let far = read("listen = \"0.0.0.0:7900\"\naddress = \"one.example:7900\"").expect("it is right");
        assert_eq!(far.address.as_deref(), Some("one.example:7900"));
    }

    #[test]
    fn mistakes_are_told_with_what_to_do() {
        for (text, told) in [
            ("listen = \"0.0.0.0:7900\"", "give their way to this gateway as `address`"),
            ("listen = \"[::]:7900\"", "which others cannot dial"),
            ("listen = \"10.0.0.1:1\"\naddress = \"one.example\"", "it is to be HOST:PORT"),
            ("listen = \"10.0.0.1:1\"\naddress = \"one.example:0\"", "it is to be HOST:PORT"),
            ("listen = \"10.0.0.1:1\"\naddress = \":7900\"", "it is to be HOST:PORT"),
            ("listen = \"10.0.0.1:1\"\nlistens = 1", "unknown field `listens`"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.contains(told), "{problem}");
        }
    }
}
