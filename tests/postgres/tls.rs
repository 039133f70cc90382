//! Encrypted connections.

use std::path::Path;
use std::process::Command;

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Home, say, until};

use crate::{World, health, stored};

fn openssl(dir: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(dir);
    let made = command.output().expect("openssl, which the server's packages need");
    assert!(made.status.success(), "{made:?}");
}

/// Makes a certificate authority, and a certificate for `localhost` that it issued: `NAME-ca.pem` and `NAME.pem`.
fn certify(dir: &Path, name: &str) {
    let new = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    openssl(dir, &format!("{new} -x509 -subj /CN=ca -keyout {name}-ca.key -out {name}-ca.pem"));
    openssl(
        dir,
        &format!(
            "{new} -x509 -CA {name}-ca.pem -CAkey {name}-ca.key -subj /CN=localhost -addext subjectAltName=DNS:localhost \
             -addext basicConstraints=critical,CA:FALSE -keyout {name}.key -out {name}.pem"
        ),
    );
}

#[test]
fn a_connection_is_encrypted_and_the_certificate_is_checked() {
    let world = World::new();
    let database = world.database();
    let dir = tempfile::tempdir().unwrap();
    for name in ["server", "other"] {
        certify(dir.path(), name);
    }
    let port = world.server.listen_with_tls(&dir.path().join("server"));
    let url = |mode: &str, root: &str| {
        let root = dir.path().join(root).display().to_string().replace('/', "%2F");
        format!("postgres://bethink@localhost:{port}/{database}?sslmode={mode}&sslrootcert={root}")
    };
    let home = |url: &str| Home::new().with("BETHINK_STORE__URL", url);
    // Another certificate may be that of another network, so the daemon starts without the database.
    let away = home(&url("verify-full", "other-ca.pem")).start();
    let is_told = || {
        let detail = health(&away)["detail"].as_str()?.to_owned();
        detail.contains("certificate").then_some(())
    };
    if until(PATIENCE, is_told).is_none() {
        panic!("{}\n{}", health(&away), away.home.log());
    }
    drop(away);
    let daemon = home(&url("verify-full", "server-ca.pem")).start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("the boathouse is locked")]);
    assert_eq!(stored(&daemon, &session), 1);
    let plain = world.runtime.block_on(async {
        let mut db = world.server.connect(&database).await;
        let count = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE datname = current_database() AND pid <> pg_backend_pid() AND NOT ssl";
        bethink_postgres_server::count(&mut db, count).await
    });
    assert_eq!(plain, 0, "connections that are not encrypted");
    daemon.is_well();
}
