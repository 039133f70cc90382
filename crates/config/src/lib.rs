//! Settings of the daemon: defaults, then the config file, then the environment, then arguments.
//!
//! Owns the names, defaults and bounds of every setting, and where the files of a home lie. Leaves
//! the meaning of a setting to the crate that obeys it.
//!
//! A project's own files are never read: only the user's config file, the environment and the
//! arguments decide.

mod error;
pub mod home;
mod keys;
pub mod load;
pub mod settings;

pub use error::{ConfigError, SettingOrigin};
pub use home::Home;
pub use load::{Loaded, Overrides, UnknownKey};
pub use settings::{
    CompactSettings, ContextSettings, DaemonSettings, GatewaySettings, MemorySettings,
    ModelSettings, SessionMemorySettings, Settings, TeamSettings,
};
