//! Commands of operators: `POST` under `/operate/`, from programs that have the token. The answer is lines, as they come.
//!
//! Invariant: a page of another site runs none, whatever a browser is tricked into: it would need the token in a header.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc;

use crate::origin::is_foreign;

/// Where commands are.
pub(crate) const PATH: &str = "/operate/";

/// Runs commands. The host knows none of them.
pub trait Commands: Send + Sync + 'static {
    /// # Errors
    /// Why whoever has this token may run nothing, for people.
    fn check(&self, token: &str) -> Result<(), String>;

    /// Runs a command with what stands behind the question mark. The answer ends when its sender is dropped. `None`: there is no such command.
    fn run(&self, command: &str, options: &str) -> Option<mpsc::Receiver<String>>;
}

pub(crate) fn answer(commands: &Arc<dyn Commands>, request: &Request) -> Response {
    let refused = |status: StatusCode, why: &str| (status, format!("{why}\n")).into_response();
    if is_foreign(request.headers()) {
        return refused(StatusCode::FORBIDDEN, "commands are for programs, and not for pages");
    }
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Err(why) = commands.check(token.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()) {
        return refused(StatusCode::UNAUTHORIZED, &why);
    }
    let command = request.uri().path().strip_prefix(PATH).unwrap_or_default();
    let Some(lines) = commands.run(command, request.uri().query().unwrap_or_default()) else {
        return refused(StatusCode::NOT_FOUND, "this server has no such command: is it as new as the program?");
    };
    let lines = stream::unfold(lines, |mut lines| async {
        let line = lines.recv().await?;
        Some((Ok::<String, Infallible>(line + "\n"), lines))
    });
    ([(header::CACHE_CONTROL, "no-store")], Body::from_stream(lines)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Commands for Echo {
        fn check(&self, token: &str) -> Result<(), String> {
            if token == "right" { Ok(()) } else { Err(format!("{token:?} is wrong")) }
        }

        fn run(&self, command: &str, options: &str) -> Option<mpsc::Receiver<String>> {
            let (lines, answer) = mpsc::channel(2);
            for line in [command, options] {
                lines.try_send(line.to_owned()).expect("there is room");
            }
            (command == "echo").then_some(answer)
        }
    }

    async fn ask(path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let commands: Arc<dyn Commands> = Arc::new(Echo);
        let response = answer(&commands, &request.body(Body::empty()).expect("a request"));
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("it ends");
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn who_has_the_token_runs_a_command_and_nobody_else_does() {
        let right = ("authorization", "Bearer right");
        assert_eq!(ask("/operate/echo?a&b=1", &[right]).await, (200, "echo\na&b=1\n".into()));
        assert_eq!(ask("/operate/sing", &[right]).await.0, 404);
        assert_eq!(ask("/operate/echo", &[]).await, (401, "\"\" is wrong\n".into()));
        assert_eq!(ask("/operate/echo", &[("authorization", "Bearer guessed")]).await.0, 401);
        let page = [right, ("origin", "https://evil.example"), ("host", "127.0.0.1:7777")];
        assert_eq!(ask("/operate/echo", &page).await.0, 403);
    }
}
