//! The server of a test binary, with stores.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::ops::Deref;

use bethink_postgres_server::TestServer;
use bethink_store::Store;
use bethink_store_postgres::{DaemonIdentity, PostgresAddress, PostgresOptions, PostgresStore};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// A database with the current schema and no rows, which is copied for each test.
const TEMPLATE: &str = "bethink_template";

#[derive(Debug)]
pub struct StoreServer(TestServer);

/// Returns the server of this binary. If PostgreSQL is not installed, ends the binary: successfully, except in CI.
pub async fn server() -> &'static StoreServer {
    static SERVER: OnceCell<StoreServer> = OnceCell::const_new();
    SERVER.get_or_init(StoreServer::start).await
}

impl StoreServer {
    async fn start() -> Self {
        let server = Self(TestServer::start().await);
        server.admin(&format!("CREATE DATABASE {TEMPLATE}")).await;
        let (store, report) = PostgresStore::open(&server.options(TEMPLATE)).await.unwrap();
        assert!(report.new && report.unsafe_settings, "{report:?}");
        store.close().await.unwrap();
        server
    }

    pub fn options(&self, database: &str) -> PostgresOptions {
        PostgresOptions::new(PostgresAddress::from(self.address(database)))
    }

    /// Creates an empty database with the current schema.
    pub async fn new_database(&self) -> String {
        self.create(TEMPLATE).await
    }

    /// Opens one more store on a database.
    pub async fn open(&self, database: &str) -> PostgresStore {
        PostgresStore::open(&self.options(database)).await.unwrap().0
    }

    /// Opens a store for a daemon with this name and a home of its own.
    pub async fn open_for(
        &self,
        name: &str,
        database: &str,
    ) -> Result<PostgresStore, bethink_store_postgres::PostgresOpenError> {
        self.open_in(Uuid::new_v4(), name, database).await
    }

    /// Opens a store for a daemon of this home.
    pub async fn open_in(
        &self,
        home: Uuid,
        name: &str,
        database: &str,
    ) -> Result<PostgresStore, bethink_store_postgres::PostgresOpenError> {
        let daemon = Some(DaemonIdentity { home, name: name.to_owned() });
        let options = PostgresOptions { daemon, ..self.options(database) };
        Ok(PostgresStore::open(&options).await?.0)
    }
}

impl Deref for StoreServer {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.0
    }
}
