//! Finds out which database an argument or the settings name, and with which password.

use std::fs::File;
use std::io::Read;

use bethink_config::{ConfigError, Home, Overrides, Settings, StoreSettings};
use bethink_secret_command::MAX_SECRET;
use bethink_store_copy::StorePlace;
use secrecy::{ExposeSecret, SecretString};

use crate::failure::CliFailure;

/// Returns the place that an argument names. If it is the database of the settings, their password is used.
pub(super) async fn find_place(text: &str) -> Result<StorePlace, CliFailure> {
    let place = text.parse()?;
    match place {
        StorePlace::Database(address) => {
            let password = match settings() {
                Ok(settings) if without_password(&settings.url) == without_password(text) => {
                    password(&settings).await?
                }
                _ => None,
            };
            Ok(StorePlace::in_database(match password {
                Some(password) => address.with_password(password.expose_secret()),
                None => *address,
            }))
        }
        home @ StorePlace::Home(_) => Ok(home),
    }
}

/// Returns the place that the settings name.
pub(super) async fn own_place(home: &Home) -> Result<StorePlace, CliFailure> {
    let settings = settings().map_err(|error| CliFailure::new(error.to_string()))?;
    match settings.url.is_empty() {
        false => find_place(&settings.url).await,
        true => Ok(StorePlace::Home(home.path().to_owned())),
    }
}

fn settings() -> Result<StoreSettings, ConfigError> {
    let loaded = Settings::load(&|name| std::env::var(name).ok(), &Overrides::default());
    loaded.map(|loaded| loaded.settings.store)
}

/// Returns the password of the settings, as the daemon reads it.
async fn password(settings: &StoreSettings) -> Result<Option<SecretString>, CliFailure> {
    let text = match (settings.password_command.as_str(), settings.password_file.as_str()) {
        ("", "") => return Ok(None),
        ("", file) => {
            let mut text = String::with_capacity(MAX_SECRET);
            let most = u64::try_from(MAX_SECRET).unwrap_or(u64::MAX);
            File::open(file)
                .and_then(|file| file.take(most).read_to_string(&mut text))
                .map_err(|error| CliFailure::file("read", file.as_ref(), &error))?;
            SecretString::from(text)
        }
        (command, _) => bethink_secret_command::output(command).await.map_err(|error| {
            CliFailure::new(format!("[store] password_command printed no password: {error}"))
        })?,
    };
    Ok(Some(SecretString::from(text.expose_secret().trim_end_matches(['\n', '\r']))))
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

pub(super) fn has_password(url: &str) -> bool {
    url != without_password(url)
}

/// Returns the URL as it can be shown.
pub(super) fn without_password(url: &str) -> String {
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
            assert_eq!(has_password(url), url.contains("hun"), "{url}");
        }
    }
}
