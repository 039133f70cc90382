//! Keys stay where they are: not in a core file, and not in anything that the daemon writes or says.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use bethink_harness::{Home, until, wait};

/// Nobody in particular.
const SOMEBODY: u32 = 65_534;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// As the user of a daemon is: the kernel gives the files of a process that may not be dumped to root.
#[test]
fn a_crash_leaves_no_memory_behind() {
    let home = Home::new();
    let mut command = home.command();
    let own = home.scratch().metadata().unwrap().uid();
    if own == 0 {
        chown(home.scratch(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        // The one beside the test may lie where only root can go.
        let copy = home.scratch().join("bethinkd");
        std::fs::copy(command.get_program(), &copy).unwrap();
        let mut as_somebody = Command::new(&copy);
        as_somebody.args(command.get_args()).uid(SOMEBODY).gid(SOMEBODY).stderr(Stdio::null());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => as_somebody.env(name, value),
                None => as_somebody.env_remove(name),
            };
        }
        command = as_somebody;
    }
    let daemon = Running(command.spawn().unwrap());
    let place = home.path().join("daemon.json");
    until(wait::PATIENCE, || place.exists().then_some(())).expect("it serves");
    let process = std::path::PathBuf::from(format!("/proc/{}", daemon.0.id()));
    let limits = std::fs::read_to_string(process.join("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let figures: Vec<_> = core.split_whitespace().skip(4).take(2).collect();
    assert_eq!(figures, ["0", "0"], "{core}");
    let environment = process.join("environ").metadata().unwrap();
    assert_eq!((environment.uid(), environment.mode() & 0o077), (0, 0), "readable by its own user");
}
