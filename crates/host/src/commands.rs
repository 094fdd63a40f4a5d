//! Commands of operators: `POST` under `/operate/`, from programs that have the token, perhaps with a text. The answer is lines, as they come.
//!
//! Invariant: a page of another site runs none, whatever a browser is tricked into: it would need the token in a header. Nobody without the token makes
//! the server keep a text.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc;

use crate::origin::is_foreign;

/// Where commands are.
pub(crate) const PATH: &str = "/operate/";

/// Bytes of the text that comes with a command.
const COMMAND_BYTES_MAX: usize = 4 << 20;

/// How long that may take to come.
const COMMAND_WITHIN_MAX: Duration = Duration::from_secs(30);

/// Runs commands. The host knows none of them.
pub trait Commands: Send + Sync + 'static {
    /// # Errors
    /// Why whoever has this token may run nothing, for people.
    fn check(&self, token: &str) -> Result<(), String>;

    /// Runs a command with what stands behind the question mark, and the text that comes with it. The answer ends when its sender is dropped. `None`:
    /// there is no such command.
    fn run(&self, command: &str, options: &str, text: String) -> Option<mpsc::Receiver<String>>;
}

pub(crate) async fn answer(commands: Arc<dyn Commands>, request: Request) -> Response {
    let refused = |status: StatusCode, why: &str| (status, format!("{why}\n")).into_response();
    if is_foreign(request.headers()) {
        return refused(StatusCode::FORBIDDEN, "commands are for programs, and not for pages");
    }
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Err(why) = commands.check(token.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()) {
        return refused(StatusCode::UNAUTHORIZED, &why);
    }
    let (head, body) = request.into_parts();
    let Ok(Ok(text)) = tokio::time::timeout(COMMAND_WITHIN_MAX, to_bytes(body, COMMAND_BYTES_MAX)).await else {
        let why = format!("the text of a command has at most {COMMAND_BYTES_MAX} bytes, and comes within 30 s");
        return refused(StatusCode::PAYLOAD_TOO_LARGE, &why);
    };
    let Ok(text) = String::from_utf8(text.into()) else {
        return refused(StatusCode::BAD_REQUEST, "the text of a command is to be UTF-8");
    };
    let command = head.uri.path().strip_prefix(PATH).unwrap_or_default();
    let Some(lines) = commands.run(command, head.uri.query().unwrap_or_default(), text) else {
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

        fn run(&self, command: &str, options: &str, text: String) -> Option<mpsc::Receiver<String>> {
            let (lines, answer) = mpsc::channel(3);
            for line in [command, options, &text.len().to_string()] {
                lines.try_send(line.to_owned()).expect("there is room");
            }
            (command == "echo").then_some(answer)
        }
    }

    async fn ask(path: &str, headers: &[(&str, &str)], text: &[u8]) -> (u16, String) {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(text.to_owned())).expect("a request");
        let response = answer(Arc::new(Echo), request).await;
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.expect("it ends");
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    const RIGHT: (&str, &str) = ("authorization", "Bearer right");

    #[tokio::test]
    async fn who_has_the_token_runs_a_command_and_nobody_else_does() {
        assert_eq!(ask("/operate/echo?a&b=1", &[RIGHT], b"").await, (200, "echo\na&b=1\n0\n".into()));
        assert_eq!(ask("/operate/sing", &[RIGHT], b"").await.0, 404);
        assert_eq!(ask("/operate/echo", &[], b"").await, (401, "\"\" is wrong\n".into()));
        assert_eq!(ask("/operate/echo", &[("authorization", "Bearer guessed")], b"").await.0, 401);
        let page = [RIGHT, ("origin", "https://evil.example"), ("host", "127.0.0.1:7777")];
        assert_eq!(ask("/operate/echo", &page, b"").await.0, 403);
    }

    #[tokio::test]
    async fn the_text_of_a_command_has_a_length() {
        let most = vec![b'x'; COMMAND_BYTES_MAX];
        assert_eq!(ask("/operate/echo", &[RIGHT], &most).await, (200, "echo\n\n4194304\n".into()));
        let (status, why) = ask("/operate/echo", &[RIGHT], &[&most[..], b"x"].concat()).await;
        assert!(status == 413 && why.contains("at most 4194304 bytes"), "{status} {why}");
        assert_eq!(ask("/operate/echo", &[RIGHT], b"\xff").await.0, 400);
    }
}
