//! A context for tests: with its own home, SQLite, and the system's clock.

use std::path::Path;
use std::sync::Arc;

use bethink_config::Settings;
use bethink_store_sqlite::{Options, SqliteStore};

use bethink_service::{Clock, ServiceContext, SystemClock};

/// A context over a new or existing database in `home`.
///
/// # Panics
/// When the database can't be opened.
#[allow(clippy::expect_used, reason = "a test stops where it fails")]
pub async fn context(home: &Path) -> ServiceContext {
    context_with(Settings::at(home)).await
}

/// The same with other settings.
///
/// # Panics
/// When the database can't be opened.
#[allow(clippy::expect_used, reason = "a test stops where it fails")]
pub async fn context_with(settings: Settings) -> ServiceContext {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let path = settings.home.join("bethink.db");
    let opened = SqliteStore::open(&path, Options::new(clock.now())).await;
    let (store, _) = opened.expect("the test's database opens");
    ServiceContext::new(settings, clock, Arc::new(store))
}
