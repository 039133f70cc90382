//! The daemon's settings, from defaults, the config file, the environment and arguments. Later sources take precedence.
//!
//! This crate contains the names, defaults and bounds of all settings, and the paths of the files in a home. What a setting
//! does is up to the crate that uses it. A project's own files are never read as settings.

pub mod database_url;
pub mod entries;
mod error;
pub mod home;
mod keys;
pub mod load;
pub mod paths;
pub mod settings;

pub use entries::SettingEntry;
pub use error::{ConfigError, SettingOrigin};
pub use home::Home;
pub use keys::loopback;
pub use load::{Loaded, Overrides, UnknownKey, unknown_variables};
pub use paths::PathPattern;
pub use settings::{
    CaptureSettings, CompactSettings, ContextSettings, DaemonSettings, GatewaySettings,
    MemorySettings, ModelSettings, SessionMemorySettings, Settings, StoreSettings, TeamSettings,
};
