//! Keeps the daemon's memory off the disk if it crashes, because it contains conversations and API keys.

use anyhow::Context;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core files for this process and the commands that it runs. The limit alone is not enough, because a system
/// that pipes core dumps to a program ignores it. Therefore the process is also made non-dumpable, which prevents other
/// programs of the same user from reading its memory and environment (`/proc/PID/environ`, ptrace).
pub(crate) fn no_core_dumps() -> anyhow::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .context("could not disable core dumps")?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .context("could not prevent other programs from reading the process memory")?;
    }
    Ok(())
}
