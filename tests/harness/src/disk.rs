//! Small disks, for tests that fill them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const BALLAST: &str = "ballast";

/// A disk in memory; unmounted when dropped.
#[derive(Debug)]
pub struct Disk {
    dir: TempDir,
}

impl Disk {
    /// `None` if mounting is not allowed; the caller then reports that it skips the test.
    pub fn mount(kib: u64) -> Option<Self> {
        let dir = TempDir::with_prefix("bethink-disk-").ok()?;
        let size = format!("size={kib}k");
        let place = dir.path().to_str()?;
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", place]).then_some(Self { dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Takes all the space that is left.
    pub fn fill(&self) -> io::Result<()> {
        let mut ballast =
            OpenOptions::new().create(true).append(true).open(self.path().join(BALLAST))?;
        for size in [1 << 16, 1 << 12, 1] {
            while ballast.write(&vec![1; size]).is_ok() {}
        }
        Ok(())
    }

    /// Gives back what [`fill`](Self::fill) took.
    pub fn free(&self) -> io::Result<()> {
        fs::remove_file(self.path().join(BALLAST))
    }

    /// Changes the size, or makes it read-only (`ro`) or writable (`rw`).
    pub fn remount(&self, options: &str) -> bool {
        let options = format!("remount,{options}");
        self.path().to_str().is_some_and(|place| run("mount", &["-o", &options, place]))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(place) = self.path().to_str() {
            run("umount", &["-l", place]);
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
