//! Opens the store that the settings name: the SQLite file in the home, or a PostgreSQL database.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use bethink_config::{Home, Settings, StoreSettings};
use bethink_secret_command::MAX_SECRET;
use bethink_store::{OpenReport, Store};
use bethink_store_postgres::{
    DaemonIdentity, PostgresAddress, PostgresOptions, PostgresStore, make_home_id,
};
use bethink_store_sqlite::{Options, SqliteStore};
use bethink_transcript::UnixMicros;
use secrecy::{ExposeSecret, SecretString};

use crate::boot_error::{BootError, PasswordError};

#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) report: OpenReport,
    /// The database, if history is not in the home.
    pub(crate) database: Option<String>,
}

pub(crate) async fn open_store(
    settings: &Settings,
    now: UnixMicros,
) -> Result<OpenStore, BootError> {
    if !settings.store.url.is_empty() {
        return open_database(settings).await;
    }
    let home = settings.home.clone();
    let opened = SqliteStore::open(&home.join("bethink.db"), Options::new(now)).await;
    let (store, report) = opened.map_err(|source| BootError::Store { home, source })?;
    Ok(OpenStore { store: Arc::new(store), report, database: None })
}

async fn open_database(settings: &Settings) -> Result<OpenStore, BootError> {
    let address: PostgresAddress = settings.store.url.parse().map_err(BootError::Url)?;
    let address = with_password(address, &settings.store).await?;
    let home = make_home_id(&Home::new(&settings.home).database_id());
    let home = home.map_err(|source| BootError::Home { home: settings.home.clone(), source })?;
    let daemon = Some(DaemonIdentity { home, name: own_name() });
    let options = PostgresOptions { daemon, ..PostgresOptions::new(address) };
    let opened = PostgresStore::open_or_wait(&options).await;
    // Now the schema is known, too, if the server answered.
    let database = options.address.to_string();
    let (store, report) =
        opened.map_err(|source| BootError::Database { database: database.clone(), source })?;
    tracing::info!(database, "history is stored in a database");
    Ok(OpenStore { store: Arc::new(store), report: report.into(), database: Some(database) })
}

/// Returns the name of this daemon, for the error messages of others.
fn own_name() -> String {
    let host = rustix::system::uname();
    format!("process {} on {}", std::process::id(), host.nodename().to_string_lossy())
}

/// Adds the password from the settings, if there is one.
pub async fn with_password(
    address: PostgresAddress,
    settings: &StoreSettings,
) -> Result<PostgresAddress, PasswordError> {
    Ok(match password(settings).await? {
        Some(password) => address.with_password(password.expose_secret()),
        None => address,
    })
}

/// Returns the password, unless it is in the URL or not needed.
async fn password(settings: &StoreSettings) -> Result<Option<SecretString>, PasswordError> {
    let (from, text) = match (settings.password_command.as_str(), settings.password_file.as_str()) {
        ("", "") => return Ok(None),
        ("", file) => ("the file of [store] password_file", read_password(Path::new(file))?),
        (command, _) => {
            // The start waits for it.
            tracing::info!("running [store] password_command");
            let output = bethink_secret_command::output(command).await?;
            ("the output of [store] password_command", output)
        }
    };
    // Files and shells end it with a line feed. A space may be a part of it.
    let bare = text.expose_secret().trim_end_matches(['\n', '\r']);
    match bare {
        "" => Err(PasswordError::Empty { from }),
        bare => Ok(Some(SecretString::from(bare))),
    }
}

fn read_password(path: &Path) -> Result<SecretString, PasswordError> {
    let failed = |source| PasswordError::File { path: path.to_owned(), source };
    // Opening a pipe would wait for whoever writes to it.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(
            path = %path.display(),
            "other users may read the file with the database's password; run `chmod 600` on it"
        );
    }
    // Allocated once, because a growing buffer leaves copies of the password in memory.
    let mut text = String::with_capacity(MAX_SECRET);
    let most = u64::try_from(MAX_SECRET).unwrap_or(u64::MAX);
    file.take(most).read_to_string(&mut text).map_err(failed)?;
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use super::*;

    async fn check(settings: StoreSettings) -> Result<Option<String>, String> {
        let password = password(&settings).await.map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{} {error:?}", cause.unwrap_or_default())
        })?;
        Ok(password.map(|password| password.expose_secret().to_owned()))
    }

    #[tokio::test]
    async fn a_password_comes_from_a_command_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "from a file \r\n").unwrap();
        let from_file =
            StoreSettings { password_file: file.display().to_string(), ..StoreSettings::default() };
        let from_both =
            StoreSettings { password_command: "echo 'from a command'".into(), ..from_file.clone() };
        assert_eq!(check(StoreSettings::default()).await, Ok(None));
        assert_eq!(check(from_file).await, Ok(Some("from a file ".into())));
        assert_eq!(check(from_both).await, Ok(Some("from a command".into())));
    }

    #[tokio::test]
    async fn an_error_says_which_setting_and_no_part_of_the_password() {
        let command = |line: &str| StoreSettings {
            password_command: line.into(),
            ..StoreSettings::default()
        };
        let file = StoreSettings { password_file: "/nonexistent".into(), ..Default::default() };
        for (settings, expect) in [
            (
                command("echo hunter2; exit 3"),
                "[store] password_command printed no password: it failed: exit status: 3 Command",
            ),
            (command("true"), "password_command contains no password"),
            (file, "could not read the file /nonexistent of [store] password_file"),
        ] {
            let error = check(settings).await.unwrap_err();
            assert!(error.contains(expect) && !error.contains("hunter2"), "{error}");
        }
    }

    /// Otherwise, `bethink config set` accepts a URL with which the daemon does not start.
    #[test]
    fn the_settings_accept_the_urls_that_the_store_accepts() {
        for url in [
            "postgres://ann:hunter2@db.example.org:5433/notes",
            "postgresql://db/notes?sslmode=verify-ca&sslrootcert=/ca.pem",
            "postgres://ann@%2Frun%2Fpostgresql/notes?options[search_path]=ann",
            "postgres:///notes?host=/run/postgresql&port=5433&dbname=a&user=b&password=c",
            "nonsense://x",
            "notes",
            "postgres://ann@db:notaport/notes",
            "postgres://ann@db/notes?sslmode=REQUIRE",
            "postgres://ann@db/notes?sslmode=always",
            "postgres://ann@db/notes?port=x",
            "postgres://ann@db/notes?pasword=x",
        ] {
            let file = Path::new("config.toml");
            let is_set = bethink_config::entries::with_setting(file, "", "store.url", url).is_ok();
            assert_eq!(is_set, url.parse::<PostgresAddress>().is_ok(), "{url}");
        }
    }
}
