//! Where a database is, and how safely it is reached.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use bethink_config::database_url::PARAMETERS;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::opened::PostgresOpenError;

/// The schema that PostgreSQL uses without other settings.
const USUAL_SCHEMA: &str = "public";

/// Where the database is, and who connects. Neither its debug output nor its text contains the password.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(crate) options: PgConnectOptions,
    /// The schema of the tables, once a connection has found it. Clones share it.
    schema: Arc<OnceLock<String>>,
}

impl PostgresAddress {
    /// Replaces the password of the URL.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        Self { options: self.options.password(password), ..self }
    }

    /// Notes the schema of a connection. Every connection to this address has the same one.
    pub(crate) fn note_schema(&self, schema: &str) {
        self.schema.get_or_init(|| schema.to_owned());
    }

    /// Chooses how the connection is secured. A socket needs nothing. To this machine, TLS is used if the server has it. To
    /// other machines, it is required, and the server's certificate is checked unless the address says otherwise.
    fn secured(self) -> Result<Self, PostgresOpenError> {
        let asked = self.options.get_ssl_mode();
        let mode = match asked {
            _ if socket_folder(&self.options).is_some() => PgSslMode::Disable,
            _ if is_loopback(self.options.get_host()) => asked,
            PgSslMode::Disable | PgSslMode::Allow => return Err(PostgresOpenError::Unencrypted),
            PgSslMode::Prefer => PgSslMode::VerifyFull,
            PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => asked,
        };
        Ok(Self { options: self.options.ssl_mode(mode), ..self })
    }
}

impl FromStr for PostgresAddress {
    type Err = PostgresOpenError;

    /// Parses a URL such as `postgres://user:password@host/database`.
    fn from_str(url: &str) -> Result<Self, PostgresOpenError> {
        let rest =
            ["postgres://", "postgresql://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let query = rest.ok_or(PostgresOpenError::Address)?.split_once('?').unwrap_or_default().1;
        check_parameters(query)?;
        // The cause is dropped, because it may repeat a part of the URL, which may be the password.
        let options = url.parse::<PgConnectOptions>().map_err(|_| PostgresOpenError::Address)?;
        // A URL has brackets around an IPv6 address, which a connection must not have.
        let host = options.get_host().trim_matches(['[', ']']).to_owned();
        Self::from(options.host(&host)).secured()
    }
}

impl From<PgConnectOptions> for PostgresAddress {
    fn from(options: PgConnectOptions) -> Self {
        let options = options.application_name("bethink").disable_statement_logging();
        Self { options, schema: Arc::default() }
    }
}

/// Returns the folder of the server's socket, unless the server is reached over TCP.
pub(crate) fn socket_folder(options: &PgConnectOptions) -> Option<String> {
    let folder = options.get_socket().map(|folder| folder.display().to_string());
    folder.or_else(|| Some(options.get_host().to_owned()).filter(|host| host.starts_with('/')))
}

/// Says where the database is: its name, the schema if it is known and not the usual one, and the server.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, schema } = self;
        // Without a name, the server chooses the database with the user's name.
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        write!(f, "PostgreSQL database {database}")?;
        if let Some(schema) = schema.get().filter(|schema| *schema != USUAL_SCHEMA) {
            write!(f, " (schema {schema})")?;
        }
        match socket_folder(options) {
            Some(folder) => write!(f, " at {folder}"),
            None => write!(f, " at {}:{}", options.get_host(), options.get_port()),
        }
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresAddress")
            .field("place", &self.to_string())
            .field("user", &self.options.get_username())
            .finish_non_exhaustive()
    }
}

/// Checks the names of the parameters.
fn check_parameters(query: &str) -> Result<(), PostgresOpenError> {
    // A password may contain a question mark or an ampersand that is not encoded, and is then a part of a name.
    let mut may_be_password = query.contains('@');
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !PARAMETERS.contains(&name) {
            let shown = (!may_be_password && !value.is_empty()).then(|| name.to_owned());
            return Err(PostgresOpenError::Parameter(shown));
        }
        may_be_password |= name == "password";
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusual_schema_is_named_once_it_is_known() {
        let address: PostgresAddress = "postgres://ann@localhost/notes".parse().unwrap();
        let other = address.clone().with_password("hunter2");
        other.note_schema("ann");
        assert_eq!(address.to_string(), "PostgreSQL database notes (schema ann) at localhost:5432");
        let usual: PostgresAddress = "postgres://ann@localhost/notes".parse().unwrap();
        usual.note_schema("public");
        assert_eq!(usual.to_string(), "PostgreSQL database notes at localhost:5432");
    }

    #[test]
    fn a_password_is_never_shown() {
        let address: PostgresAddress =
            "postgres://ann:hunter2@example.org:5433/notes".parse().unwrap();
        let shown = format!("{address} {address:?}");
        assert!(shown.contains("ann") && shown.contains("database notes at example.org:5433"));
        assert!(!shown.contains("hunter2"), "{shown}");
        for url in [
            "postgres://ann:hunter2@:x/",
            "postgres://ann@host/notes?pasword=hunter2",
            "postgres://ann@host/notes?hunter2",
            "postgres://ann@host/notes?password=a&hunter2=b",
            "postgres://ann:12?hunter2=@host/notes",
            "postgres://ann@host/notes?sslmode=hunter2",
            "ann:hunter2@host",
            "mysql://ann:hunter2@host/notes",
            "postgres://ann:hunter2@host/notes?sslmode=disable",
        ] {
            let error = url.parse::<PostgresAddress>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn an_unsupported_parameter_is_named() {
        let url = "postgres://ann@host/notes?sslmode=require&pasword=hunter2";
        let error = url.parse::<PostgresAddress>().unwrap_err().to_string();
        assert!(error.contains("unsupported parameter: `pasword`;"), "{error}");
    }

    #[test]
    fn other_machines_are_reached_with_tls_only() {
        let mode = |rest: &str| -> Result<PgSslMode, PostgresOpenError> {
            let address: PostgresAddress = format!("postgres://ann@{rest}").parse()?;
            Ok(address.options.get_ssl_mode())
        };
        for (rest, expect) in [
            ("db.example.org/notes", PgSslMode::VerifyFull),
            ("db.example.org/notes?sslmode=prefer", PgSslMode::VerifyFull),
            ("db.example.org/notes?sslmode=require", PgSslMode::Require),
            ("db.example.org/notes?sslmode=verify-ca", PgSslMode::VerifyCa),
            ("127.0.0.1/notes", PgSslMode::Prefer),
            ("localhost/notes?sslmode=disable", PgSslMode::Disable),
            ("localhost/notes?sslmode=verify-full", PgSslMode::VerifyFull),
            ("[::1]/notes", PgSslMode::Prefer),
            ("%2Frun%2Fpostgresql/notes", PgSslMode::Disable),
        ] {
            let found = mode(rest).unwrap();
            assert_eq!(format!("{found:?}"), format!("{expect:?}"), "{rest}");
        }
        for rest in [
            "db.example.org/notes?sslmode=disable",
            "db.example.org/notes?sslmode=allow",
            "10.0.0.1/notes?sslmode=disable",
            "localhost/notes?host=db.example.org&sslmode=disable",
            "localhost.example.org/notes?sslmode=disable",
        ] {
            let refused = mode(rest);
            assert!(matches!(refused, Err(PostgresOpenError::Unencrypted)), "{rest}: {refused:?}");
        }
    }
}
