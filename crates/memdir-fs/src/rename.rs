//! Moving names within one folder, without overwriting anything unseen, on what each file system can do.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::Dir;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

/// The beginning of every hidden name of ours. What follows is random, then the file's own name, then [`SUFFIX`].
pub(crate) const SIDE: &str = ".bethink-";
pub(crate) const SUFFIX: &str = ".tmp";
/// Random hexadecimal digits of a hidden name.
pub(crate) const DIGITS: usize = 16;

/// A name that nobody else has: what it is for can be read from it after a crash.
pub(crate) fn side_name(name: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{SIDE}{}-{name}{SUFFIX}", &random[..DIGITS])
}

/// The name of the file that a hidden one was made for.
pub(crate) fn named_for(side: &str) -> Option<&str> {
    let rest = side.strip_prefix(SIDE)?.strip_suffix(SUFFIX)?;
    let (random, name) = rest.split_at_checked(DIGITS)?;
    let hex = random.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix('-').filter(|name| hex && !name.is_empty())
}

/// What the file system below can do; learnt from its first refusal.
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

    /// Two entries change places in one step. `Ok(false)`: this file system can't.
    pub(crate) fn exchange(&self, dir: &Dir, one: &str, other: &str) -> io::Result<bool> {
        tried(&self.exchange, &FLAGS, || Ok(renamed(dir, one, other, RenameFlags::EXCHANGE)?))
    }

    /// `to` must not be there, or `AlreadyExists`.
    pub(crate) fn place(&self, dir: &Dir, from: &str, to: &str) -> io::Result<()> {
        if tried(&self.no_replace, &FLAGS, || Ok(renamed(dir, from, to, RenameFlags::NOREPLACE)?))?
        {
            return Ok(());
        }
        if tried(&self.links, &LINKS, || dir.hard_link(from, dir, to))? {
            return dir.remove_file(from);
        }
        // Neither flags nor links, as on some network file systems: a moment remains in which a save of
        // somebody else can be overwritten.
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

/// How file systems say that they don't know a flag.
const FLAGS: [Errno; 3] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];
/// And that they have no links.
const LINKS: [Errno; 3] = [Errno::PERM, Errno::NOSYS, Errno::OPNOTSUPP];

/// False when it can't be done here, now and later.
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
