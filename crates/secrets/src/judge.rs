//! Rejects values that look like secrets but are not: placeholders, references, names, labelled hashes.
//!
//! A rule's expression finds a value; a judge decides whether it is a secret. The judges of keys with a distinctive
//! form accept most values, because the form already shows what the values are. The judge of `password = …` rejects
//! many values, because people write about passwords far more often than they write them down.

mod shape;

use std::ops::Range;

use crate::table::{Judge, TABLE};
use shape::{
    entropy, is_humps, is_identifier, is_known_term, is_passphrase, is_path, is_time_or_version,
    is_uuid, is_words, refers, says_nothing, stands_in,
};

/// Minimum entropy in bits per character. A repeated letter has 0, 32 hexadecimal digits have 3.6 on average, and 40
/// characters of base64 have 4.8.
const LEAST_TOKEN: f64 = 2.0;
const LEAST_RANDOM: f64 = 2.8;
const LEAST_ASSIGNED: f64 = 3.0;
const LEAST_PASSWORD: f64 = 2.2;
/// Minimum length, in bytes, at which a value that is assigned to a name such as `token` counts as a secret.
const LEAST_BYTES: usize = 12;
/// Prefixes of the last word of a secret's name, longer ones first.
const SECRET_WORDS: [&str; 10] =
    ["passwords", "password", "secrets", "secret", "tokens", "token", "auth", "key", "pwd", "pass"];
/// Parts of names that stand for a password, in lower case.
const PASSWORD_NAMES: [&str; 21] = [
    "passw",
    "pwd",
    "passphrase",
    "passcode",
    "kennwort",
    "mot de passe",
    "contrase",
    "senha",
    "wachtwoord",
    "salasana",
    "lösenord",
    "hasło",
    "şifre",
    "Şifre",
    "ароль",
    "パスワード",
    "暗証番号",
    "密码",
    "密碼",
    "口令",
    "비밀번호",
];

#[derive(Debug)]
pub(crate) struct SecretCandidate<'a> {
    value: String,
    /// The text that the rule matched before the value: a name, or a URL's scheme.
    head: String,
    after: &'a [u8],
}

impl<'a> SecretCandidate<'a> {
    pub(crate) fn new(bytes: &'a [u8], whole: &Range<usize>, value: &Range<usize>) -> Self {
        let text = |range: Range<usize>| {
            String::from_utf8_lossy(bytes.get(range).unwrap_or_default()).into_owned()
        };
        let raw = text(value.clone());
        let quotes = ['"', '\'', '`', '\\'];
        let value_text = raw.trim_matches(quotes).to_owned();
        let after = bytes.get(value.end..).unwrap_or_default();
        Self { value: value_text, head: text(whole.start..value.start), after }
    }

    pub(crate) fn is_secret(&self, judge: Judge) -> bool {
        let value = self.value.as_str();
        match judge {
            Judge::Token => token(value),
            Judge::Random => random(value),
            Judge::Uuid => entropy(value) >= LEAST_RANDOM && !stands_in(value),
            Judge::InAddress => in_address(self),
            Judge::Password => {
                !refers(value) && !says_nothing(value) && entropy(value) >= LEAST_TOKEN
            }
            Judge::Assigned => assigned(self),
        }
    }
}

impl Judge {
    /// Returns whether a match can contain a secret, before its value is known. The check must be cheap, because
    /// ordinary text has many matches.
    pub(crate) fn is_possible(self, whole: &[u8]) -> bool {
        match self {
            Self::Assigned => whole.iter().any(|byte| byte.is_ascii_digit() || *byte == b'-'),
            _ => true,
        }
    }
}

fn token(value: &str) -> bool {
    entropy(value) >= LEAST_TOKEN && !stands_in(value) && !is_words(value)
}

/// Judges a value that has no distinctive form and was found by its context.
fn random(value: &str) -> bool {
    let spoken = !value.bytes().any(|byte| byte.is_ascii_digit()) && is_humps(value);
    token(value) && entropy(value) >= LEAST_RANDOM && !spoken && !is_identifier(value)
}

/// Judges a value between `user:` and `@` in a URL.
fn in_address(candidate: &SecretCandidate<'_>) -> bool {
    let value = candidate.value.as_str();
    let user = candidate.head.rsplit("//").next().unwrap_or("").trim_end_matches(':');
    let lower = value.to_ascii_lowercase();
    let plain = refers(value) || says_nothing(value) || lower == user.to_ascii_lowercase();
    !plain
        && !TABLE.words.common_passwords.contains(&lower)
        && !value.bytes().all(|byte| byte == value.as_bytes()[0])
}

/// Judges a value that is assigned to a name such as `password` or `token`. The cheapest checks come first, because
/// ordinary text has many such assignments.
fn assigned(candidate: &SecretCandidate<'_>) -> bool {
    let value = candidate.value.trim_end_matches(['.', ':', '!', '?', ')', '*']);
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let one_word = !value.chars().any(char::is_whitespace);
    if !letters || !one_word || is_call(candidate) || is_about(&candidate.head) {
        return false;
    }
    let is_password = is_password_name(&candidate.head);
    let is_phrase = is_password && is_passphrase(value);
    if !(digits || is_phrase) {
        return false;
    }
    let code = value.contains("://") || value.contains("::");
    if code || refers(value) || is_uuid(value) || is_known_term(value) || says_nothing(value) {
        return false;
    }
    if is_password {
        let is_name = !is_phrase && (is_path(value) || is_identifier(value));
        return entropy(value) >= LEAST_PASSWORD && !is_name;
    }
    value.len() >= LEAST_BYTES
        && entropy(value) >= LEAST_ASSIGNED
        && !is_path(value)
        && !is_identifier(value)
        && !is_time_or_version(value)
}

/// Returns whether the value is code: `token: read_token(path)`.
fn is_call(candidate: &SecretCandidate<'_>) -> bool {
    candidate.after.first().is_some_and(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<'))
}

/// Returns whether a name stands for a property of a secret: `token_count`, `password_hash`.
fn is_about(head: &str) -> bool {
    let name = head.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = name.trim_end_matches(" is").to_ascii_lowercase();
    let last = name.rsplit(['_', '-', ' ']).next().unwrap_or("");
    let tail = SECRET_WORDS.into_iter().find_map(|word| last.strip_prefix(word)).unwrap_or(last);
    TABLE.words.about.iter().any(|word| word == tail)
}

fn is_password_name(head: &str) -> bool {
    let lower = head.to_ascii_lowercase();
    PASSWORD_NAMES.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use crate::{ScannedText, scan};

    fn blocked(text: &str) -> bool {
        !scan(&ScannedText { name: "notes", text }).is_empty()
    }

    #[test]
    fn passwords_that_are_written_down_are_found() {
        for text in [
            "DB_PASSWORD=Tr0ub4dor&3x",
            "password: \"kX9#mQ2$vL\"",
            "the staging password is `Zx81-spectrum!q`",
            "\"client_secret\": \"8f7Jq2LmZx0PvRt5Wb3N\"",
            "api_key = 'q8Zt2LmXp0VrKt5Wb3NcJ7'",
            "auth_token: 9f8e7d6c5b4a39281706f5e4d3c2b1a0",
            "SECRET_KEY=p9d8f7g6h5j4k3l2q1w0e9r8",
            "postgres://app:s3cr3tPw9@db.internal:5432/app",
            "curl -u admin:Gh7kLp2q https://ci.internal/job",
            "Authorization: Bearer 8f7Jq2LmZx0PvRt5Wb3N",
            "machine git.internal login bot password Gh7kLp2q9",
            "DB_PASSWORD=Winter-Blau-77",
            "sudo password: Winter-Blau-77",
            "password = correct-horse-battery-staple",
            "The admin password is Winter-Blau-77.",
            "The password for staging is now Winter-Blau-77",
            "PASSWORD=Winter_Blau_77",
            "das Password ist Winter-Blau-77",
            "**Password:** river-42-stone",
            "Das Admin-Passwort ist Xk9$vQ2pLm",
            "Datenbankpasswort: Winter-Blau-77",
            "Das Passwort für die Staging-DB lautet Winter-Blau-77",
            "パスワードは Xk9$vQ2pLm です",
            "パスワードはXk9$vQ2pLmです",
            "パスワード：「Winter-Blau-77」",
            "API-Schlüssel: 9f8b7a6c5d4e3f2a1b0c9d8e7f6a5c4d",
            "le mot de passe est Xk9$vQ2pLm",
            "la contraseña de producción es Xk9$vQ2pLm",
            "a senha é Xk9$vQ2pLm",
            "clé API : 9f8b7a6c5d4e3f2a1b0c9d8e7f6a5c4d",
            "数据库密码是Xk9$vQ2pLm",
            "Пароль: Xk9$vQ2pLm",
            "비밀번호는 Xk9$vQ2pLm",
        ] {
            assert!(blocked(text), "{text}");
        }
    }

    #[test]
    fn what_is_written_about_secrets_passes() {
        for text in [
            "password: ${DB_PASSWORD}",
            "password: <your-password-123>",
            "token: $TOKEN_42_PROD_X",
            "api_key: process.env.API_KEY_2",
            "The password: required, at least 12 characters",
            "password_hash: $2b$12$KIXQ0c1T9oY8J5m",
            "token_count: 12345678901234",
            "secret: changeme123",
            "token: xxxxxxxxxxxx1234",
            "postgres://user:password@localhost/db",
            "postgres://postgres:postgres@localhost:5432/app",
            "redis://:${REDIS_PASS}@cache:6379",
            "secret_id: 8f7Jq2LmZx0PvRt5Wb3N",
            "cache key: 012ce1b9f3a8d77c65e4b2a1908f7e6d5c4b3a29",
            "session token: 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
            "auth: src/auth/oauth2_client.rs",
            "auth: oauth2-proxy-v7.4",
            "tokens: max_tokens_8192 by default",
            "secret: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "Authorization: Bearer <token>",
            "the -----BEGIN PRIVATE KEY----- header is checked",
            "token = read_token_v2(path)",
            "author: someone1234567",
            "password: argon2id",
            "the options are passed to `DebugOverlay2`",
            "the password is stored in 1Password",
            "password = os.environ[\"DB_PASSWORD_2\"]",
            "password: <your password>",
            "DB_PASSWORD=${DB_PASSWORD_2}",
            "password = config.db_password_2",
            "PASSWORD=winter_blau_77",
            "PASSWORD=WINTER_BLAU_77",
            "options to pass to the job: example-value-12",
            "password: at-least-12-characters",
            "password = read-from-env-file",
            "password: see-the-vault-page-2",
            "the password is sha256-hashed",
            "password = user-service-v2",
            "password: auth-service-db-12",
            "const passwordInput = password-field-input-2",
            "password for the database is in the vault-2024",
            "Das Passwort ist in 1Password gespeichert",
            "Das Passwort ist base64-kodiert",
            "Passwort: <dein-passwort>",
            "Das Passwort muss mindestens 12 Zeichen haben",
            "パスワードはPBKDF2でハッシュ化します",
            "パスワードは12文字以上です",
            "密码是必填项，至少12位",
            "API-Schlüssel: siehe .env",
            "API-Schlüssel: process.env.API_KEY_2",
            "le mot de passe est dans 1Password",
            "the key-value-store-backed-cache: passes-all-the-checks",
        ] {
            let found = scan(&ScannedText { name: "notes", text });
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }
}
