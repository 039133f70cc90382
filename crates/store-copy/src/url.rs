//! The URL of a database, as it can be shown.

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
        }
    }
}
