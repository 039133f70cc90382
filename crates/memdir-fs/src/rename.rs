//! Renames within a folder without overwriting unseen content, with the operations that the file system supports.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::Dir;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

/// The prefix of all our hidden names. Random digits, the file's own name and [`SUFFIX`] follow.
pub(crate) const SIDE: &str = ".bethink-";
pub(crate) const SUFFIX: &str = ".tmp";
/// Number of random hexadecimal digits in a hidden name.
pub(crate) const DIGITS: usize = 16;

/// Makes a unique hidden name. The hidden name contains the file's own name, which is needed after a crash.
pub(crate) fn side_name(name: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{SIDE}{}-{name}{SUFFIX}", &random[..DIGITS])
}

/// Returns the name of the file that a hidden file belongs to.
pub(crate) fn named_for(side: &str) -> Option<&str> {
    let rest = side.strip_prefix(SIDE)?.strip_suffix(SUFFIX)?;
    let (random, name) = rest.split_at_checked(DIGITS)?;
    let hex = random.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix('-').filter(|name| hex && !name.is_empty())
}

/// Operations that the file system supports, learned from its errors.
#[derive(Debug)]
pub(crate) struct Abilities {
    exchange: AtomicBool,
    no_replace: AtomicBool,
    links: AtomicBool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self::of(true, true, true)
    }
}

impl Abilities {
    pub(crate) fn of(exchange: bool, no_replace: bool, links: bool) -> Self {
        let [exchange, no_replace, links] = [exchange, no_replace, links].map(AtomicBool::new);
        Self { exchange, no_replace, links }
    }

    /// Exchanges two entries in one step. Returns `false` if the file system does not support it.
    pub(crate) fn exchange(&self, dir: &Dir, one: &str, other: &str) -> io::Result<bool> {
        tried(&self.exchange, &FLAGS, || Ok(renamed(dir, one, other, RenameFlags::EXCHANGE)?))
    }

    /// Moves `from` to `to`. Fails with `AlreadyExists` if `to` exists.
    pub(crate) fn place(&self, dir: &Dir, from: &str, to: &str) -> io::Result<()> {
        if tried(&self.no_replace, &FLAGS, || Ok(renamed(dir, from, to, RenameFlags::NOREPLACE)?))?
        {
            return Ok(());
        }
        if tried(&self.links, &LINKS, || dir.hard_link(from, dir, to))? {
            return dir.remove_file(from);
        }
        // Some network file systems support neither flags nor links. Between the check and the rename, a save by
        // another program could be overwritten.
        match dir.symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => dir.rename(from, dir, to),
            Err(error) => Err(error),
        }
    }
}

fn renamed(dir: &Dir, from: &str, to: &str, flags: RenameFlags) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(dir, from, dir, to, flags)
}

/// Errors from file systems that do not support a flag.
const FLAGS: [Errno; 3] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];
/// Errors from file systems without hard links.
const LINKS: [Errno; 3] = [Errno::PERM, Errno::NOSYS, Errno::OPNOTSUPP];

/// Returns `false` if the file system does not support the operation.
fn tried(
    able: &AtomicBool,
    refusals: &[Errno],
    act: impl FnOnce() -> io::Result<()>,
) -> io::Result<bool> {
    if !able.load(Ordering::Relaxed) {
        return Ok(false);
    }
    match act() {
        Ok(()) => Ok(true),
        Err(error) if Errno::from_io_error(&error).is_some_and(|no| refusals.contains(&no)) => {
            able.store(false, Ordering::Relaxed);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
