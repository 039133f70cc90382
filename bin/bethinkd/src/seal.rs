//! Keeps the daemon's memory off the disk if it crashes, because it contains conversations and API keys.

use anyhow::Context;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core files for this process and the commands it runs. The limit is not enough: a system that pipes cores to
/// a program ignores it. A process that is not dumpable covers that, and other programs of the same user cannot read
/// its memory and environment (`/proc/PID/environ`, ptrace).
pub(crate) fn no_core_dumps() -> anyhow::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .context("could not turn core dumps off")?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .context("could not close the memory to other programs")?;
    }
    Ok(())
}
