//! Recognizes, only by name, files that probably contain secrets.

use std::path::Path;

/// Directories that contain keys and tokens.
const DIRECTORIES: [&str; 7] =
    [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", "keyrings"];
/// Files in which tools keep credentials, with their directories.
const LOGINS: [(&str, &str); 3] =
    [(".config", "gh"), (".config", "gcloud"), (".docker", "config.json")];
/// Whole names of files that contain secrets.
const NAMES: &str = ".netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .vault-token .dockercfg \
    authorized_keys known_hosts shadow gshadow passwd sudoers credentials token tokens secret secrets master.key";
/// Prefixes of the names of key files.
const BEGINNINGS: [&str; 6] =
    ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.", "secrets."];
/// Extensions of key files.
const ENDINGS: [&str; 12] =
    ["pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "ppk", "asc", "gpg", "ovpn", "tfstate"];
/// Suffixes of `.env` files that are meant to be shared.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Returns the component of a path that looks like a secret, if any.
pub(crate) fn looks_secret(path: &Path) -> Option<String> {
    let parts = path.components().filter_map(|part| part.as_os_str().to_str());
    let parts: Vec<String> = parts.map(str::to_lowercase).collect();
    let (name, directories) = parts.split_last()?;
    if let Some(directory) = directories.iter().find(|part| DIRECTORIES.contains(&part.as_str())) {
        return Some(format!("{directory}/"));
    }
    let login = parts.windows(2).find(|two| LOGINS.contains(&(two[0].as_str(), two[1].as_str())));
    let login = login.map(|two| two.join("/"));
    login.or_else(|| is_secret(name).then(|| name.clone()))
}

fn is_secret(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    // `secrets.md` documents how secrets are handled.
    if matches!(ending, "md" | "mdx" | "mdc" | "rst" | "adoc") {
        return false;
    }
    let is_env = name == ".env" || name.starts_with(".env.") || name.ends_with(".env");
    (is_env && !EXAMPLES.contains(&ending))
        || name == ".envrc"
        || NAMES.split(' ').any(|known| known == name)
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || ENDINGS.contains(&ending)
}

/// Returns whether a path is in a virtual file system: reading such a file may have side effects or reveal data about
/// processes.
pub(crate) fn is_of_the_system(real: &Path) -> bool {
    ["/proc", "/sys", "/dev"].iter().any(|root| real.starts_with(root))
}

/// Returns whether a path is in a directory of third-party code, which was not written for this project.
pub(crate) fn is_foreign(below_root: &Path) -> bool {
    const FOREIGN: [&str; 5] =
        ["node_modules", ".git", ".venv", "site-packages", "bower_components"];
    let mut parts = below_root.components().filter_map(|part| part.as_os_str().to_str());
    parts.any(|part| FOREIGN.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets() {
        for path in [
            "/h/.ssh/config",
            "/h/.ssh/notes.md",
            "/p/.env",
            "/p/.env.local",
            "/p/prod.env",
            "/p/server.key",
            "/p/KEY.PEM",
            "/h/.aws/credentials",
            "/h/id_rsa",
            "/h/id_ed25519.pub",
            "/h/.netrc",
            "/etc/shadow",
            "/p/credentials.json",
            "/p/secrets.yaml",
            "/h/.config/gh/hosts.yml",
            "/h/.docker/config.json",
        ] {
            assert!(looks_secret(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn no_secrets() {
        for path in [
            "/p/AGENTS.md",
            "/p/docs/secrets.md",
            "/p/.env.example",
            "/p/keyboard.txt",
            "/p/tokens/README.md",
            "/p/environment.json",
            "/p/monkey",
            "/p/package.json",
            "/p/docs/credentials.md",
            "/p/gh/a.txt",
            "/p/.docker/README.md",
        ] {
            assert_eq!(looks_secret(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn places() {
        assert!(is_of_the_system(Path::new("/proc/self/environ")));
        assert!(is_of_the_system(Path::new("/dev/stdin")));
        assert!(!is_of_the_system(Path::new("/development/a.md")));
        assert!(is_foreign(Path::new("a/node_modules/b/CLAUDE.md")));
        assert!(!is_foreign(Path::new("a/modules/CLAUDE.md")));
    }
}
