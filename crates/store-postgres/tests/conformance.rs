//! Runs the port's conformance tests with PostgreSQL.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use bethink_store_postgres::PostgresStore;

async fn empty_store() -> ((), PostgresStore) {
    let server = server::server().await;
    let database = server.new_database().await;
    ((), server.open(&database).await)
}

bethink_store_conformance::store_conformance!(empty_store);
