//! How this program was installed, according to its path: how to update it, and whether its file may disappear.

use std::fs;
use std::path::{Path, PathBuf};

/// The programs that are installed together.
pub const PROGRAMS: [&str; 2] = ["bethink", "bethinkd"];
/// The folder of the home with copies of programs that ran from a cache.
pub const COPIES: &str = "bin";
/// The file among the copies that names the cache's owner.
pub const SOURCE: &str = "installed-by";

/// Where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// The cache of `npx`, which npm may empty.
    Npx,
    Npm,
    /// The cache of `uvx`, which uv may empty.
    Uvx,
    UvTool,
    Pipx,
    Pip,
    Cargo,
    /// A build in a clone of the repository.
    Clone,
    Debian,
    Homebrew,
    Nix,
    /// An archive that somebody unpacked, or a place that this program does not know.
    Archive,
}

impl Installation {
    /// Returns how the program at this path was installed. For a copy in `home`, returns how the original was installed.
    pub fn of(program: &Path, home: &Path) -> Self {
        if program.parent() == Some(&home.join(COPIES)) {
            let source = fs::read_to_string(home.join(COPIES).join(SOURCE)).unwrap_or_default();
            return match source.trim() {
                "uvx" => Self::Uvx,
                _ => Self::Npx,
            };
        }
        let is_venv = || {
            let place = program.parent().and_then(Path::parent);
            place.is_some_and(|place| place.join("pyvenv.cfg").is_file())
        };
        let is_packaged = || Path::new("/var/lib/dpkg/info/bethink.list").exists();
        match () {
            () if has(program, &["_npx"]) => Self::Npx,
            () if has(program, &["node_modules"]) => Self::Npm,
            () if has(program, &["uv", "tools"]) => Self::UvTool,
            () if has(program, &["archive-v0"]) || has(program, &["environments-v2"]) => Self::Uvx,
            () if has(program, &["pipx", "venvs"]) => Self::Pipx,
            () if is_venv() => Self::Pip,
            () if has(program, &[".cargo", "bin"]) => Self::Cargo,
            () if has(program, &["target", "debug"]) || has(program, &["target", "release"]) => {
                Self::Clone
            }
            () if has(program, &["Cellar"]) => Self::Homebrew,
            () if program.starts_with("/nix/store") => Self::Nix,
            () if program.starts_with("/usr/bin") && is_packaged() => Self::Debian,
            () => Self::Archive,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Npm => "npm",
            Self::Uvx => "uvx",
            Self::UvTool => "uv",
            Self::Pipx => "pipx",
            Self::Pip => "pip",
            Self::Cargo => "cargo",
            Self::Clone => "a clone of the repository",
            Self::Debian => "a Debian package",
            Self::Homebrew => "Homebrew",
            Self::Nix => "Nix",
            Self::Archive => "an archive",
        }
    }

    /// Returns the command that installs the newest version, or an instruction if there is no such command.
    pub fn update(self) -> &'static str {
        match self {
            Self::Npx => "npx bethink@latest upgrade",
            Self::Npm => "npm install --global bethink@latest",
            Self::Uvx => "uvx bethink@latest upgrade",
            Self::UvTool => "uv tool upgrade bethink",
            Self::Pipx => "pipx upgrade bethink",
            Self::Pip => "pip install --upgrade bethink",
            Self::Cargo => {
                "git pull && cargo install --locked --path bin/bethink && cargo install --locked --path bin/bethinkd"
            }
            Self::Clone => "git pull && cargo build --release",
            Self::Debian => "sudo apt install ./bethink_VERSION_ARCHITECTURE.deb",
            Self::Homebrew => "brew upgrade bethink",
            Self::Nix => "nix profile upgrade bethink",
            Self::Archive => "unpack the new archive over the old one",
        }
    }

    /// Whether the program's file may be deleted at any time, so that its path must not be written into settings.
    pub fn is_cached(self, program: &Path, home: &Path) -> bool {
        matches!(self, Self::Npx | Self::Uvx) && !program.starts_with(home.join(COPIES))
    }
}

/// Returns a path to this program that will not disappear: its own path or, if it runs from a cache, the path of the copy that
/// `bethink install` makes.
pub fn lasting(program: &Path, home: &Path) -> PathBuf {
    match Installation::of(program, home).is_cached(program, home) {
        true => home.join(COPIES).join(PROGRAMS[0]),
        false => program.to_owned(),
    }
}

/// Whether the path has these components next to each other.
fn has(path: &Path, names: &[&str]) -> bool {
    let parts: Vec<_> = path.components().map(std::path::Component::as_os_str).collect();
    parts.windows(names.len()).any(|some| some.iter().zip(names).all(|(part, name)| part == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_how_a_program_was_installed() {
        let home = Path::new("/h/.local/share/bethink");
        let check = |path: &str, installed: Installation| {
            assert_eq!(Installation::of(Path::new(path), home), installed, "{path}");
        };
        check("/h/.npm/_npx/1f/node_modules/@bethink/linux-x64/bin/bethink", Installation::Npx);
        check(
            "/usr/lib/node_modules/bethink/node_modules/@bethink/x/bin/bethink",
            Installation::Npm,
        );
        check("/h/.cache/uv/archive-v0/Zk3/bin/bethink", Installation::Uvx);
        check("/x/cache/archive-v0/Zk3/bin/bethink", Installation::Uvx);
        check("/h/.local/share/uv/tools/bethink/bin/bethink", Installation::UvTool);
        check("/h/.local/share/pipx/venvs/bethink/bin/bethink", Installation::Pipx);
        check("/h/.cargo/bin/bethink", Installation::Cargo);
        check("/h/src/bethink/target/release/bethink", Installation::Clone);
        check("/opt/homebrew/Cellar/bethink/0.1.0/bin/bethink", Installation::Homebrew);
        check("/nix/store/abc-bethink/bin/bethink", Installation::Nix);
        check("/opt/bethink-0.1.0/bin/bethink", Installation::Archive);
        check("/h/.local/share/bethink/bin/bethink", Installation::Npx);
    }
}
