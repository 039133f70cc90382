//! The client's tools in an extraction: calls are checked against the table and run on the copy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_agent::{Done, Permit, Tool, ToolCall};

use super::copy::MemoryCopy;
use super::shape::{ClientTool, FileCall, Toolset};
use super::table::{Allowed, Table};

/// The copy of the memory and the table of permissions, which all tools of one extraction share.
#[derive(Debug)]
pub struct ExtractionDesk {
    table: Table,
    copy: Mutex<MemoryCopy>,
    refused: AtomicBool,
}

impl ExtractionDesk {
    pub fn new(table: Table, copy: MemoryCopy) -> Self {
        Self { table, copy: Mutex::new(copy), refused: AtomicBool::new(false) }
    }

    pub fn copy(&self) -> MutexGuard<'_, MemoryCopy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Whether a write was refused.
    pub fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Runs a call, if the table allows it.
    pub fn act(&self, ask: FileCall) -> Result<String, String> {
        let is_write = matches!(ask, FileCall::Write { .. } | FileCall::Edit { .. });
        let done = self.try_act(ask);
        if is_write && done.is_err() {
            self.refused.store(true, Ordering::Relaxed);
        }
        done
    }

    fn try_act(&self, ask: FileCall) -> Result<String, String> {
        let mut copy = self.copy();
        let dir = &self.table.dir;
        let done = match self.table.judge(ask)? {
            Allowed::Read(spot) => copy.read(&spot).map(str::to_owned),
            Allowed::Write { spot, text } => copy.write(&spot, &text),
            Allowed::Edit { spot, old, new, all } => copy.edit(&spot, &old, &new, all),
            Allowed::Grep { pattern, below } => return copy.grep(dir, &pattern, &below),
            Allowed::List { pattern, below } => return copy.list(dir, pattern.as_deref(), &below),
        };
        done.map_err(|error| error.to_string())
    }
}

#[derive(Clone, Debug)]
pub struct MemoryTool {
    tool: ClientTool,
    desk: Arc<ExtractionDesk>,
}

impl MemoryTool {
    pub fn all(tools: &Toolset, desk: &Arc<ExtractionDesk>) -> Vec<Self> {
        let own = |tool: &ClientTool| Self { tool: tool.clone(), desk: Arc::clone(desk) };
        tools.tools.iter().map(own).collect()
    }
}

impl Tool for MemoryTool {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn permit(&self, call: ToolCall<'_>) -> Permit {
        match self.tool.ask(call.input).and_then(|ask| self.desk.table.judge(ask)) {
            Ok(_) => Permit::Allow,
            Err(reason) => Permit::Deny(reason),
        }
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Done<'a> {
        Box::pin(async move { self.desk.act(self.tool.ask(call.input)?) })
    }
}
