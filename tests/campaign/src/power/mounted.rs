//! ext4 on a loop device over a file; unmounted and detached when dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug)]
pub struct MountedDisk {
    device: String,
    place: PathBuf,
}

/// Returns an error with the reason if disks cannot be mounted here.
pub fn is_possible() -> Result<(), String> {
    for device in ["/dev/fuse", "/dev/loop-control"] {
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(device)
            .map_err(|error| format!("needs root: could not open {device}: {error}"))?;
    }
    for program in ["losetup", "mkfs.ext4", "mount", "umount"] {
        run("sh", &["-c", &format!("command -v {program}")])
            .map_err(|_| format!("needs {program}"))?;
    }
    Ok(())
}

impl MountedDisk {
    /// Makes a file system.
    pub fn make(file: &Path, place: &Path) -> Result<Self, String> {
        let device = attach(file)?;
        // Without lazy initialization, which writes in the background.
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        if let Err(why) = run("mkfs.ext4", &["-q", "-F", "-E", lazy, &device]) {
            return Err(detach(&device).err().unwrap_or(why));
        }
        Self::mount_device(device, place)
    }

    /// Mounts the file system in a file, as after a power cut.
    pub fn mount(file: &Path, place: &Path) -> Result<Self, String> {
        Self::mount_device(attach(file)?, place)
    }

    fn mount_device(device: String, place: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
        match run("mount", &["-t", "ext4", &device, &place.to_string_lossy()]) {
            Ok(_) => Ok(Self { device, place: place.to_owned() }),
            Err(why) => Err(detach(&device).err().unwrap_or(why)),
        }
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        // If a disk stays mounted, the next test that needs a loop device fails.
        drop(run("umount", &["-l", &self.place.to_string_lossy()]));
        drop(detach(&self.device));
    }
}

/// Unmounts the file system of a [`super::log_disk::LogDisk`].
pub fn unmount(place: &Path) {
    drop(run("umount", &["-l", &place.to_string_lossy()]));
}

fn attach(file: &Path) -> Result<String, String> {
    run("losetup", &["--find", "--show", &file.to_string_lossy()]).map(|out| out.trim().to_owned())
}

fn detach(device: &str) -> Result<String, String> {
    run("losetup", &["-d", device])
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("could not run {program}: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(format!("{program} failed: {}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}
