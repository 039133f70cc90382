//! Names of repositories that are the same in all clones.

/// Maximum length of a name, in bytes. A notification of the database has at most 8,000.
const MOST_NAME: usize = 500;

/// Returns a repository's name, such as `github.com/ann/mill`, for the URL from which it was cloned, in any of git's notations.
/// `None` for a path: on another machine, the same path may be another repository.
pub fn repository_name(url: &str) -> Option<String> {
    let (host, path) = match url.split_once("://") {
        Some(("http" | "https" | "ssh" | "git", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host).to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let name = format!("{host}/{path}");
    // Elsewhere, a host without a domain, or this machine's own address, may be another one. What has one of the other characters
    // is not only a name.
    let is_global = host.contains('.') && !host.starts_with("127.");
    let is_plain = !name.contains(|c: char| c.is_control() || "@:?#".contains(c));
    (is_global && !path.is_empty() && is_plain && name.len() <= MOST_NAME).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_notations_of_a_repository_have_one_name() {
        for url in [
            "https://github.com/ann/mill",
            "https://github.com/ann/mill.git",
            "https://ann:secret@GitHub.com/ann/mill.git/",
            "ssh://git@github.com:22/ann/mill.git",
            "git@github.com:ann/mill.git",
            "github.com:/ann/mill",
            "git://github.com/ann/mill",
        ] {
            assert_eq!(repository_name(url).as_deref(), Some("github.com/ann/mill"), "{url}");
        }
        for url in [
            "",
            "/git/mill",
            "../mill",
            "./a:b",
            "file:///git/mill",
            "C:",
            "https://github.com",
            "https:///mill",
            "ext::sh -c evil",
            "git@github.com:a\nb",
            "ann:secret@github.com:ann/mill",
            "https://github.com/ann/mill?token=secret",
            "git@gitea:ann/mill",
            "ssh://localhost/ann/mill",
            "http://127.0.0.1:3000/ann/mill",
        ] {
            assert_eq!(repository_name(url), None, "{url}");
        }
        assert_eq!(repository_name(&format!("h.org:{}", "x".repeat(MOST_NAME))), None);
    }
}
