//! Settings of the daemon: defaults, then the config file, then the environment, then arguments.
//!
//! Owns the names, defaults and bounds of every setting, and the paths of the files in a home. What a setting does is
//! up to the crate that uses it.
//!
//! A project's own files are never read as settings: only the user's config file, the environment and the arguments.

pub mod entries;
mod error;
pub mod home;
mod keys;
pub mod load;
pub mod settings;

pub use entries::SettingEntry;
pub use error::{ConfigError, SettingOrigin};
pub use home::Home;
pub use load::{Loaded, Overrides, UnknownKey};
pub use settings::{
    CompactSettings, ContextSettings, DaemonSettings, GatewaySettings, MemorySettings,
    ModelSettings, SessionMemorySettings, Settings, TeamSettings,
};
