//! What every service has: private keys, signed tokens, passwords in addresses and commands, and names that
//! say that a value is secret.

use super::{Rule, Shape, named, token};
use crate::judge;

pub(super) const RULES: &[Rule] = &[
    token(
        "private-key",
        "a private key",
        &["private key", "privatekey"],
        // The header alone is documentation; it is a key when key material follows.
        r"-----BEGIN ?(?:[A-Z0-9]+ ?){0,3}PRIVATE ?KEY(?: ?BLOCK)?-----(?s:.{0,200}?)([A-Za-z0-9+/]{24,})",
    ),
    token(
        "putty-key",
        "a private key",
        &["putty-user-key-file"],
        r"PuTTY-User-Key-File-\d(?s:.{0,4000}?)Private-Lines:\s{0,3}\d{1,3}\s{0,4}([A-Za-z0-9+/]{24,})",
    ),
    token(
        "jwt",
        "a signed token (JWT)",
        &["eyj"],
        r"eyJ[\w\-]{10,4000}\.eyJ[\w\-]{10,8000}\.[\w\-]{10,1000}",
    ),
    Rule {
        judge: judge::in_address,
        ..token(
            "password-in-url",
            "a password in an address",
            &["://"],
            r#"[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@"'<>`]{0,100}:([^\s/@"'<>`]{3,200})@[\w\[.\-]{1,200}"#,
        )
    },
    Rule {
        judge: judge::password,
        ..token(
            "password-in-command",
            "a password in a command",
            &["curl", "sshpass", "machine", "wget"],
            r#"(?:curl\b[^\n]{0,200}?\s(?:-u|--user)[ =]["']?[^\s:"'$]{1,60}:|sshpass\s{1,3}-p ?["']?|machine\s{1,3}\S{1,100}\s{1,3}login\s{1,3}\S{1,100}\s{1,3}password\s{1,3}|wget\b[^\n]{0,200}?--password=["']?)([^\s"']{4,200})"#,
        )
    },
    Rule {
        judge: judge::random,
        ..token(
            "authorization-header",
            "credentials in a header",
            &["bearer", "authorization", "x-api-key"],
            r#"(?i:authorization\\?["']?\s{0,3}[:=,]\s{0,3}\\?["']?(?:bearer |token |basic |apikey )?|\bbearer\s{1,3}|x-api-key\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)([A-Za-z0-9._~+/\-]{16,2000}={0,2})"#,
        )
    },
    token(
        "docker-auth",
        "a password of a container registry",
        &["auth"],
        r#""auth"\s{0,3}:\s{0,3}"([A-Za-z0-9+/]{20,2000}={0,2})""#,
    ),
    named(
        "bethink-token",
        "the token of a bethink daemon",
        &["bethink"],
        r"bethink[\w .\-]{0,20}",
        r"[0-9a-f]{64}",
    ),
    Rule {
        id: "assigned-secret",
        what: "a password, key or token",
        keywords: &["pass", "pwd", "secret", "token", "key", "credential", "auth"],
        shape: Shape::Token(
            r#"(?i:pass(?:word|wd|phrase|code)?|pwd|secret|token|(?:api|access|auth|private|secret|encryption|signing|master|account|service|app|client|admin|license|webhook|shared|session|ssh)[_\- ]?key|apikey|credentials?|auth)s?(?:[_\-A-Z0-9][\w\-]{0,24})?\\?["'`\]*]{0,3}\s{0,3}(?:=>|:=|==?|:|\sis\s)\s{0,3}(\\?"[^"\n]{8,200}"|'[^'\n]{8,200}'|`[^`\n]{8,200}`|[^\s"'`,;<>(){}\[\]]{8,200})"#,
        ),
        judge: judge::assigned,
        generic: true,
    },
];
