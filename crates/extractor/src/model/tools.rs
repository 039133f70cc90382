//! The client's tools as an extraction calls them: judged by the table, done on the copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_agent::{Call, Done, Permit, Tool};

use super::copy::MemoryCopy;
use super::shape::{Ask, ClientTool, Toolset};
use super::table::{Allowed, Table};

/// A copy and its table, shared by all tools of one extraction.
#[derive(Debug)]
pub struct Desk {
    table: Table,
    copy: Mutex<MemoryCopy>,
}

impl Desk {
    pub fn new(table: Table, copy: MemoryCopy) -> Self {
        Self { table, copy: Mutex::new(copy) }
    }

    pub fn copy(&self) -> MutexGuard<'_, MemoryCopy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Does what a call asks for, if the table allows it.
    pub fn act(&self, ask: Ask) -> Result<String, String> {
        let mut copy = self.copy();
        let dir = &self.table.dir;
        match self.table.judge(ask)? {
            Allowed::Read(spot) => {
                copy.read(&spot).map(str::to_owned).map_err(|error| error.to_string())
            }
            Allowed::Write { spot, text } => {
                copy.write(&spot, &text).map_err(|error| error.to_string())
            }
            Allowed::Edit { spot, old, new, all } => {
                copy.edit(&spot, &old, &new, all).map_err(|error| error.to_string())
            }
            Allowed::Grep { pattern, below } => copy.grep(dir, &pattern, &below),
            Allowed::List { pattern, below } => copy.list(dir, pattern.as_deref(), &below),
        }
    }
}

/// One of the client's tools.
#[derive(Clone, Debug)]
pub struct MemoryTool {
    tool: ClientTool,
    desk: Arc<Desk>,
}

impl MemoryTool {
    pub fn all(tools: &Toolset, desk: &Arc<Desk>) -> Vec<Self> {
        let own = |tool: &ClientTool| Self { tool: tool.clone(), desk: Arc::clone(desk) };
        tools.tools.iter().map(own).collect()
    }
}

impl Tool for MemoryTool {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn permit(&self, call: Call<'_>) -> Permit {
        match self.tool.ask(call.input).and_then(|ask| self.desk.table.judge(ask)) {
            Ok(_) => Permit::Allow,
            Err(reason) => Permit::Deny(reason),
        }
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Done<'a> {
        Box::pin(async move { self.desk.act(self.tool.ask(call.input)?) })
    }
}
