//! Nothing of the daemon's memory is left on disk when it crashes: it holds conversations, and the key of a model.

use anyhow::Context;
use rustix::process::{Resource, Rlimit, setrlimit};

/// No core files, for this process and the commands it runs. The limit alone is not enough: where the system
/// hands cores to a program, it hands them over whatever the limit. Not being dumpable covers that, and keeps other
/// programs of the same user from reading this one's memory and environment (`/proc/PID/environ`, ptrace).
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
