//! What a tool does, recognized by its name: one table for the tools of all agents.

use std::collections::HashSet;

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Searches in files or for files, or lists them.
    Search,
    /// Changes a part of a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Runs a command, or returns the output of one.
    Shell,
    /// Fetches a page or searches the web.
    Web,
    /// Sets the whole todo list.
    TodoList,
    /// Adds one todo.
    TodoAdd,
    /// Changes one todo.
    TodoChange,
    /// Starts another agent.
    Agent,
    /// Returns the state or the result of another agent, or stops it.
    AgentResult,
    /// Loads the instructions of a skill.
    Skill,
    /// Turns plan mode on.
    PlanStart,
    /// Shows a plan to the user, and turns plan mode off if they approve it.
    PlanEnd,
    /// Loads the definitions of tools.
    ToolSearch,
}

/// Names of tools, in lower case and without `_`, `-` and `.`, of Claude Code, Codex, Gemini CLI, Qwen Code, OpenCode,
/// Cursor, Copilot, Cline, Roo, Continue, Kimi, Amp, Crush, Goose, Zed, pi, and the file server of MCP.
const KINDS: [(ToolKind, &str); 15] = [
    (
        ToolKind::Read,
        "read readfile readfiles readmanyfiles readtextfile readmediafile readmultiplefiles viewfile view \
         notebookread readnotebook viewimage",
    ),
    (
        ToolKind::Search,
        "grep glob find search searchfiles searchfilecontent grepsearch grepfiles filesearch findpath \
         findfiles fileglobsearch codebasesearch codesearch semanticsearch searchcode searchtext \
         listcodedefinitionnames finder lsp ls list listdir listdirectory listfiles directorytree getfileinfo",
    ),
    (
        ToolKind::Edit,
        "edit multiedit editfile editfiles notebookedit editnotebook editexistingfile strreplace \
         strreplaceeditor strreplacebasededittool strreplacefile texteditor applypatch applydiff patch replace \
         replaceinfile replacestringinfile multireplacestringinfile singlefindandreplace replacefilecontent \
         searchreplace searchandreplace insertcontent inserteditintofile",
    ),
    (ToolKind::Write, "write writefile writetofile create createfile createnewfile savefile"),
    (
        ToolKind::Shell,
        "bash shell shellcommand localshell containerexec execcommand exec writestdin runshellcommand \
         runcommand runcommands runterminalcmd runterminalcommand runinterminal executecommand terminal \
         bashoutput getterminaloutput startprocess readprocessoutput powershell",
    ),
    (
        ToolKind::Web,
        "webfetch fetch fetchurl fetchwebpage fetchurlcontent fetchwebcontent readwebpage websearch \
         searchweb googlewebsearch",
    ),
    (
        ToolKind::TodoList,
        "todowrite writetodos todos updateplan updatetodolist managetodolist settodolist",
    ),
    (ToolKind::TodoAdd, "taskcreate"),
    (ToolKind::TodoChange, "taskupdate"),
    (
        ToolKind::Agent,
        "task agent spawnagent invokeagent runsubagent newtask delegatetask subagent",
    ),
    (
        ToolKind::AgentResult,
        "taskoutput agentoutput agentoutputtool wait waitagent closeagent taskstop killtask",
    ),
    (ToolKind::Skill, "skill skills activateskill loadskill useskill"),
    (ToolKind::PlanStart, "enterplanmode planenter"),
    (ToolKind::PlanEnd, "exitplanmode planexit"),
    (ToolKind::ToolSearch, "toolsearch"),
];

impl ToolKind {
    /// Returns the kind of a tool; `None` if the table does not have its name.
    pub fn of(tool: &str) -> Option<Self> {
        let name = plain(own_name(tool)?);
        let has = |(_, names): &&(Self, &str)| names.split_ascii_whitespace().any(|n| n == name);
        KINDS.iter().find(has).map(|(kind, _)| *kind)
    }

    /// Whether a call changes the file that it names.
    pub fn changes_files(self) -> bool {
        matches!(self, Self::Edit | Self::Write)
    }

    /// The word for the kind in settings; `None` for kinds that no setting names.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Read => Some("read"),
            Self::Search => Some("search"),
            Self::Edit => Some("edit"),
            Self::Write => Some("write"),
            Self::Shell => Some("shell"),
            Self::Web => Some("web"),
            _ => None,
        }
    }
}

/// Tools that a setting names, by kind (`read`, `search`, `shell`, `web`, `edit`, `write`) or by name.
#[derive(Clone, Debug, Default)]
pub struct ToolSelection(HashSet<String>);

impl ToolSelection {
    pub fn new(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(names.into_iter().map(|name| plain(name.as_ref())).collect())
    }

    /// Whether the tool is selected; `kind` is the kind of `tool`.
    pub fn contains(&self, tool: &str, kind: Option<ToolKind>) -> bool {
        let by_kind = kind.and_then(ToolKind::word).is_some_and(|word| self.0.contains(word));
        by_kind || self.0.contains(&plain(tool))
    }
}

/// Returns the name without the prefix for the server that offers the tool, such as `mcp__files__`. After such a
/// prefix, most names of one word give `None`, because they say too little: `create` may create anything.
fn own_name(tool: &str) -> Option<&str> {
    let Some((_, name)) = tool.rsplit_once("__") else { return Some(tool) };
    let mut inside = name.chars().skip(1);
    let is_compound = inside.any(|c| matches!(c, '_' | '-' | '.') || c.is_ascii_uppercase());
    (is_compound || matches!(name, "read" | "bash" | "shell" | "grep" | "glob")).then_some(name)
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | '.'));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_every_agent_have_a_kind() {
        let check = |kind: Option<ToolKind>, names: &str| {
            for name in names.split(' ') {
                assert_eq!(ToolKind::of(name), kind, "{name}");
            }
        };
        let read = "Read read_file ReadFile read_many_files view mcp__fs__read_file";
        check(Some(ToolKind::Read), read);
        check(Some(ToolKind::Shell), "Bash run_shell_command exec_command shell developer__shell");
        check(
            Some(ToolKind::Edit),
            "Edit MultiEdit replace apply_patch str_replace_editor StrReplaceFile",
        );
        check(Some(ToolKind::Write), "Write write_file create_file mcp__filesystem__write_file");
        check(
            Some(ToolKind::Search),
            "Grep search_file_content grep_search codebase_search list_directory LS",
        );
        check(Some(ToolKind::Web), "WebFetch web_search google_web_search FetchURL");
        check(Some(ToolKind::TodoList), "TodoWrite todowrite todo_write update_plan write_todos");
        check(Some(ToolKind::Agent), "Task Agent spawn_agent invoke_agent runSubagent");
        check(None, "mcp__linear__create mcp__linear__create_issue Frobnicate mcp__x__ __");
    }

    #[test]
    fn a_setting_names_kinds_and_tools() {
        let selected = ToolSelection::new(["read", "Bash", "my_tool"]);
        let check = |tool: &str, expect: bool| {
            assert_eq!(selected.contains(tool, ToolKind::of(tool)), expect, "{tool}");
        };
        check("mcp__fs__read_file", true);
        check("Read", true);
        check("bash", true);
        check("exec_command", false);
        check("MyTool", true);
        check("Write", false);
    }
}
