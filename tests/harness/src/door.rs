//! A project's memory through the API, for writers who compare before they write.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Daemon;
use crate::http::{Client, Request};
use crate::saves::{Answer, Door};
use crate::wait::until;

/// How long the daemon may take after the last write to delete replaced files.
const SETTLED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct HttpDoor {
    addr: SocketAddr,
    token: String,
    project: String,
    dir: PathBuf,
}

impl HttpDoor {
    /// `project` is an absolute path.
    pub fn new(daemon: &Daemon, project: &str) -> Self {
        let path = format!("/v1/memories/index?project_dir={project}");
        let index = daemon.client().get(&path).ok();
        let dir = PathBuf::from(index["dir"].as_str().unwrap());
        fs::create_dir_all(&dir).unwrap();
        let (addr, token) = (daemon.addr(), daemon.token().to_owned());
        Self { addr, token, project: project.to_owned(), dir }
    }

    /// The memory directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn client(&self) -> Client {
        Client::new(self.addr, &self.token)
    }

    fn path(&self, file: &str, rest: &str) -> String {
        let name = file.strip_suffix(".md").unwrap();
        format!("/v1/memories/private/{name}{rest}?project_dir={}", self.project)
    }
}

impl Door for HttpDoor {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let answer = self.client().get(&self.path(path, ""));
        match answer.status {
            200 => Some(answer.body),
            404 => None,
            _ => panic!("{}", answer.brief()),
        }
    }

    fn write(&self, path: &str, before: Option<&[u8]>, text: &[u8]) -> Answer {
        let request = Request::new("PUT", &self.path(path, "")).bytes("text/markdown", text);
        let request = match before {
            Some(before) => request.header("If-Match", &format!("\"{}\"", self.tag(before))),
            None => request.header("If-None-Match", "*"),
        };
        let answer = self.client().send(&request).unwrap();
        match answer.status {
            200 => Answer::Written,
            409 if answer.problem()["versions"].is_object() => Answer::Conflict,
            _ => Answer::Refused(answer.brief()),
        }
    }

    /// The daemon cleans up by itself; in the end no hidden file may be left.
    fn settle(&self, last: bool) {
        let hidden = || {
            let names = fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with(".bethink-")).count()
        };
        if last {
            until(SETTLED, || (hidden() == 0).then_some(())).expect("nothing displaced stays");
        }
    }

    fn history(&self, path: &str) -> BTreeSet<String> {
        let (mut tags, mut before) = (BTreeSet::new(), String::new());
        loop {
            let page = self.client().get(&(self.path(path, "/history") + &before)).ok();
            let versions = page["versions"].as_array().unwrap();
            let Some(last) = versions.last() else { return tags };
            before = format!("&before={}", last["version"]);
            tags.extend(versions.iter().map(|v| v["etag"].as_str().unwrap().to_owned()));
        }
    }

    fn tag(&self, text: &[u8]) -> String {
        blake3::hash(text).to_hex().to_string()
    }
}
