//! An issuer of tokens: its secret, the file that tells a server of it, and tokens.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

const ISSUER: &str = "https://sign-in.example";
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

pub struct Issuer {
    folder: PathBuf,
}

impl Issuer {
    /// Writes the secret, and the file for `iolite dev --tokens`.
    pub fn new(folder: &Path) -> Issuer {
        std::fs::create_dir_all(folder).expect("it can be made");
        let options = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).clone();
        let mut secret = options.open(folder.join("secret")).expect("it can be made");
        secret.write_all(SECRET).expect("it can be written");
        let file = format!(
            "issuer = \"{ISSUER}\"\naudience = \"rooms\"\nrights = \"open\"\nanonymous = true\n\
             keys = [{{ algorithm = \"HS256\", file = \"secret\" }}]\n"
        );
        std::fs::write(folder.join("tokens.toml"), file).expect("it can be written");
        Issuer { folder: folder.to_owned() }
    }

    /// The options of `iolite dev`.
    pub fn options(&self) -> [String; 2] {
        ["--tokens".to_owned(), self.folder.join("tokens.toml").to_string_lossy().into_owned()]
    }

    /// The table of a gateway's file, for users who are let in when the store has rights.
    pub fn table(&self) -> String {
        let secret = self.folder.join("secret");
        let secret = std::path::absolute(secret).expect("there is a current folder");
        format!(
            "\n[gateway.tokens]\nissuer = \"{ISSUER}\"\naudience = \"rooms\"\n\
             keys = [{{ algorithm = \"HS256\", file = {secret:?} }}]\n"
        )
    }

    /// A token that is good for so long.
    pub fn token(&self, user: &str, life: Duration) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
        let part = |text: String| URL_SAFE_NO_PAD.encode(text);
        let header = part(r#"{"alg":"HS256","typ":"JWT"}"#.to_owned());
        let ends = now + life.as_secs();
        let payload = part(format!(r#"{{"iss":"{ISSUER}","aud":"rooms","sub":"{user}","iat":{now},"exp":{ends}}}"#));
        let signed = format!("{header}.{payload}");
        let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
