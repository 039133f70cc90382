//! The URL of a PostgreSQL database: which ones are valid, and how they are shown. The store parses them again when it connects.

use url::Url;

/// The parameters that a URL may have. Others are refused: sqlx would log them with their values, and one of them may be a misspelled
/// password.
pub const PARAMETERS: [&str; 10] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "port",
    "dbname",
    "user",
    "password",
    "options[search_path]",
];
const SSL_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// Returns which URLs are valid, for error messages.
pub(crate) fn allowed() -> String {
    format!(
        "a URL such as postgres://USER@HOST:PORT/DATABASE, or an empty string to keep history in bethink's home; in a \
         password, write @ as %40, / as %2F, # as %23 and ? as %3F; supported parameters: {}",
        PARAMETERS.join(", ")
    )
}

pub(crate) fn is_valid(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    // A password with one of these characters ends early, so that the rest of it would be shown as a part of the address.
    let may_show_password = url.path().contains('@') || url.fragment().is_some();
    let is_valid_parameter = |pair: &str| match pair.split_once('=').unwrap_or((pair, "")) {
        ("", "") => true,
        ("sslmode", mode) => SSL_MODES.contains(&mode.to_ascii_lowercase().as_str()),
        ("port", port) => port.parse::<u16>().is_ok(),
        (name, _) => PARAMETERS.contains(&name),
    };
    ["postgres", "postgresql"].contains(&url.scheme())
        && url.has_authority()
        && !may_show_password
        && url.query().unwrap_or_default().split('&').all(is_valid_parameter)
}

/// Returns the URL without the password, as it can be shown.
pub fn without_password(url: &str) -> String {
    let url = match split(url) {
        Some((scheme, user, rest)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}{rest}")
        }
        None => url.to_owned(),
    };
    match url.split_once('?') {
        Some((place, query)) => {
            let kept: Vec<_> = query.split('&').filter(|one| !is_password(one)).collect();
            match kept.is_empty() {
                true => place.to_owned(),
                false => format!("{place}?{}", kept.join("&")),
            }
        }
        None => url,
    }
}

/// Returns the user's name and the password, and what is before and after them.
fn split(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some((scheme, &rest[..at], &rest[at..]))
}

fn is_password(parameter: &str) -> bool {
    parameter.split('=').next() == Some("password")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (url, expect) in [
            ("postgres://ann@db/notes", "postgres://ann@db/notes"),
            ("postgres://db/notes", "postgres://db/notes"),
            ("postgres://ann:hunter2@db:5433/notes", "postgres://ann@db:5433/notes"),
            ("postgres://ann:hunter2@db", "postgres://ann@db"),
            ("postgres://ann:hun@ter2@db/a", "postgres://ann@db/a"),
            ("postgres://ann@db/a?password=hunter2", "postgres://ann@db/a"),
            ("postgres://db/a?password=hunter2&sslmode=require", "postgres://db/a?sslmode=require"),
            ("postgres://ann@%2Frun/a?user=b", "postgres://ann@%2Frun/a?user=b"),
        ] {
            assert_eq!(without_password(url), expect);
            assert!(is_valid(url), "{url}");
        }
    }

    #[test]
    fn a_url_that_the_store_cannot_use_is_not_valid() {
        for url in [
            "nonsense://x",
            "\"\"",
            "ann@db/notes",
            "postgres:notes",
            "postgres://ann:hunter2@db.example.org:notaport/x",
            "postgres://ann@db/notes?sslmode=always",
            "postgres://ann@db/notes?port=x",
            "postgres://ann@db/notes?pasword=hunter2",
            // Otherwise, a part of the password would be shown.
            "postgres://ann:12/hunter2@db/notes",
            "postgres://ann:12#hunter2@db/notes",
            "postgres://ann:12?hunter2@db/notes",
        ] {
            assert!(!is_valid(url), "{url}");
        }
    }
}
