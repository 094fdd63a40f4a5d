//! One key of etcd, read, and replaced when nobody else was first.
//!
//! Invariants:
//! - a read is linearizable: whoever has seen a description never sees an earlier one;
//! - a value is replaced only where its revision is the one that was read.
//!
//! Source: the JSON gateway to etcd's API v3, which every member of etcd 3.4 and later has on the port for clients.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Certificate, Client, Identity, Response, StatusCode};
use serde_json::{Value, json};

use super::source::Revision;
use crate::config::{EtcdLogin, EtcdPlace};
use crate::password::{PasswordError, read_password_file};

/// How long one server may take; then the next one is asked.
const ANSWERS_WITHIN_MAX: Duration = Duration::from_secs(2);
/// What a server may answer: etcd takes values of 1.5 MB, and writes them a third longer.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Why a key of etcd cannot be read or replaced. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    #[error("etcd does not answer: {0}. Correct `endpoints`, or wait until it does")]
    Unreachable(String),
    #[error("{error}. There is no copy in {} to start with", copy.display())]
    NoCopy { error: String, copy: PathBuf },
    #[error("etcd refuses it: {0}")]
    Refused(String),
    #[error("etcd at {endpoint} has no key {key:?}: correct `key`, or write the cluster's description there")]
    NoKey { endpoint: String, key: String },
    #[error("the key {key:?} of etcd has no description of a cluster: {problem}")]
    Value { key: String, problem: String },
    #[error("{} cannot be read for etcd: {problem}", file.display())]
    File { file: PathBuf, problem: String },
    #[error(transparent)]
    Password(PasswordError),
    #[error("what etcd at {endpoint} answers is not understood: {problem}. It has to be etcd 3.4 or later")]
    Answer { endpoint: String, problem: String },
    #[error("nothing can wait for etcd: {0}")]
    Runtime(std::io::Error),
}

/// Asks etcd's members, one after the other until one answers.
#[derive(Debug)]
pub struct EtcdClient {
    place: EtcdPlace,
    http: Client,
    /// The one that answered last.
    endpoint: usize,
    /// By which etcd knows who has logged in.
    token: Option<String>,
}

/// Why one server did not do what it was asked for.
enum Failure {
    /// Another one may.
    Absent(String),
    NoLogin(String),
    Final(EtcdError),
}

impl EtcdClient {
    /// Reads the certificates.
    ///
    /// # Errors
    /// [`EtcdError::File`].
    pub fn new(place: EtcdPlace) -> Result<EtcdClient, EtcdError> {
        // The provider of TLS that all of this program uses. Somebody may have said so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder().no_proxy().timeout(ANSWERS_WITHIN_MAX).connect_timeout(ANSWERS_WITHIN_MAX);
        if let Some(file) = &place.authority {
            let authority = Certificate::from_pem_bundle(&read(file)?).map_err(|error| unusable(file, &error))?;
            builder = builder.tls_certs_only(authority);
        }
        if let Some(own) = &place.identity {
            let pem = [read(&own.key)?, b"\n".to_vec(), read(&own.certificate)?].concat();
            builder = builder.identity(Identity::from_pem(&pem).map_err(|error| unusable(&own.certificate, &error))?);
        }
        let files = place.authority.as_ref().or(place.identity.as_ref().map(|own| &own.certificate));
        let file = files.cloned().unwrap_or_default();
        let http = builder.build().map_err(|error| unusable(&file, &error))?;
        Ok(EtcdClient { place, http, endpoint: 0, token: None })
    }

    pub fn place(&self) -> &EtcdPlace {
        &self.place
    }

    /// The value, and which one it is.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn read(&mut self) -> Result<(String, Revision), EtcdError> {
        let answer = self.call("kv/range", &json!({ "key": self.key() })).await?;
        let endpoint = self.place.endpoints[self.endpoint].clone();
        let Some(found) = answer.pointer("/kvs/0") else {
            return Err(EtcdError::NoKey { endpoint, key: self.place.key.clone() });
        };
        let wrong = |problem: &str| EtcdError::Answer { endpoint: endpoint.clone(), problem: problem.to_owned() };
        let value = found.get("value").and_then(Value::as_str).unwrap_or_default();
        let value = BASE64.decode(value).map_err(|error| wrong(&error.to_string()))?;
        let value = String::from_utf8(value).map_err(|_| wrong("the value of the key is no text"))?;
        let revision = found.get("mod_revision").and_then(Value::as_str).and_then(|text| text.parse().ok());
        Ok((value, Revision(revision.ok_or_else(|| wrong("the key has no revision"))?)))
    }

    /// Writes a value in the place of the one of that revision. `false`: that is not the newest any more, and the newest is another value. Where it is
    /// this one, it was written: by this very call, where an answer was lost and another server asked, by an earlier one, or by somebody else.
    ///
    /// # Errors
    /// [`EtcdError`]. Whether it was written is not known then where no server answered; the same again tells.
    pub async fn replace(&mut self, value: &str, known: Revision) -> Result<bool, EtcdError> {
        let key = self.key();
        let same = json!({ "key": key, "target": "MOD", "result": "EQUAL", "mod_revision": known.0.to_string() });
        let put = json!({ "requestPut": { "key": key, "value": BASE64.encode(value) } });
        let newest = json!({ "requestRange": { "key": key } });
        let request = json!({ "compare": [same], "success": [put], "failure": [newest] });
        let answer = self.call("kv/txn", &request).await?;
        let is_replaced = answer.get("succeeded").and_then(Value::as_bool).unwrap_or(false);
        let newest = answer.pointer("/responses/0/response_range/kvs/0/value").and_then(Value::as_str);
        Ok(is_replaced || newest.is_some_and(|newest| newest == BASE64.encode(value)))
    }

    fn key(&self) -> String {
        BASE64.encode(&self.place.key)
    }

    async fn call(&mut self, method: &str, request: &Value) -> Result<Value, EtcdError> {
        let mut absent = Vec::new();
        for _ in 0..self.place.endpoints.len() {
            let problem = match self.ask(method, request).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::NoLogin(problem)) => return Err(EtcdError::Refused(problem)),
                Err(Failure::Absent(problem)) => problem,
            };
            absent.push(format!("{}: {problem}", self.place.endpoints[self.endpoint]));
            self.endpoint = (self.endpoint + 1) % self.place.endpoints.len();
        }
        Err(EtcdError::Unreachable(absent.join(", ")))
    }

    /// Asks one server, logging in before and, when that was forgotten, again.
    async fn ask(&mut self, method: &str, request: &Value) -> Result<Value, Failure> {
        let Some(login) = self.place.login.clone() else { return self.post(method, request).await };
        if self.token.is_some() {
            match self.post(method, request).await {
                Err(Failure::NoLogin(_)) => self.token = None,
                other => return other,
            }
        }
        self.token = Some(self.log_in(&login).await?);
        self.post(method, request).await
    }

    async fn log_in(&self, login: &EtcdLogin) -> Result<String, Failure> {
        let password =
            read_password_file(&login.password_file).map_err(|error| Failure::Final(EtcdError::Password(error)))?;
        let request = json!({ "name": login.user, "password": password });
        let answer = self.post("auth/authenticate", &request).await?;
        let token = answer.get("token").and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| self.wrong("there is no token in it".to_owned()))
    }

    async fn post(&self, method: &str, request: &Value) -> Result<Value, Failure> {
        let url = format!("{}/v3/{method}", self.place.endpoints[self.endpoint]);
        let mut post = self.http.post(url).header(CONTENT_TYPE, "application/json").body(request.to_string());
        if let Some(token) = &self.token {
            post = post.header(AUTHORIZATION, token);
        }
        let mut answer = post.send().await.map_err(|error| Failure::Absent(told(&error)))?;
        let body = whole(&mut answer).await?;
        let status = answer.status();
        let parsed: Option<Value> = serde_json::from_slice(&body).ok();
        if status.is_success() {
            return parsed.ok_or_else(|| self.wrong("it is no JSON".to_owned()));
        }
        let said = parsed.as_ref().and_then(|body| body.get("message").or(body.get("error")));
        let said = said.and_then(Value::as_str).map_or_else(|| status.to_string(), str::to_owned);
        Err(match status {
            StatusCode::UNAUTHORIZED => Failure::NoLogin(said),
            status if status.is_server_error() => Failure::Absent(said),
            StatusCode::NOT_FOUND => {
                self.wrong(format!("{said}. Its JSON gateway (`enable-grpc-gateway`) has to be on"))
            }
            _ => Failure::Final(EtcdError::Refused(said)),
        })
    }

    fn wrong(&self, problem: String) -> Failure {
        Failure::Final(EtcdError::Answer { endpoint: self.place.endpoints[self.endpoint].clone(), problem })
    }
}

/// No more of it than there can be.
async fn whole(answer: &mut Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| Failure::Absent(told(&error)))? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_BYTES_MAX {
            return Err(Failure::Absent(format!("an answer of more than {ANSWER_BYTES_MAX} bytes")));
        }
    }
    Ok(body)
}

fn read(file: &Path) -> Result<Vec<u8>, EtcdError> {
    std::fs::read(file).map_err(|error| EtcdError::File { file: file.to_owned(), problem: error.to_string() })
}

fn unusable(file: &Path, error: &reqwest::Error) -> EtcdError {
    EtcdError::File { file: file.to_owned(), problem: told(error) }
}

/// The innermost reason, which is the one that helps.
fn told(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {ANSWERS_WITHIN_MAX:?}");
    }
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

#[cfg(test)]
mod tests;
