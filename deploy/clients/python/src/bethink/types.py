"""The types of the API, generated from `openapi.json` by `generate.py`. Do not edit.

They describe the JSON; nothing is checked when a program runs. A newer daemon may send more fields, and values that a
`Literal` does not list.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict


if TYPE_CHECKING:
    from typing_extensions import NotRequired
elif sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing import Optional as NotRequired


class Agent(TypedDict):
    """A subagent of the session."""

    id: str
    """An ID that the client chooses."""
    name: NotRequired[str]
    """The name."""
    status: str
    """`running`, `finished`, `failed`, or another word that the client chooses."""
    result: NotRequired[str | None]
    """The subagent's answer."""
    read: NotRequired[bool]
    """The main conversation has seen the result."""


AgentInstallState: TypeAlias = Literal[
    'installed', 'plugin', 'outdated', 'not_installed', 'unreadable'
]
"""Whether bethink is installed for an agent."""


class AgentSession(TypedDict):
    """An agent's own session."""

    name: str
    """The agent, such as `claude-code`."""
    id: str
    """The ID."""


class Agents(TypedDict):
    """Subagents of the session."""

    agents: list[Agent]


class AnsweredCall(TypedDict):
    """The tool call that a result answers."""

    seq: int
    """Position of the message in its session."""
    tool: str
    """Name of the tool."""
    input: str
    """The beginning of its input."""


class Approval(TypedDict):
    """How to approve a proposal."""

    replace: NotRequired[bool]
    """Approve even if the topic has changed since the proposal was made."""
    keep_private: NotRequired[bool]
    """Keep the private topic that a person proposed to share. By default it is removed, because the team has it now."""


class ApproveImport(TypedDict):
    """The file that a project may load from now on, or may no longer load."""

    project_dir: str
    """A directory of the project."""
    path: str
    """Absolute, or relative to the project's directory."""


BlockedWay: TypeAlias = Literal['here', 'incoming', 'history']
"""Where a file was blocked."""


class BothVersions(TypedDict):
    """Both sides of a conflicting write."""

    current: NotRequired[str | None]
    """Content of the file; absent if the file does not exist."""
    etag: NotRequired[str | None]
    """ETag of the file, for the next write."""
    yours: NotRequired[str | None]
    """The content to write; absent if the file was to be removed."""


CandidateState: TypeAlias = Literal['waiting', 'kept', 'dropped']
"""The state of a candidate."""


CodingAgent: TypeAlias = Literal[
    'claude-code',
    'codex',
    'cursor',
    'vscode',
    'zed',
    'gemini',
    'opencode',
    'claude-desktop',
    'copilot',
    'windsurf',
    'cline',
    'roo',
    'qwen',
    'kiro',
    'amp',
]
"""An agent that `bethink install` knows."""


CollapseState: TypeAlias = Literal['staged', 'committed']
"""Whether prompts show the short text of a span."""


CompactionLevel: TypeAlias = Literal['session_memory', 'full', 'embedded', 'recorded']
"""How the summary of a compaction was written."""


CompactionTrigger: TypeAlias = Literal['auto', 'manual', 'reactive', 'recorded']
"""What caused a compaction."""


class ConcludeRequest(TypedDict):
    """How an exploration ends."""

    summary: NotRequired[str | None]
    """The text to add to the parent; by default, the child's last answer."""


class Concluded(TypedDict):
    """The summary of an exploration, which was added to its parent."""

    parent: str
    after_seq: int
    """The parent's message after which prompts show the summary."""
    summary: str


class ConflictResolved(TypedDict):
    """A resolved conflict. The versions that were not kept remain in the history."""

    name: str
    """The name."""
    kept: NotRequired[str | None]
    """Name of the version that was kept; absent if it was a merged text."""
    removed: list[str]


class ConflictVersion(TypedDict):
    """One version of a topic."""

    name: str
    """Name of the file that contains it, without `.md`."""
    by: NotRequired[str | None]
    """The author, if git knows it."""
    mine: bool
    """Whether this version is yours: its author is the name in your git configuration."""


class Covers(TypedDict):
    """A range of messages, both ends included."""

    first_seq: int
    """Position of the first message."""
    last_seq: int
    """Position of the last message."""


class DaemonProof(TypedDict):
    """The proof that a daemon has the token of its home."""

    proof: str
    """
    HMAC-SHA256 in hexadecimal digits. The key is the token's text. The message is `bethink-proof-1`, the TCP port that
    the daemon listens on, and the nonce, with a line feed after each of the first two.
    """


DecisionKind: TypeAlias = Literal[
    'attached', 'instructed', 'replaced', 'cleared', 'snipped', 'stripped'
]
"""A kind of decision."""


class DreamDropped(TypedDict):
    """Text that a consolidation removed."""

    file: str
    """Name of the file."""
    text: str
    """The text."""
    why: str
    """The reason."""


class DreamLeft(TypedDict):
    """A file that a consolidation did not change, although it should have."""

    file: str
    """Name of the file."""
    why: str
    """The reason."""


DreamPhase: TypeAlias = Literal['orient', 'gather', 'consolidate', 'prune']
"""The phases of a consolidation, in order."""


class DreamStep(TypedDict):
    """One step of a consolidation."""

    phase: DreamPhase
    file: str
    """Name of the file."""
    what: str
    """What was done."""
    why: str
    """The reason."""


class DroppedStatement(TypedDict):
    """A statement that was not written, and why."""

    seq: int
    """Position of the message in its session."""
    statement: str
    """The statement; empty if it contains a secret."""
    reason: str
    """Why it was not written."""


ErrorClass: TypeAlias = Literal[
    'overflow',
    'output_overflow',
    'media_too_large',
    'request_too_large',
    'thinking_bound',
    'history',
    'rate_limited',
    'overloaded',
    'server',
    'auth',
    'quota',
    'not_found',
    'invalid',
    'unreachable',
    'timed_out',
    'broken',
    'too_much',
    'forbidden',
    'unknown',
]
"""The kind of failure of a model call. Every error has exactly one kind."""


class ExtractRequest(TypedDict):
    """What to extract memories from."""

    dry_run: NotRequired[bool]
    """Show what would be written, but write nothing."""
    all: NotRequired[bool]
    """Start at the beginning of the session, including imported messages; by default, where the last extraction ended."""


class FileRead(TypedDict):
    """A file that the agent read."""

    path: str
    """Path of the file."""
    read_at: NotRequired[str | None]
    """When the file was read, as RFC 3339. If absent, files later in the list were read later."""


class Files(TypedDict):
    """Files that the agent read, newest last."""

    files: list[FileRead]


FillLevel: TypeAlias = Literal[
    'comfortable', 'degrading', 'warning', 'auto', 'blocking'
]
"""How full the context window is."""


ForgetEventOutcome: TypeAlias = Literal['asked_to_forget']
"""Distinguishes `ForgetAsked` from other events about memory."""


class ForgetRequest(TypedDict):
    """A session whose memories to remove."""

    project_dir: str
    """A directory of the project."""
    session_id: str
    """The session."""
    dry_run: NotRequired[bool]
    """Show what would be done, but do nothing."""


class ForkRequest(TypedDict):
    """Where to fork a session."""

    at_seq: NotRequired[int | None]
    """The last message that the fork shares with this session; if absent, the newest."""
    title: NotRequired[str | None]
    """The title."""


class GatewayAddresses(TypedDict):
    """Base URLs for clients that use their own credentials for the provider."""

    anthropic: str
    """For `ANTHROPIC_BASE_URL`."""
    openai: str
    """For `OPENAI_BASE_URL`."""
    gemini: str
    """For `GOOGLE_GEMINI_BASE_URL`."""


HealthStatus: TypeAlias = Literal['ok', 'degraded']
"""Whether everything works."""


class Hindsight(TypedDict):
    """
    How well a compaction turned out: how many of the names that were used before the compaction, and again in the next 40
    messages, were still in the prompt right after it.
    """

    score: float
    """Share of the names used before and after the compaction that the prompt contained, from 0 to 1."""
    names: int
    """Number of names used before and after the compaction."""
    kept: int
    """Number of names used before and after the compaction that the prompt contained."""
    lost: list[str]
    """The names used before and after the compaction that the prompt did not contain."""


class HistoryUnshared(TypedDict):
    """Sharing was turned off."""

    removed: int
    """Number of sessions that were removed from the team's history."""


HookAgent: TypeAlias = Literal['claude-code', 'codex', 'gemini', 'cursor', 'qwen']
"""An agent that can report hook events."""


class ImportApproval(TypedDict):
    """Whether a file is approved for a project."""

    path: str
    """The path with symlinks resolved."""
    approved: bool
    """Whether the file may be loaded now."""


ImportedAgent: TypeAlias = Literal[
    'claude-code', 'codex', 'gemini', 'qwen', 'opencode', 'pi', 'cline', 'continue'
]
"""An agent whose sessions can be imported."""


IndexLimit: TypeAlias = Literal['lines', 'bytes']
"""A limit on the part of an index that prompts show."""


class IndexSize(TypedDict):
    """The size of an index, and which limit it exceeds."""

    lines: int
    """Number of lines."""
    bytes: int
    """Size in bytes."""
    cut_by: NotRequired[IndexLimit | None]


Inject: TypeAlias = Literal['full', 'recall', 'off']
"""What bethink adds to a prompt."""


class Instruction(TypedDict):
    """Instructions of an agent, an MCP server or a hook."""

    name: str
    """The name."""
    text: str
    """The text."""


InstructionKind: TypeAlias = Literal[
    'managed', 'user', 'project', 'rule', 'local', 'import'
]
"""Where an instruction file comes from."""


class Instructions(TypedDict):
    """
    Instructions of agents and MCP servers (kind `instructions`), or output of session-start hooks (kind `hooks`). After
    a compaction the prompt shows them again in full.
    """

    instructions: list[Instruction]


class JobProgress(TypedDict):
    """Progress of a job."""

    done: int
    """Number of units that are done."""
    total: int
    """Number of units in total."""
    unit: str
    """`bytes`, `messages`, …"""


JobState: TypeAlias = Literal['queued', 'running', 'done', 'failed']
"""The state of a job."""


KnownBlockType: TypeAlias = Literal[
    'text',
    'tool_use',
    'tool_result',
    'image',
    'document',
    'thinking',
    'redacted_thinking',
]
"""The type of a content block of the Messages API."""


class LastCompaction(TypedDict):
    """The newest compaction of a session, in brief."""

    id: str
    """The ID."""
    level: CompactionLevel
    fidelity: float
    """Share of the repeatedly used names that the new prompt still contains, from 0 to 1, weighted by expected need."""
    warning: NotRequired[str | None]
    """
    Why the fidelity is low or has fallen, or which names were missing after the previous compaction; absent if nothing is
    wrong.
    """
    at: str
    """When it happened, as RFC 3339."""


class Launch(TypedDict):
    """A URL that logs in one browser tab, once."""

    url: str
    """Open this URL in a browser within a minute. It works once."""


class LinkedTopic(TypedDict):
    """A topic that a recalled topic links to."""

    name: str
    """The name."""
    description: str
    """A one-line description."""


class LoggedIn(TypedDict):
    """A successful login. The response also sets a cookie; further requests need both the cookie and `page`."""

    page: str
    """The value to send in the header `X-Bethink-Page`."""


class Login(TypedDict):
    """A request to log in."""

    launch: str
    """The token from the launch URL."""


MemoriesImported = TypedDict(
    'MemoriesImported',
    {
        'from': str,
        'imported': list[str],
        'known': int,
        'empty': int,
        'refused': NotRequired[list[str]],
    },
)


MemoryAuthor: TypeAlias = Literal[
    'person', 'agent', 'extraction', 'dream', 'sync', 'restore', 'found'
]
"""Who wrote a version of a topic."""


MemoryKind: TypeAlias = Literal['user', 'feedback', 'project', 'reference']
"""What a memory is about."""


MemoryLayout: TypeAlias = Literal['bethink', 'claude']
"""Where memory directories are stored."""


MemoryOutcome: TypeAlias = Literal[
    'created', 'changed', 'same', 'removed', 'proposed', 'restored', 'cut'
]
"""What happened to a topic, or would happen."""


MemoryRecall: TypeAlias = Literal['always', 'never']
"""When a memory is added to prompts automatically, if its front matter decides that with the key `recall`."""


MemoryScope: TypeAlias = Literal['private', 'team', 'person']
"""Whose memory a topic belongs to."""


class MemorySource(TypedDict):
    """Where a memory was learned."""

    session: str
    """ID of the session; empty if it was not learned in one."""
    messages: list[str]
    """Message positions, such as `12` or `12-14`."""
    strategy: str
    """How the memory was learned: `embedded`, `model`, `agent`, `person`, or `import from` and a program's name."""
    time: str
    """When the memory was learned, as RFC 3339."""
    branch: NotRequired[str]
    """The git branch that was checked out then; empty if there was none."""
    commit: NotRequired[str]
    """The commit that was checked out then."""


class MemoryToolCall(TypedDict):
    """One call of Anthropic's memory tool, `memory_20250818`."""

    project_dir: str
    """A directory of the project."""
    input: dict[str, Any]
    """The tool input as the model sent it, such as `{"command": "view", "path": "/memories"}`."""
    session_id: NotRequired[str | None]
    """The session in which it was called."""


class MemoryToolResult(TypedDict):
    """What to send to the model as the content of a `tool_result`."""

    content: str
    """The text for the model."""
    is_error: bool
    """The call failed; the text says why."""


class MemoryVersion(TypedDict):
    """One version of a topic."""

    version: int
    """Number of this version; a topic's versions are numbered from 1."""
    at: str
    """When it happened, as RFC 3339."""
    author: MemoryAuthor
    session: NotRequired[str | None]
    """The session that caused this version."""
    note: NotRequired[str]
    """The reason, if one was given."""
    bytes: NotRequired[int | None]
    """Size of the file, in bytes; absent if the file was removed."""
    etag: str
    """The ETag of this version."""
    current: bool
    """Whether the file has this content now."""


MemoryWatch: TypeAlias = Literal['events', 'polling']
"""How the daemon notices that a file changed."""


class MemoryWritten(TypedDict):
    """The result of a write."""

    scope: MemoryScope
    name: str
    """The name."""
    type: NotRequired[MemoryKind | None]
    path: str
    """Path of the file."""
    etag: str
    """ETag of the file, for the header `If-Match` of the next write; empty if the file was removed."""
    outcome: MemoryOutcome
    warnings: list[str]
    """Limits that were exceeded, and other warnings."""


class MessageText(TypedDict):
    """A part of a message's text. The text is what was said, the arguments of tool calls, and tool results."""

    seq: int
    """Position of the message in its session."""
    text: str
    """The requested part, at most 40,000 bytes."""
    first_byte: int
    """Position of the part's first byte in the whole text, counted from 0."""
    next_byte: NotRequired[int | None]
    """Position of the byte after the part; absent at the end of the text."""
    bytes: int
    """Size of the whole text, in bytes."""
    lines: int
    """Number of lines in the whole text."""


ModelKey = TypedDict(
    'ModelKey',
    {
        'from': str,
        'present': NotRequired[bool | None],
    },
)


class ModelProblem(TypedDict):
    """What is wrong with the configuration, and what to do about it."""

    found: str
    """What is wrong."""
    todo: str
    """What to do about it."""


ModelProvider: TypeAlias = Literal['none', 'anthropic', 'openai']
"""Whose API is used to call the model."""


ModelReadiness: TypeAlias = Literal[
    'off', 'ready', 'no_key', 'resting', 'spent', 'broken'
]
"""Whether the model can be called."""


class ModelSpec(TypedDict):
    """A session's model. All token limits depend on it."""

    name: str
    """Name of the model."""
    context_window: int
    """Size of the context window in tokens, input and output together."""
    max_output_tokens: NotRequired[int | None]
    """Maximum output tokens of one call."""
    preserved_thinking: NotRequired[bool | None]
    """Whether the provider rejects thinking blocks that were written for another prompt."""


NotesAuthor: TypeAlias = Literal['embedded', 'model', 'person']
"""Who or what wrote the notes."""


class NotesEventData(TypedDict):
    """The notes were written."""

    through_seq: int
    """Position of the newest message that the notes cover."""
    by: NotesAuthor


class OpenConflict(TypedDict):
    """A topic that two people changed, with the versions to choose from."""

    name: str
    """The name."""
    versions: list[ConflictVersion]


class OtherBlock(TypedDict):
    """A content block of any other type."""

    type: str
    """The type of the block."""


class OutlineCall(TypedDict):
    """A tool call of a message."""

    id: str
    """ID of the call, which its result repeats."""
    tool: str
    """Name of the tool."""
    path: NotRequired[str | None]
    """The file that the call names."""
    edits: NotRequired[bool]
    """The call changes that file."""


OutlineKind: TypeAlias = Literal['typed', 'inserted', 'results', 'assistant']
"""The kind of message."""


class OutlineResult(TypedDict):
    """The result of a tool call, in a message."""

    id: str
    """ID of the call."""
    failed: NotRequired[bool]


class OutlineUsage(TypedDict):
    """Token counts of one model call."""

    prompt: int
    """Size of the prompt, in tokens."""
    cached: int
    """Number of the prompt's tokens that came from the cache."""
    output: int


class PartTokens(TypedDict):
    """Number of tokens in the prompt, by part."""

    system: int
    """The system prompt."""
    instructions: int
    """Instruction files."""
    memory: int
    """The memory index and recalled memories."""
    tools: int
    """Tool definitions."""
    summary: int
    """The summary of a compaction."""
    tail: int
    """Messages shown from the history."""
    attachments: int
    """Reminders and other texts that bethink added between messages."""


class PatchSession(TypedDict):
    """Changes to a session. Absent fields are not changed."""

    title: NotRequired[str | None]
    """The title."""
    tags: NotRequired[list[str] | None]
    """Labels by which lists can be filtered."""
    model: NotRequired[ModelSpec | None]


class PauseRequest(TypedDict):
    """How long to pause."""

    seconds: NotRequired[int | None]
    """At most 30 days; if absent, until somebody ends the pause."""


class Plan(TypedDict):
    """The plan: a file or its text. Prompts show it after a compaction; before, the history shows it."""

    path: NotRequired[str | None]
    """The file that contains the plan."""
    content: NotRequired[str | None]
    """The text of the plan."""
    active: NotRequired[bool]
    """Plan mode is on. Prompts tell the model so after a compaction, and then that it is off."""


ProblemType: TypeAlias = Literal[
    'invalid_json',
    'invalid_utf8',
    'body_cut_off',
    'too_deep',
    'body_timeout',
    'unsupported_media_type',
    'unauthorized',
    'too_many_failures',
    'forbidden_origin',
    'misdirected',
    'method_not_allowed',
    'busy',
    'invalid',
    'not_found',
    'conflict',
    'stale',
    'key_reused',
    'too_large',
    'context_overflow',
    'not_compactable',
    'storage_full',
    'read_only',
    'storage_failed',
    'storage_damaged',
    'shutting_down',
    'unreachable',
    'internal',
]
"""
The kind of problem. These names never change.

- `invalid_json` (400): The body is not valid JSON.
- `invalid_utf8` (400): The body is not valid UTF-8.
- `body_cut_off` (400): The body ended too early.
- `too_deep` (422): The JSON is nested too deeply.
- `body_timeout` (408): The body did not arrive in time.
- `unsupported_media_type` (415): The content type is not supported.
- `unauthorized` (401): The token is missing or wrong.
- `too_many_failures` (429): Too many wrong tokens.
- `forbidden_origin` (403): The origin is not allowed.
- `misdirected` (421): The Host header does not name this daemon.
- `method_not_allowed` (405): The route does not support this method.
- `busy` (503): The daemon is busy.
- `invalid` (422): The request is invalid.
- `not_found` (404): Not found.
- `conflict` (409): The request conflicts with the current state.
- `stale` (412): The resource has changed since it was read.
- `key_reused` (422): The Idempotency-Key was used for a different request.
- `too_large` (413): The request is too large.
- `context_overflow` (422): The prompt does not fit the context window.
- `not_compactable` (409): The session cannot be compacted further.
- `storage_full` (507): The disk is full.
- `read_only` (503): A file, a directory or the database is read-only or not accessible.
- `storage_failed` (503): A file or the database could not be read or written.
- `storage_damaged` (500): The database is damaged.
- `shutting_down` (503): The daemon is shutting down.
- `unreachable` (502): The remote is unreachable or denied access.
- `internal` (500): Internal error in the daemon.
"""


class Project(TypedDict):
    """A project that has sessions or memories."""

    project_dir: str
    """A directory of the project."""
    sessions: int
    """Number of its sessions."""


class Projects(TypedDict):
    """The projects that have sessions or memories."""

    projects: list[Project]


PromptChange: TypeAlias = Literal[
    'system',
    'tools',
    'model',
    'compaction',
    'collapse',
    'microcompact',
    'snip',
    'history',
    'idle',
    'unknown',
]
"""Why a prompt does not begin with the previous one, or why the provider's cache did not contain it."""


PromptCompaction: TypeAlias = Literal['auto', 'never']
"""Whether the session may be compacted in order to build the prompt."""


class PromptCount(TypedDict):
    """The provider's own token count of the prompt."""

    tokens: int
    """The provider's count."""
    estimated: int
    """bethink's estimate."""
    model: str
    """Name of the model."""


PromptStage: TypeAlias = Literal[
    'tool_result_budget', 'snip', 'microcompact', 'collapse', 'compaction'
]
"""A stage that shortens the prompt."""


ProposalAuthor: TypeAlias = Literal['agent', 'extraction', 'dream', 'person']
"""Who made a proposal."""


ProposalState: TypeAlias = Literal['open', 'approved', 'rejected']
"""The state of a proposal."""


class Propose(TypedDict):
    """A topic to propose for the team memory."""

    project_dir: str
    """A directory of the project."""
    name: str
    """The name."""
    text: str
    """The text."""
    source: NotRequired[MemorySource | None]


Purpose: TypeAlias = Literal['summary', 'notes', 'recall', 'extraction', 'dream']
"""What bethink calls a model for."""


class RebuildMemory(TypedDict):
    """Which `MEMORY.md` to bring up to date with the topics."""

    project_dir: str
    """A directory of the project."""
    scope: NotRequired[MemoryScope | None]
    dry_run: NotRequired[bool]
    """Show what would change, but change nothing."""


RecallCertainty: TypeAlias = Literal['sure', 'perhaps']
"""Whether a memory fits the question."""


class RecallChange(TypedDict):
    """A change of one topic that is tried."""

    scope: MemoryScope
    name: str
    """The file name in the memory directory, without `.md`. The topic need not exist."""
    text: str | None
    """The whole text of the topic's file; `null` if the topic is deleted."""


class RecallCheckRequest(TypedDict):
    """The project whose recall to check."""

    project_dir: str
    """A directory of the project."""


RecallManner: TypeAlias = Literal['asked', 'injected']
"""What a recall is for. This decides whether memories that may not fit are returned."""


class RecallProblem(TypedDict):
    """A topic that has no description, that is not found by its own words, or that is recalled too often."""

    scope: MemoryScope
    name: str
    """The name."""
    question: str
    """A question that shows the problem; may be empty."""
    instead: list[str]
    """Topics that were found instead."""
    reason: str
    """Why."""
    advice: str
    """What to change in the topic."""


class RecallRequest(TypedDict):
    """The question to recall memories for."""

    project_dir: str
    """A directory of the project."""
    query: NotRequired[str]
    """What the user said or wants to do, in any words."""
    queries: NotRequired[list[str]]
    """Up to 7 other wordings of the question. Memories that fit any of them are returned."""
    manner: NotRequired[RecallManner]
    """How strict to be. By default, `asked`."""
    session_id: NotRequired[str | None]
    """Memories that this session has received since its last compaction are left out."""
    recent_tools: NotRequired[list[str] | None]
    """
    Names of tools used recently. Memories that only explain these tools are left out. By default, the tools that the
    session used recently.
    """
    limit: NotRequired[int | None]
    """Maximum number of memories, up to 5."""
    changes: NotRequired[list[RecallChange]]
    """
    Answer as if these topics had been written or deleted; nothing is stored. At most 20 changes, with 1 MiB of text in
    total. Changed topics match only by their words, not by their meaning, and no model is asked.
    """


class RecordingPause(TypedDict):
    """A time during which nothing is recorded or learned."""

    since: str
    """When it began, as RFC 3339."""
    until: NotRequired[str | None]
    """When it ends, as RFC 3339; absent if the pause lasts until somebody ends it."""


class RecordingStatus(TypedDict):
    """What is recorded."""

    pause: NotRequired[RecordingPause | None]
    exclude: list[str]
    """Projects and transcripts below these paths are never recorded."""


class RecoverRequest(TypedDict):
    """The provider's response when it rejected the session's last prompt."""

    status: NotRequired[int | None]
    """HTTP status; absent for an error inside a stream."""
    error: Any
    """The body of the response, as JSON or as a string."""
    max_tokens: NotRequired[int | None]
    """The `max_tokens` of the rejected call."""
    retry_after: NotRequired[float | None]
    """The `retry-after` header of the response, in seconds."""
    attempt: NotRequired[int | None]
    """Number of attempts with this prompt, including this one. By default, the daemon counts the reports."""
    heard: NotRequired[bool]
    """Whether part of the answer was already shown, so that the call must not be repeated silently."""


RecoveryStep: TypeAlias = Literal[
    'collapse',
    'compact',
    'shrink_output',
    'strip_media',
    'strip_thinking',
    'wait',
    'none',
]
"""What was done about a provider error."""


class Rejecting(TypedDict):
    """The request to reject a proposal."""

    reason: NotRequired[str | None]
    """The reason, in a few words; the whole team can read it."""


class Remember(TypedDict):
    """Something to remember. The daemon chooses a file name."""

    project_dir: str
    """A directory of the project."""
    text: str
    """What to remember."""
    name: NotRequired[str | None]
    """The file name; derived from the description if absent."""
    description: NotRequired[str | None]
    """A one-line description."""
    questions: NotRequired[list[str]]
    """Questions that the memory answers, worded differently from its text: at most 5, of up to 200 characters each."""
    type: NotRequired[MemoryKind | None]
    scope: NotRequired[MemoryScope | None]
    session_id: NotRequired[str | None]
    """The session that this comes from."""
    allow_secret: NotRequired[list[str]]
    """Secret-scan findings that a person allows: rule names, or `RULE:LINE` if a rule has several findings."""


class ResetEventData(TypedDict):
    """
    The reader missed events that are not stored, so it has to read everything again. In a session's stream, missed
    messages and compactions follow.
    """


class ResolveConflict(TypedDict):
    """The request to resolve a conflict, with either `keep` or `text`."""

    project_dir: str
    """A directory of the project."""
    name: str
    """The topic, or one of its versions."""
    keep: NotRequired[str | None]
    """`mine`, `theirs`, or the name of a version."""
    text: NotRequired[str | None]
    """The merged text."""


class RestoreMemory(TypedDict):
    """Which version to restore."""

    version: NotRequired[int | None]
    """Number of the version; by default the newest that differs from the file."""


RestoredKind: TypeAlias = Literal[
    'file', 'plan', 'skill', 'agent', 'tool', 'instructions', 'hook'
]
"""What a compaction added after its summary."""


Role: TypeAlias = Literal['user', 'assistant']
"""Who wrote a message."""


class SearchHit(TypedDict):
    """A message that was found."""

    session_id: str
    """The session."""
    title: NotRequired[str | None]
    """Title of the session, if a whole project was searched."""
    seq: int
    """Position of the message in its session."""
    message_id: str
    """ID of the message."""
    role: Role
    score: float
    """Higher is better; only comparable within one answer."""
    snippet: str
    """The part of the message that matched: up to three lines, separated by line feeds."""
    highlights: NotRequired[list[list[int]]]
    """Positions of query words in the snippet: start and end, in characters."""
    answers: NotRequired[AnsweredCall | None]
    created_at: str
    """When it was created, as RFC 3339."""
    person: NotRequired[str | None]
    """In a search of the team's history, the login of the person who shared the session."""
    project: NotRequired[str | None]
    """In a search of the team's history, the name of the team project."""


class SearchHits(TypedDict):
    """What was found, best first."""

    hits: list[SearchHit]
    """Best first; empty if nothing matches well."""
    complete: NotRequired[bool]
    """
    Whether everything was searched. This is `false` while an index is being built, and if the disk prevents an index
    from being written: search again later.
    """


class Session(TypedDict):
    """One conversation with an agent."""

    id: str
    """The ID."""
    project_dir: str
    """A directory of the project."""
    title: NotRequired[str | None]
    """The title."""
    tags: list[str]
    """Labels by which lists can be filtered."""
    parent: NotRequired[str | None]
    """The session that this one was forked from, or that started it as a subagent or an exploration."""
    forked_at_seq: NotRequired[int | None]
    """For a fork, the last message that it shares with its parent."""
    model: ModelSpec
    messages: int
    """Number of messages."""
    last_seq: int
    """Position of the newest message."""
    created_at: str
    """When it was created, as RFC 3339."""
    updated_at: str
    """When it last changed, as RFC 3339."""
    shared: NotRequired[str | None]
    """Name of the team project that the session is shared with. Only in the answers to `GET /v1/sessions` and `GET /v1/sessions/{id}`."""
    agent: NotRequired[AgentSession | None]
    children: NotRequired[list[str]]
    """Sessions of its subagents and explorations, oldest first. Only in the answer to `GET /v1/sessions/{id}`."""


SessionLifecycle: TypeAlias = Literal['created', 'changed', 'deleted']
"""What happened to a session as a whole."""


class SessionsPage(TypedDict):
    """Sessions, newest first."""

    sessions: list[Session]
    next_cursor: NotRequired[str | None]
    """Cursor of the next page; not set on the last page."""


Severity: TypeAlias = Literal['error', 'warning', 'note']
"""How severe a finding is."""


class ShareHistory(TypedDict):
    """The directory whose sessions to share."""

    project_dir: str
    """A directory of the project."""
    project: NotRequired[str | None]
    """
    Name of the team project; all people who work on it must use the same one. By default, the one that the directory is already
    shared with, or else the name of the repository from which the directory was cloned, such as `github.com/ann/mill`. If the project does not exist, it is created, with this person as its admin.
    """
    all: NotRequired[bool]
    """Also share the sessions that began before now."""


class ShareMemory(TypedDict):
    """The request to propose a private topic to the team."""

    project_dir: str
    """A directory of the project."""
    name: str
    """The name."""


class ShareSession(TypedDict):
    """Whether to share one session of a shared directory, even if it began before the directory was shared."""

    shared: bool


class SharedDirectory(TypedDict):
    """A project directory whose sessions are shared."""

    project_dir: str
    """A directory of the project."""
    project: str
    """Name of the team project."""
    since: NotRequired[str | None]
    """Sessions that began earlier are not shared, except those that were chosen. Absent if all are shared."""
    waiting: int
    """Number of sessions with messages that are not copied yet. At most 1,000 are counted."""
    problem: NotRequired[str | None]
    """Why the newest messages could not be shared."""


class Skill(TypedDict):
    """A skill that was invoked."""

    name: str
    """The name."""
    content: str
    """The text."""


class Skills(TypedDict):
    """Invoked skills, newest last."""

    skills: list[Skill]


SkipKind: TypeAlias = Literal[
    'waiting',
    'already_loaded',
    'same_text',
    'claude_md_counts',
    'other_tool',
    'above_root',
    'empty',
    'no_such_file',
    'cycle',
    'too_deep',
    'directory',
    'not_a_file',
    'of_the_system',
    'outside',
    'secret',
    'foreign',
    'too_large',
    'not_text',
    'no_pattern',
    'unreadable',
    'too_many',
]
"""Why a file is not loaded."""


class SkippedInstruction(TypedDict):
    """An instruction file that is not loaded."""

    path: str
    """Path of the file."""
    reason: SkipKind
    why: str
    """The reason, in words."""
    harmless: NotRequired[bool]
    """Nothing is wrong: for example, the file is empty, was already loaded, or is for another program."""
    approve: NotRequired[bool]
    """`POST /v1/instructions/approve` can allow the file."""
    imported_by: NotRequired[str | None]
    """The file that imports this one."""


class SkippedLine(TypedDict):
    """A line of a session file that is stored but is not part of the conversation."""

    line: int
    """Line number, counted from 1."""
    reason: str
    """Why it is not part of the conversation."""


class StageReport(TypedDict):
    """What one stage did to shorten the prompt."""

    stage: PromptStage
    tokens_before: int
    """Number of tokens before the stage."""
    tokens_after: int
    """Number of tokens after the stage."""
    touched: list[str]
    """What the stage changed: `tool_use` IDs, message positions or names."""
    why: str
    """Why the stage changed this."""


StateKind: TypeAlias = Literal[
    'plan', 'skills', 'agents', 'tools', 'files', 'instructions', 'hooks'
]
"""A kind of state that compactions keep."""


Strategy: TypeAlias = Literal['embedded', 'model']
"""Whether a model or the built-in algorithm does the work."""


SummaryLevel: TypeAlias = Literal['session_memory', 'full', 'embedded']
"""How a summary is written."""


class SystemPart(TypedDict):
    """One part of the system prompt. The daemon puts the parts in order."""

    part: Literal[
        'attribution',
        'client_prefix',
        'introduction',
        'system',
        'doing_tasks',
        'tools',
        'project_context',
        'output_style',
        'language',
        'mcp_instructions',
        'appended',
    ]
    """Name of the part."""
    text: str
    """The text."""


SystemTextType: TypeAlias = Literal['text']
"""The type of a text block of the system prompt."""


class TeamBlocked(TypedDict):
    """A file that must not be shared in its current state. The reasons never quote a secret."""

    file: str
    """Name of the file."""
    way: BlockedWay
    reasons: list[str]
    """Rule and line of each finding."""
    by: NotRequired[str | None]
    """Who made the version, or the commit that contains it."""


class TeamConflict(TypedDict):
    """A topic that two people changed. Both versions are kept."""

    name: str
    """Name of the topic, which now contains the other version."""
    kept_as: str
    """Name of the topic that contains your version."""
    theirs_by: str
    """Who made the other version."""


class TeamInit(TypedDict):
    """Where to keep a project's team memory."""

    project_dir: str
    """A directory of the project."""
    remote: NotRequired[str | None]
    """
    A repository that everybody can reach: https, ssh, file, or an absolute path. By default the one in the `[team]`
    settings, else a new local repository.
    """
    dir: NotRequired[str | None]
    """A directory to use instead of the default one, such as a synced or mounted folder. Must be absolute."""


TeamMemoryKind: TypeAlias = Literal['none', 'folder', 'repository']
"""How a team memory is shared."""


TeamRole: TypeAlias = Literal['reader', 'contributor', 'admin']
"""
What a person may do in a team project. A reader reads and searches what is shared, a contributor also shares sessions, and an admin
also chooses the members, and may remove any shared session.
"""


class TeamSession(TypedDict):
    """A session that a person shares."""

    id: str
    """The same ID as that of the original session."""
    project: str
    """Name of the team project."""
    person: str
    """The login of the person who shared it."""
    title: NotRequired[str | None]
    """The title."""
    messages: int
    """Number of messages."""
    redacted: int
    """Number of messages from which secrets were removed."""
    created_at: str
    """When it was created, as RFC 3339."""
    updated_at: str
    """When it last changed, as RFC 3339."""


class TeamSessionsPage(TypedDict):
    """Shared sessions, newest first."""

    sessions: list[TeamSession]
    next_cursor: NotRequired[str | None]
    """Cursor of the next page; not set on the last page."""


class TeamStatus(TypedDict):
    """The state of a project's team memory."""

    dir: str
    """The memory directory."""
    kind: TeamMemoryKind
    remote: NotRequired[str | None]
    """The remote repository."""
    branch: NotRequired[str | None]
    """Branch of the repository."""
    head: NotRequired[str | None]
    """The commit to which the directory was last updated."""
    reachable: NotRequired[bool | None]
    """Whether the remote can be reached; absent if this was not checked."""
    problems: NotRequired[list[str]]
    """What is wrong, in words."""
    topics: int
    """Number of topics."""
    unsynced: NotRequired[list[str]]
    """Files that changed since the last sync."""
    blocked: NotRequired[list[TeamBlocked]]
    """Files that must not be shared in their current state."""
    withheld: NotRequired[list[TeamBlocked]]
    """Other people's files that were not pulled because of their contents."""
    conflicts: NotRequired[list[OpenConflict]]
    """Topics that have several versions, until a person chooses one."""
    proposals: int
    """Number of proposals that wait for a person."""


class TeamSync(TypedDict):
    """What a sync did."""

    pulled: int
    """Number of local files that the pull updated."""
    pushed: int
    """Number of files that were pushed to the remote."""
    conflicts: list[TeamConflict]
    """Topics that were changed both locally and on the remote."""
    blocked: list[TeamBlocked]
    """Files that were not shared."""
    pulled_files: NotRequired[list[str]]
    """Local files that the pull updated."""
    pushed_files: NotRequired[list[str]]
    """Files that were pushed to the remote."""
    removed_files: NotRequired[list[str]]
    """The files in `pulled_files` and `pushed_files` that the sync removed, here or on the remote."""
    head: NotRequired[str | None]
    """The commit that both the directory and the remote are at after the sync."""
    notes: NotRequired[list[str]]
    """What else a person should know."""


class TeamSyncRequest(TypedDict):
    """A team memory to sync."""

    project_dir: str
    """A directory of the project."""
    accept_rewrite: NotRequired[bool]
    """Accept that the remote's history was rewritten. Local changes are kept."""
    drop: NotRequired[list[str]]
    """Files to remove for everybody. They were not pulled because of their contents."""


class Thresholds(TypedDict):
    """Token limits that follow from the size of the context window."""

    window: int
    """Size of the whole window."""
    effective: int
    """Size of the window without the part that is reserved for output."""
    warning: int
    """When the prompt reaches this size, the level becomes `warning`."""
    auto: int
    """When the prompt reaches this size, the session is compacted automatically, if that is turned on."""
    blocking: int
    """When the prompt reaches this size, no prompt is returned without a compaction."""


TodoPriority: TypeAlias = Literal['high', 'medium', 'low']
"""The priority of a todo."""


TodoStatus: TypeAlias = Literal['pending', 'in_progress', 'completed']
"""The status of a todo."""


class TodosEventData(TypedDict):
    """The todo list changed."""

    items: int
    """Number of todos."""


class TokenEstimate(TypedDict):
    """Accuracy of the token estimate in this session, compared with the usage that the provider reported."""

    reported: int
    """Number of tokens that the provider reported."""
    scale: float
    """Learned factor applied to the estimate; 1 until usage is reported."""
    turns: int
    """Number of turns that the factor was learned from."""
    error: NotRequired[float | None]
    """Mean relative error of the prompt's estimated growth per turn, over the most recent turns."""


TokenSource: TypeAlias = Literal['reported+estimate', 'estimate']
"""Where a token count comes from."""


class Tools(TypedDict):
    """Definitions of tools that the session discovered, kept unchanged."""

    tools: list[dict[str, Any]]


TopicField: TypeAlias = Literal[
    'name', 'description', 'question', 'heading', 'identifier', 'body'
]
"""A part of a topic."""


class UnreadTranscript(TypedDict):
    """A file that could not be read."""

    file: str
    """Name of the file."""
    reason: str
    """Why it could not be read."""


class UsageSums(TypedDict):
    """Number and cost of calls."""

    calls: int
    """Number of calls."""
    failed: int
    """Number of calls that failed."""
    input_tokens: int
    """Number of input tokens that were not in a cache."""
    output_tokens: int
    """Number of tokens that the model wrote."""
    cache_read_tokens: int
    """Number of tokens read from a cache."""
    cache_write_tokens: int
    """Number of tokens written to a cache."""
    cost_usd: NotRequired[float | None]
    """Cost of the calls whose model has a known price; absent if there are none."""
    unpriced: int
    """Number of calls to models without a known price."""


class UsageToday(TypedDict):
    """Usage on the current day (UTC), over all sessions and purposes, with the daily limits if there are any."""

    day: str
    """The date, such as `2026-01-31`."""
    calls: int
    """Number of calls."""
    tokens: int
    """Number of input and output tokens, cached or not."""
    cost_usd: float
    """Cost so far."""
    unpriced: int
    """Number of calls to models without a known price."""
    daily_tokens: NotRequired[int | None]
    """The daily token limit."""
    daily_cost_usd: NotRequired[float | None]
    """The daily cost limit."""


class AgentInstall(TypedDict):
    """A coding agent, and whether bethink is installed for it."""

    agent: CodingAgent
    """The name that `bethink install` takes."""
    title: str
    """The agent's product name."""
    state: AgentInstallState
    files: list[str]
    """Paths of the agent's settings files for the user, whether they exist or not."""
    problem: NotRequired[str | None]
    """The settings file that could not be read, and why."""


class AgentList(TypedDict):
    """The coding agents on this machine, as the daemon's user sees them."""

    agents: list[AgentInstall]


class CacheFall(TypedDict):
    """A prompt for which much less was read from the cache than the cache contained."""

    cause: PromptChange
    read_before: int
    """Number of tokens that the previous prompt read from the cache or wrote to it."""
    read_now: int
    """Number of tokens that this prompt read from the cache."""
    at: str
    """When it happened, as RFC 3339."""
    expected: bool
    """Whether a compaction explains the drop."""


class CacheReport(TypedDict):
    """How well the provider's prompt cache works, according to the usage reported since the daemon loaded the session."""

    breaks: int
    """Number of prompts for which much of the cached prefix was not read from the cache, except right after a compaction."""
    last: NotRequired[CacheFall | None]


class Candidate(TypedDict):
    """A statement by the user that may be worth remembering. It is not recalled until it is kept."""

    id: str
    """The ID."""
    project_dir: str
    """A directory of the project."""
    sentence: str
    """The user's own words."""
    context: NotRequired[str | None]
    """The preceding sentence, by the assistant or the user."""
    type: MemoryKind
    """The type of the memory if this candidate is kept."""
    rule: str
    """The rule that found the statement."""
    score: int
    """Estimated value of the statement for later work. Only the 5 highest-scoring candidates of a session are stored."""
    session_id: str
    """The session."""
    seq: int
    """Position of the message that contains the statement."""
    message_id: NotRequired[str | None]
    """ID of that message."""
    said_at: str
    """When the user said it, as RFC 3339."""
    state: CandidateState
    decided_at: NotRequired[str | None]
    """When the candidate was kept or dropped, as RFC 3339."""
    decided_by: NotRequired[MemoryAuthor | None]
    topic: NotRequired[str | None]
    """Name of the topic that was written from the candidate."""


class CandidateEventData(TypedDict):
    """A candidate was found, kept or dropped."""

    id: str
    """The ID."""
    state: CandidateState
    project_dir: str
    """A directory of the project."""


class Candidates(TypedDict):
    """Candidates, newest first."""

    candidates: list[Candidate]
    removed: NotRequired[int]
    """Number of candidates that were removed without a decision, because too many newer ones were waiting."""


class Collapse(TypedDict):
    """A span of messages, and the short text that replaces it in prompts, now or when the window fills up."""

    id: str
    """The ID."""
    covers: Covers
    state: CollapseState
    text: str
    """The short text."""
    tokens_before: int
    """Estimated number of tokens that the messages take up in the prompt if they are not collapsed."""
    tokens: int
    """Estimated number of tokens in the text."""
    strategy: Strategy
    """How the text was written."""
    staged_at: str
    """When the text was ready, as RFC 3339."""
    committed_at: NotRequired[str | None]
    """When prompts began to show the text, as RFC 3339."""


class CollapseEventData(TypedDict):
    """The text of a collapsed span was written, or prompts now show that text."""

    id: str
    """The ID."""
    covers: Covers
    state: CollapseState


class Collapses(TypedDict):
    """The spans of a session for which a short text was written."""

    collapses: list[Collapse]


class CompactRequest(TypedDict):
    """How to compact a session."""

    instructions: NotRequired[str | None]
    """What the summary should focus on."""
    level: NotRequired[SummaryLevel | None]
    summary_tokens: NotRequired[int | None]
    """Maximum size of the summary in tokens, counted as 4 bytes each."""
    dry_run: NotRequired[bool]
    """Change nothing, and return the compaction that would be made now. A model is called if the level needs one."""


class CompactionEventData(TypedDict):
    """The session was compacted, or a compaction was undone."""

    id: str
    """The ID."""
    trigger: CompactionTrigger
    level: CompactionLevel
    tokens_before: int
    """Size of the prompt before the compaction, in tokens."""
    tokens_after: int
    """Size of the prompt after the compaction, in tokens."""
    fidelity: float
    """Share of the repeatedly used names that the new prompt still contains, from 0 to 1, weighted by expected need."""
    warning: NotRequired[str | None]
    """A human-readable warning."""
    undone: bool
    """Whether the compaction was undone."""


class ContextEventData(TypedDict):
    """A prompt was built. `tokens` is how much of the window it fills."""

    tokens: int
    """Number of tokens."""
    level: FillLevel
    remaining: int
    """Number of tokens left until a compaction is due."""
    window: int
    """Size of the context window in tokens."""
    parts: PartTokens


class ContextLevel(TypedDict):
    """How full the context window is, in brief."""

    tokens: int
    """Estimated number of tokens in the next prompt. The system prompt and tools are counted as in the last prompt."""
    level: FillLevel
    remaining: int
    """Number of tokens left until a compaction is due."""


class ContextReport(TypedDict):
    """What fills the context window. Measured on the prompt that would be sent, not on the history."""

    tokens: int
    """Number of tokens in the whole prompt."""
    parts: PartTokens
    thresholds: Thresholds
    remaining: int
    """Number of tokens left until a compaction is due."""
    percent: float
    """Size of the prompt as a percentage of the effective window."""
    messages: int
    """Number of messages in the prompt."""
    level: FillLevel
    stages: list[StageReport]
    """What shortened the prompt, in order."""
    first_changed: NotRequired[int | None]
    """
    Index of the first message that differs from the previous prompt; absent if this prompt begins with the whole
    previous one.
    """
    first_edited: NotRequired[int | None]
    """
    Index of the first message that no longer appears as it was first shown; absent if there is none. Thinking blocks after
    that message were written for another prompt, unless they are newer than the change.
    """
    changed_by: NotRequired[PromptChange | None]
    predicted_cache_hit: float
    """Share of the prompt's tokens that are in its unchanged beginning, from 0 to 1."""
    cache: NotRequired[CacheReport]
    tokens_from: TokenSource
    estimate: NotRequired[TokenEstimate]
    """Accuracy of the estimated part of `tokens`."""
    repairs: list[str]
    """Descriptions of what was repaired to make the prompt valid."""
    last_compaction: NotRequired[LastCompaction | None]
    compacted: NotRequired[str | None]
    """ID of the compaction that was made for this prompt."""
    notices: list[str]
    """What a person should know, such as an open breaker or several todos in progress."""


class ContextRequest(TypedDict):
    """What to put into a prompt besides the history."""

    system: NotRequired[list[SystemPart] | None]
    """Your own system prompt, in parts."""
    tools: NotRequired[list[dict[str, Any]] | None]
    """Tool definitions, passed through byte for byte."""
    parameters: NotRequired[dict[str, Any] | None]
    """
    The other members of the request that you send to the model, such as `thinking` and `temperature`; beta features as
    `betas`. bethink repeats them in its own calls for this session, because the provider's cache depends on them.
    """
    query: NotRequired[str | None]
    """The question to recall memories for; by default the newest user message."""
    recent_tools: NotRequired[list[str] | None]
    """Names of tools used recently. Memories that only explain these tools are not recalled."""
    touched_paths: NotRequired[list[str] | None]
    """Files that the agent has read or changed. The instruction files for them are loaded."""
    inject: NotRequired[Inject | None]
    compact: NotRequired[PromptCompaction | None]


class CreateSession(TypedDict):
    """A session to create."""

    project_dir: str
    """Absolute path of the working tree."""
    title: NotRequired[str | None]
    """The title."""
    tags: NotRequired[list[str]]
    """Labels by which lists can be filtered."""
    parent: NotRequired[str | None]
    """The session that starts this one as a subagent or an exploration."""
    model: NotRequired[ModelSpec | None]


class DecidedView(TypedDict):
    """One way in which prompts differ from the history."""

    kind: DecisionKind
    after_seq: int
    """The message that the attached text follows. If no text was attached, the newest message at the time of the decision."""
    what: NotRequired[str | None]
    """What the attached text is: `memory`, `todos`, `file`, `plan`, …"""
    name: NotRequired[str | None]
    """The name."""
    tokens: NotRequired[int | None]
    """Number of tokens in the attached text."""
    seqs: NotRequired[list[int]]
    """The messages that are shown differently."""
    at: str
    """When it happened, as RFC 3339."""


class DecisionList(TypedDict):
    """
    How prompts differ from the history, oldest decision first, without compactions and collapsed spans, which have
    their own routes.
    """

    decisions: list[DecidedView]


class DreamNote(TypedDict):
    """Something that a consolidation noted, such as a problem that a person has to solve."""

    phase: DreamPhase
    text: str
    """The text."""


class DreamRequest(TypedDict):
    """The memory to consolidate. The response is a job whose result is a `DreamResult`."""

    project_dir: str
    """A directory of the project."""
    scope: NotRequired[MemoryScope | None]
    dry_run: NotRequired[bool]
    """Show what would change, but change nothing."""
    undo: NotRequired[bool]
    """Undo the changes of the last consolidation, except in topics that have been changed since."""


class DreamResult(TypedDict):
    """What a consolidation found, changed and did not change."""

    project_dir: str
    """A directory of the project."""
    dir: str
    """The memory directory."""
    dry_run: bool
    """Whether this was a dry run, which changes nothing."""
    undo: bool
    """An earlier consolidation was undone."""
    strategy: Strategy
    steps: list[DreamStep]
    """In the order of the phases."""
    notes: list[DreamNote]
    """What the consolidation noted, such as problems that a person has to solve."""
    dropped: list[DreamDropped]
    """Lines and sentences that were removed from the memory. Earlier versions still contain them."""
    diff: str
    """All changes, as a unified diff."""
    applied: list[str]
    """Files that were changed."""
    refused: NotRequired[list[str]]
    """A model's edits that were rejected, and why."""
    left_alone: list[DreamLeft]
    """Files that should have been changed but were not."""


class FidelityDetail(TypedDict):
    """What the fidelity score is based on."""

    names: int
    """Number of names that were checked: names that occurred more than once, at most the 300 most likely to be needed."""
    kept: int
    """Number of the checked names that the new prompt still contains."""
    lost: list[str]
    """Names that the new prompt no longer contains; at most the 12 most likely to be needed."""
    hindsight: NotRequired[Hindsight | None]


class ForgetAskedEventData(TypedDict):
    """The user asked to forget something. A person has to decide which topics are meant."""

    outcome: ForgetEventOutcome
    by: MemoryAuthor
    words: str
    """What the user asked bethink to forget."""
    hint: str
    """What to do."""


class ForgottenMemory(TypedDict):
    """A topic from which a session's memories are removed."""

    scope: MemoryScope
    name: str
    """The name."""
    outcome: MemoryOutcome
    """
    `removed` if the topic contained nothing else, `restored` if it is now as it was before the session, or `cut` if only
    the lines of the session were removed.
    """
    lines: list[str]
    """The lines that are removed."""
    text: NotRequired[str | None]
    """The text that remains."""


class Health(TypedDict):
    """Whether the daemon is healthy."""

    status: HealthStatus
    version: str
    """Version of the daemon."""
    detail: NotRequired[str | None]
    """What is wrong, if the status is `degraded`."""
    pause: NotRequired[RecordingPause | None]
    notices: NotRequired[list[str]]
    """What a person should know although the daemon is healthy, such as invalid settings or a paused model."""


class ImportFile(TypedDict):
    """What was imported from one file."""

    file: str
    """Name of the file."""
    session_id: str
    """The session."""
    messages: int
    """Number of messages in the main thread."""
    children: list[str]
    """Sessions created from side conversations."""
    skipped: list[SkippedLine]
    """Lines that are stored unchanged but are not part of the conversation."""
    already_imported: NotRequired[bool]
    """Nothing was added, because the same file was imported before."""


class ImportMemories(TypedDict):
    """A file that another memory program exported."""

    project_dir: str
    """A directory of the project."""
    scope: NotRequired[MemoryScope]
    text: str
    """The JSON that claude-mem or mem0 exported."""


class ImportRequest(TypedDict):
    """Sessions to import from disk."""

    path: str
    """
    Absolute path of a session file. If `agent` is set, it may also be the path of a directory of session files, or
    of a database.
    """
    project_dir: NotRequired[str | None]
    """A directory of the project."""
    agent: NotRequired[ImportedAgent | None]
    dry_run: NotRequired[bool]
    """Count the sessions and messages, but import nothing. Requires `agent`."""


class InstructionFile(TypedDict):
    """An instruction file that is loaded."""

    path: str
    """Path of the file."""
    real_path: NotRequired[str | None]
    """The path with symlinks resolved, if it differs from `path`."""
    kind: InstructionKind
    why: str
    """The reason, in words."""
    touched: NotRequired[bool]
    """
    Loaded because the agent read or changed a file that the instructions apply to. Such instructions are at the end of
    the prompt until the next compaction.
    """
    imported_by: NotRequired[str | None]
    """The file that imports this one."""
    paths: NotRequired[list[str]]
    """The path patterns of a rule."""
    bytes: int
    """Size of the file, in bytes."""
    lines: int
    """Number of lines that are loaded."""
    chars: int
    """Number of characters that are loaded."""
    tokens: int
    """Estimated number of tokens."""
    warnings: NotRequired[list[str]]
    """Human-readable warnings."""
    content: str
    """The text as the model reads it."""


class Job(TypedDict):
    """Background work."""

    id: str
    """The ID."""
    kind: str
    """What the job does, such as `import` or `dream`."""
    state: JobState
    progress: JobProgress
    result: NotRequired[Any]
    """For an import, an array with one `ImportFile` per file, or an `AgentTranscripts`; for other kinds, an object."""
    error: NotRequired[str | None]
    """Why the job failed. For one job that has not ended: why it cannot go on now; it runs again when this is fixed."""
    created_at: str
    """When it was created, as RFC 3339."""
    updated_at: str
    """When it last changed, as RFC 3339."""


class JobEventData(TypedDict):
    """A job changed its state."""

    id: str
    """The ID."""
    kind: str
    """The kind."""
    state: JobState


class Jobs(TypedDict):
    """Jobs, newest first."""

    jobs: list[Job]


class KeepCandidate(TypedDict):
    """The request to keep a candidate: what the new memory says."""

    text: NotRequired[str | None]
    """What to remember, if the user's words need rewording. The topic quotes the original words as well."""
    name: NotRequired[str | None]
    """The topic's name; derived from the text if absent."""
    description: NotRequired[str | None]
    """A one-line description."""
    questions: NotRequired[list[str]]
    """Questions that the memory answers, worded differently from its text: at most 5, of up to 200 characters each."""
    type: NotRequired[MemoryKind | None]
    scope: NotRequired[MemoryScope | None]


class KnownBlock(TypedDict):
    """A content block of the Messages API. Its `type` determines its other fields."""

    type: KnownBlockType
    text: NotRequired[str]
    """The text of a `text` block."""
    id: NotRequired[str]
    """The ID of a `tool_use` block."""
    name: NotRequired[str]
    """The tool that a `tool_use` block calls."""
    input: NotRequired[Any]
    """The arguments of a `tool_use` block."""
    tool_use_id: NotRequired[str]
    """The `tool_use` block that a `tool_result` block answers."""
    content: NotRequired[Any]
    """The content of a `tool_result` block: text or a list of content blocks."""


class LearnedMemory(TypedDict):
    """A memory that was written or, in a dry run, would be."""

    scope: MemoryScope
    name: str
    """The name."""
    outcome: MemoryOutcome
    """`created`, `changed`, or `proposed` for the team."""
    description: NotRequired[str | None]
    """A one-line description."""
    type: NotRequired[MemoryKind | None]
    statement: NotRequired[str | None]
    """The user's own words, if they were used."""
    seq: NotRequired[int | None]
    """Position of the message that contains these words."""
    text: NotRequired[str | None]
    """The whole file, in a dry run."""


class Memory(TypedDict):
    """A topic of a project's memory, without its text."""

    scope: MemoryScope
    name: str
    """The file name in the memory directory, without `.md`."""
    title: NotRequired[str | None]
    """The name in the file's front matter, if it differs from the file name."""
    description: NotRequired[str | None]
    """A one-line description."""
    type: NotRequired[MemoryKind | None]
    questions: NotRequired[list[str]]
    """Questions that the memory answers, worded differently from its text: at most 5, of up to 200 characters each."""
    recall: NotRequired[MemoryRecall | None]
    modified: str
    """When the memory last changed, as RFC 3339: the time in its front matter, or else that of its file."""
    bytes: int
    """Size in bytes."""
    etag: NotRequired[str]
    """ETag of the file, for the header `If-Match` of the next write."""
    source: NotRequired[MemorySource | None]
    unmerged: NotRequired[str | None]
    """The branch on which the memory was learned, if the checkout of `project_dir` does not contain that branch."""


class MemoryEventData(TypedDict):
    """A memory file changed."""

    project: str
    """Name of the project's memory."""
    scope: MemoryScope
    file: str
    """Name of the file."""
    outcome: MemoryOutcome
    by: MemoryAuthor


class MemoryFinding(TypedDict):
    """One problem in a memory directory."""

    severity: Severity
    rule: str
    """A stable name for programs, such as `dead-link`."""
    file: str
    """Path in the directory."""
    line: NotRequired[int | None]
    """Line number, counted from 1."""
    what: str
    """What is wrong."""
    help: str
    """What a person can do about it."""


class MemoryHistory(TypedDict):
    """The versions of a topic, newest first."""

    versions: list[MemoryVersion]


class MemoryHit(TypedDict):
    """A topic that contains some of the words."""

    scope: MemoryScope
    name: str
    """The name."""
    description: str
    """A one-line description."""
    snippet: str
    """The part of the text that contains the most of these words."""
    highlights: list[list[int]]
    """Positions of the words in the snippet, as ranges of characters."""


class MemoryHits(TypedDict):
    """Topics that contain some of the words, ordered by the number of words found."""

    hits: list[MemoryHit]
    total: int
    """Number of topics that contain at least one of the words."""
    searched: int
    """Number of topics that were searched."""


class MemoryIndex(TypedDict):
    """The memory index as it appears in prompts."""

    dir: str
    """The project's memory directory."""
    scope: MemoryScope
    content: str
    """Text of the index, cut off at the limits."""
    lines: int
    """Number of lines in the whole file."""
    bytes: int
    """Size of the whole file, in bytes."""
    cut_by: NotRequired[IndexLimit | None]
    warnings: list[str]
    """Human-readable warnings."""
    topics: NotRequired[int]
    """Number of topics in the directory, including those that the index does not list."""
    strange: NotRequired[list[str]]
    """Files that look like topics but are not, each with the reason."""
    fault: NotRequired[str | None]
    """Why the directory cannot be read. The other fields are then out of date."""
    polled: NotRequired[bool]
    """Whether the directory is checked every few seconds, because the system does not report changes in it."""


class MemoryRebuilt(TypedDict):
    """What a rebuild of the index changed."""

    scope: MemoryScope
    path: str
    """Path of the index."""
    changed: bool
    """Whether the index changed, or would change."""
    dry_run: bool
    """Nothing was written."""
    added: list[str]
    """Lines that were added."""
    dropped: list[str]
    """Lines that were removed."""
    warnings: list[str]
    """Human-readable warnings."""


class MemoryShelf(TypedDict):
    """One memory directory of a project."""

    scope: MemoryScope
    dir: str
    """The memory directory."""
    layout: MemoryLayout
    there: bool
    """Whether the directory exists. The first write creates it."""
    topics: int
    """Number of topics."""
    bytes: int
    """Total size of all topics, in bytes."""
    index: NotRequired[IndexSize | None]
    watch: MemoryWatch
    fault: NotRequired[str | None]
    """Why the directory cannot be read. The other fields are then out of date."""
    findings: list[MemoryFinding]
    """Most severe first."""


class MessageEventData(TypedDict):
    """A message was appended."""

    seq: int
    """Position of the message in its session."""
    id: str
    """The ID."""
    role: Role


class ModelAgain(TypedDict):
    """The call is retried."""

    change: str
    """What was changed in the request before the retry."""
    wait_ms: int
    """How long to wait before the retry, in milliseconds."""
    bytes: int
    """Size in bytes."""
    step: Literal['again']
    """The step."""
    purpose: Purpose
    model: str
    """Name of the model."""


class ModelAnswered(TypedDict):
    """The model has answered."""

    output_tokens: int
    """Number of tokens that the model wrote."""
    cache_read_tokens: int
    """Number of tokens read from a cache."""
    ms: int
    """Duration in milliseconds."""
    step: Literal['answered']
    """The step."""
    purpose: Purpose
    model: str
    """Name of the model."""


class ModelAsked(TypedDict):
    """A prompt is sent to the model."""

    tokens: int
    """Number of tokens."""
    step: Literal['asked']
    """The step."""
    purpose: Purpose
    model: str
    """Name of the model."""


class ModelCalled(TypedDict):
    """The model called a tool."""

    tool: str
    """Name of the tool."""
    ok: bool
    """Whether the tool succeeded."""
    step: Literal['called']
    """The step."""
    purpose: Purpose
    model: str
    """Name of the model."""


class ModelDenied(TypedDict):
    """A tool call was not allowed."""

    tool: str
    """Name of the tool."""
    reason: str
    """Why."""
    step: Literal['denied']
    """The step."""
    purpose: Purpose
    model: str
    """Name of the model."""


ModelFailed = TypedDict(
    'ModelFailed',
    {
        'class': ErrorClass,
        'status': NotRequired[int | None],
        'message': str,
        'attempt': int,
        'step': Literal['failed'],
        'purpose': Purpose,
        'model': str,
    },
)


ModelGaveUp = TypedDict(
    'ModelGaveUp',
    {
        'class': ErrorClass,
        'message': str,
        'step': Literal['gave_up'],
        'purpose': Purpose,
        'model': str,
    },
)


class ModelRefused(TypedDict):
    """The answer could not be used."""

    message: str
    """The error message, or why an answer was rejected."""
    step: Literal['refused']
    """The step."""
    purpose: Purpose
    model: str
    """Name of the model."""


class ModelState(TypedDict):
    """
    Which model bethink calls for its own purposes, and whether it can be called. Never contains a key or anything
    derived from one.
    """

    provider: ModelProvider
    state: ModelReadiness
    detail: NotRequired[str | None]
    """Details of the state, if there are any."""
    name: NotRequired[str | None]
    """Name of the model; absent if each session's own model is called."""
    small_name: NotRequired[str | None]
    """Name of the model for notes and recall, if it is a different one."""
    origin: NotRequired[str | None]
    """Scheme, host and port to which the key and conversations are sent."""
    summary: Strategy
    notes: Strategy
    client_summaries: NotRequired[bool]
    """Whether summaries of sessions through the gateway are written by the client's own model, with the client's key."""
    key: NotRequired[ModelKey | None]
    problems: list[ModelProblem]


ModelStep: TypeAlias = (
    ModelAsked
    | ModelAnswered
    | ModelFailed
    | ModelAgain
    | ModelGaveUp
    | ModelCalled
    | ModelDenied
    | ModelRefused
)
"""A step on the way to a model's answer."""


class NotesEvent(TypedDict):
    """The notes were written."""

    data: NotesEventData
    event: Literal['notes']
    """The kind of event."""


class NotesUpdate(TypedDict):
    """What an update wrote to the notes."""

    through_seq: int
    """Position of the newest message that the notes cover."""
    bytes: int
    """Size of the notes."""
    strategy: Strategy
    """How the notes were written."""
    updated_at: str
    """When it last changed, as RFC 3339."""


class OutlineMessage(TypedDict):
    """One message of an outline."""

    seq: int
    """Position of the message in its session."""
    kind: OutlineKind
    created_at: str
    """When it was written, as RFC 3339."""
    says: NotRequired[bool]
    """The message has text besides tool calls and thinking."""
    calls: NotRequired[list[OutlineCall]]
    """The message's tool calls."""
    results: NotRequired[list[OutlineResult]]
    usage: NotRequired[OutlineUsage | None]


class Problem(TypedDict):
    """An error as `application/problem+json` (RFC 9457)."""

    type: ProblemType
    title: str
    """A title for this kind of problem."""
    status: int
    """The HTTP status."""
    detail: str
    """What is wrong, and what is allowed."""
    field: NotRequired[str | None]
    """The field, parameter or header that is wrong."""
    limit: NotRequired[int | None]
    """The maximum that was exceeded, or the minimum that was not reached."""
    actual: NotRequired[int | None]
    """The value that was rejected."""
    hint: NotRequired[str | None]
    """What to do."""
    context: NotRequired[ContextReport | None]
    versions: NotRequired[BothVersions | None]


class Proposal(TypedDict):
    """A topic that is proposed for a team's memory."""

    id: str
    """The ID."""
    project_dir: str
    """A directory of the project."""
    name: str
    """The name."""
    text: str
    """The whole topic, as its file would contain it."""
    replaces: NotRequired[str | None]
    """Text of the topic that the proposal would replace; absent if there is none."""
    by: ProposalAuthor
    """Who proposed it."""
    source: NotRequired[MemorySource | None]
    state: ProposalState
    proposed_at: str
    """When it was proposed, as RFC 3339."""
    decided_at: NotRequired[str | None]
    """When a person decided, as RFC 3339."""


class ProposalEventData(TypedDict):
    """A proposal was made or decided on."""

    id: str
    """The ID."""
    name: str
    """The name."""
    state: ProposalState
    project_dir: str
    """A directory of the project."""


class Proposals(TypedDict):
    """Proposals, newest first."""

    proposals: list[Proposal]


class RecallCheck(TypedDict):
    """
    The result of a recall check: how well topics are found by their own words, and which past prompts would get
    memories.
    """

    topics: int
    """Number of topics."""
    questions: int
    """Number of questions asked: each topic's description, and up to 3 lines that it quotes."""
    found: int
    """Number of questions that found their topic."""
    prompts: int
    """Number of past prompts that were replayed."""
    given: int
    """Number of past prompts that would get memories."""
    problems: list[RecallProblem]


class RecallTerm(TypedDict):
    """A word, and the parts of the topic that contain it."""

    term: str
    """The word as the index stores it: in lower case and stemmed."""
    fields: list[TopicField]


class RecallWhy(TypedDict):
    """Why a memory was chosen."""

    by: Strategy
    terms: list[RecallTerm]
    """Words of the query that the topic contains, most significant first."""
    score: float
    """Score from matching words only."""
    place: NotRequired[int | None]
    """The memory's rank among those that the model chose, from 1."""
    pinned: NotRequired[bool]
    """The memory was added because it is pinned, not because it matches."""


class RecalledMemory(TypedDict):
    """A memory as it is added to a prompt."""

    scope: MemoryScope
    name: str
    """The name."""
    description: NotRequired[str | None]
    """A one-line description."""
    type: NotRequired[MemoryKind | None]
    recall: NotRequired[MemoryRecall | None]
    age: str
    """The memory's age, in words."""
    modified: str
    """When the memory last changed, as RFC 3339: the time in its front matter, or else that of its file."""
    certainty: RecallCertainty
    """Whether the memory fits the question. Memories that certainly fit come first."""
    score: float
    """Relevance from 0 to 1, comparable across directories."""
    content: str
    """The memory's text, at most 200 lines and 4,096 bytes."""
    truncated: bool
    """The text was cut."""
    versions: NotRequired[list[str]]
    """Other versions of the topic, which people have not merged yet."""
    links: NotRequired[list[LinkedTopic]]
    """Topics that the memory links to."""
    path: str
    """Path of the whole file."""
    unmerged: NotRequired[str | None]
    """
    The branch on which the memory was learned, if the checkout of `project_dir` does not contain that branch. Such
    memories come last.
    """
    why: RecallWhy


class RecalledTopic(TypedDict):
    """A topic that was added to a prompt, and why."""

    scope: MemoryScope
    name: str
    """The name."""
    why: RecallWhy


Recovered = TypedDict(
    'Recovered',
    {
        'class': ErrorClass,
        'input_tokens': NotRequired[int | None],
        'output_tokens': NotRequired[int | None],
        'limit': NotRequired[int | None],
        'step': RecoveryStep,
        'detail': str,
        'retry': bool,
        'wait_ms': NotRequired[int | None],
        'max_tokens': NotRequired[int | None],
        'compaction': NotRequired[str | None],
    },
)


RecoveryEventData = TypedDict(
    'RecoveryEventData',
    {
        'class': ErrorClass,
        'step': RecoveryStep,
        'detail': str,
        'wait_ms': NotRequired[int | None],
        'max_tokens': NotRequired[int | None],
        'compaction': NotRequired[str | None],
    },
)


class ResetEvent(TypedDict):
    """
    The reader missed events that are not stored, so it has to read everything again. In a session's stream, missed
    messages and compactions follow.
    """

    data: ResetEventData
    event: Literal['reset']
    """The kind of event."""


class RestoredItem(TypedDict):
    """Something added after the summary, because the prompt would have lost it otherwise."""

    kind: RestoredKind
    name: str
    """The name."""
    tokens: int
    """Number of tokens."""
    truncated: bool
    """The content exceeded its budget: the prompt contains only its beginning, or only its name if `tokens` is 0."""


class SessionEventData(TypedDict):
    """A session was created, changed or deleted."""

    change: SessionLifecycle


SessionState: TypeAlias = Plan | Skills | Agents | Tools | Files | Instructions
"""The schema named after the `kind`, such as `Plan` for `plan`. For `hooks`, it is `Instructions`."""


class SetTeamMember(TypedDict):
    """The role of a person in a team project."""

    project: str
    """Name of the team project."""
    person: str
    """The login in the database."""
    role: NotRequired[TeamRole | None]


class SystemText(TypedDict):
    """One text block of the system prompt."""

    type: SystemTextType
    text: str
    """The text of one part of the system prompt."""
    cache_control: NotRequired[dict[str, Any]]
    """Set if the provider should cache the prompt up to this block."""


class TeamMember(TypedDict):
    """A person in a team project."""

    person: str
    """The login in the database."""
    role: TeamRole


class TeamProject(TypedDict):
    """A team project."""

    name: str
    """The name."""
    members: list[TeamMember]
    sessions: int
    """Number of shared sessions."""


class Todo(TypedDict):
    """One item of a todo list."""

    id: NotRequired[str]
    """An ID that the client chooses, unique in the list."""
    content: str
    """What to do."""
    status: TodoStatus
    priority: NotRequired[TodoPriority]


class Todos(TypedDict):
    """The whole todo list."""

    todos: list[Todo]


class TodosEvent(TypedDict):
    """The todo list changed."""

    data: TodosEventData
    event: Literal['todos']
    """The kind of event."""


class UsageRow(UsageSums):
    """Calls of one model for one purpose."""

    session_id: NotRequired[str | None]
    """The session."""
    purpose: str
    """`summary`, `notes`, `recall`, `extraction` or `dream`. Calls by other versions may have another purpose."""
    model: str
    """Name of the model."""
    last_at: str
    """When the newest call began, as RFC 3339."""


class AgentTranscripts(TypedDict):
    """The sessions of an agent that were found and imported."""

    agent: ImportedAgent
    path: str
    """The file, directory or database that was read."""
    sessions: int
    """Number of sessions with messages."""
    messages: int
    newest: NotRequired[str | None]
    """Time of the newest message."""
    files: list[ImportFile]
    """What was imported. Empty after a dry run."""
    unread: list[UnreadTranscript]
    """Files that could not be read."""


class Appended(TypedDict):
    """What was appended, and how full the window is now."""

    appended: int
    """Number of new messages. A message whose ID is already in the session is not appended again."""
    first_seq: int
    """Position of the first message of this request, including repeated ones."""
    last_seq: int
    """Position of the last message of this request, including repeated ones."""
    context: ContextLevel


class CacheEvent(TypedDict):
    """The provider's prompt cache was missed."""

    data: CacheFall
    """The provider's prompt cache was missed."""
    event: Literal['cache']
    """The kind of event."""


class CandidateEvent(TypedDict):
    """A candidate was found, kept or dropped."""

    data: CandidateEventData
    event: Literal['candidate']
    """The kind of event."""


class CollapseEvent(TypedDict):
    """The text of a collapsed span was written, or prompts now show that text."""

    data: CollapseEventData
    event: Literal['collapse']
    """The kind of event."""


class Compaction(TypedDict):
    """One compaction of a session."""

    id: str
    """The ID."""
    trigger: CompactionTrigger
    level: CompactionLevel
    covers: Covers
    kept_from_seq: int
    """Position of the first message that the summary does not replace."""
    tokens_before: int
    """Size of the prompt before the compaction, in tokens."""
    tokens_after: int
    """Size of the prompt after the compaction, in tokens."""
    summary: str
    """The text that replaces the messages."""
    summary_tokens: int
    """Number of tokens in the summary."""
    fidelity: float
    """Share of the repeatedly used names that the new prompt still contains, from 0 to 1, weighted by expected need."""
    fidelity_detail: FidelityDetail
    warning: NotRequired[str | None]
    """
    Why the fidelity is low or has fallen, or which names were missing after the previous compaction; absent if nothing is
    wrong.
    """
    restored: list[RestoredItem]
    """What was added after the summary."""
    attempts: NotRequired[list[str]]
    """Levels that were tried first, and why each was rejected, such as a failure of the model."""
    created_at: str
    """When it was created, as RFC 3339."""
    undone_at: NotRequired[str | None]
    """When the compaction was undone, as RFC 3339."""


class CompactionEvent(TypedDict):
    """The session was compacted, or a compaction was undone."""

    data: CompactionEventData
    event: Literal['compaction']
    """The kind of event."""


class Compactions(TypedDict):
    """A session's compactions, oldest first."""

    compactions: list[Compaction]


ContentBlock: TypeAlias = KnownBlock | OtherBlock
"""A content block. It is stored exactly as it was sent."""


class ContextEvent(TypedDict):
    """A prompt was built. `tokens` is how much of the window it fills."""

    data: ContextEventData
    event: Literal['context']
    """The kind of event."""


class DecidedProposal(TypedDict):
    """A proposal and its state."""

    proposal: Proposal
    warnings: NotRequired[list[str]]
    """Human-readable warnings."""


class Extracted(TypedDict):
    """What an extraction found and wrote."""

    strategy: NotRequired[Strategy | None]
    dry_run: bool
    """Whether this was a dry run, which changes nothing."""
    through_seq: int
    """Position of the last message of the newest turn processed; 0 if no turn has ended."""
    statements: int
    """Number of the user's statements that were processed."""
    by_agent: int
    """Number of statements that were skipped because the agent itself wrote to memory in that turn."""
    memories: list[LearnedMemory]
    """Memories that were written or, in a dry run, would be."""
    candidates: NotRequired[list[Candidate]]
    """Statements that may be worth remembering. They wait for a decision, unless this was a dry run."""
    dropped: NotRequired[list[DroppedStatement]]
    """Statements worth remembering that were not written."""
    forget: NotRequired[list[str]]
    """The user's requests to forget something. A person has to decide which topics are meant."""


class ForgetAskedEvent(TypedDict):
    """The user asked to forget something. A person has to decide which topics are meant."""

    data: ForgetAskedEventData
    event: Literal['memory']
    """The kind of event."""


class Forgotten(TypedDict):
    """What was removed or, in a dry run, would be."""

    dry_run: bool
    """Whether this was a dry run, which changes nothing."""
    session_id: str
    """The session."""
    files: list[ForgottenMemory]
    """The topics that change."""
    candidates: NotRequired[list[str]]
    """Candidates of the session that were still waiting."""


class InstructionChain(TypedDict):
    """The instruction files that apply to a working directory."""

    enabled: bool
    """Whether prompts include instruction files, according to the configuration."""
    root: str
    """The root of the git working tree that contains the project, or else the project directory."""
    cwd: str
    """The working directory."""
    files: list[InstructionFile]
    """In the order of the prompt. Later files take precedence."""
    skipped: list[SkippedInstruction]
    """Files that are not loaded."""
    skipped_more: NotRequired[int]
    """Number of skipped files that are not listed."""
    approved: NotRequired[list[str]]
    """Real paths of files that a person approved for this project."""


class JobEvent(TypedDict):
    """A job changed its state."""

    data: JobEventData
    event: Literal['job']
    """The kind of event."""


class MemoriesPage(TypedDict):
    """Topics of a project, in order of scope and name."""

    memories: list[Memory]
    next_cursor: NotRequired[str | None]
    """Cursor of the next page; not set on the last page."""


class MemoryEvent(TypedDict):
    """A memory file changed."""

    data: MemoryEventData
    event: Literal['memory']
    """The kind of event."""


class MemoryLint(TypedDict):
    """The state of a project's memory, and what is wrong with it."""

    shelves: list[MemoryShelf]
    """One entry per memory directory."""


MessageContent: TypeAlias = str | list[ContentBlock]
"""Text, or a list of content blocks."""


class MessageEvent(TypedDict):
    """A message was appended."""

    data: MessageEventData
    event: Literal['message']
    """The kind of event."""


class ModelEvent(TypedDict):
    """A step of a model call."""

    data: ModelStep
    event: Literal['model']
    """The kind of event."""


class Outline(TypedDict):
    """A part of an outline, oldest message first."""

    messages: list[OutlineMessage]
    more: bool
    """More messages follow the last one."""


class ProposalEvent(TypedDict):
    """A proposal was made or decided on."""

    data: ProposalEventData
    event: Literal['proposal']
    """The kind of event."""


class RecallAnswer(TypedDict):
    """The memories that fit a question, or may fit it."""

    memories: list[RecalledMemory]
    """Best first."""
    searched: int
    """Number of topics that were searched."""
    strategy: Strategy
    """How the memories were chosen."""
    model_failure: NotRequired[str | None]
    """Why the choice of the model that was asked could not be used."""


class RecallEventData(TypedDict):
    """Memories were added to a prompt."""

    after_seq: int
    """Position of the message after which the memories were added."""
    strategy: Strategy
    memories: list[RecalledTopic]


class RecoveryEvent(TypedDict):
    """A refused prompt was handled."""

    data: RecoveryEventData
    event: Literal['recovery']
    """The kind of event."""


class SessionEvent(TypedDict):
    """A session was created, changed or deleted."""

    data: SessionEventData
    event: Literal['session']
    """The kind of event."""


class TeamHistory(TypedDict):
    """The history that is shared with the team: what this person shares, and the team projects."""

    person: NotRequired[str | None]
    """This person's login in the database, by which others know them. Absent if history cannot be shared."""
    problem: NotRequired[str | None]
    """Why history cannot be shared, and what to do about it."""
    shared: NotRequired[list[SharedDirectory]]
    """The directories whose sessions this person shares."""
    projects: NotRequired[list[TeamProject]]
    """The team projects of which this person is a member."""


class Usage(TypedDict):
    """bethink's own model calls and what they cost. Calls of deleted sessions are included."""

    rows: list[UsageRow]
    """
    One row for each purpose and model, newest call first. With `by=session`, or for one session, rows are also split by
    session.
    """
    more: bool
    """There are more rows than were returned. The totals include all rows."""
    totals: UsageSums
    today: UsageToday


class Message(TypedDict):
    """
    A message in the format of the Anthropic Messages API. bethink stores the object exactly as it was sent, including
    fields that it does not know.
    """

    id: NotRequired[str | None]
    """
    An ID that the client chooses, unique in the session. A message that is sent again with the same ID is stored
    once.
    """
    role: Role
    content: MessageContent
    assistant_message_id: NotRequired[Any]
    """The provider's ID of an assistant message, a string. Messages with the same ID are parts of one reply."""
    model: NotRequired[str | None]
    """The model that wrote an assistant message."""
    usage: NotRequired[dict[str, Any] | None]
    """The tokens that the provider reported for an assistant message, such as `input_tokens`."""
    created_at: NotRequired[str | None]
    """RFC 3339; the time of the append if absent."""


class Prompt(TypedDict):
    """The next model call: send `system`, `messages` and `tools` to the model."""

    system: list[SystemText]
    """The system prompt, in the order in which the model reads it."""
    messages: list[Message]
    """A valid conversation that fits the window."""
    tools: list[Any]
    """The tool definitions of the request, as they were sent."""
    report: ContextReport


class RecallEvent(TypedDict):
    """Memories were added to a prompt."""

    data: RecallEventData
    event: Literal['recall']
    """The kind of event."""


class AppendRequest(TypedDict):
    """Messages to append."""

    messages: list[Message]
    """Stored exactly as they are sent."""


Event: TypeAlias = (
    MessageEvent
    | ContextEvent
    | CompactionEvent
    | CollapseEvent
    | CacheEvent
    | NotesEvent
    | TodosEvent
    | MemoryEvent
    | ForgetAskedEvent
    | ProposalEvent
    | CandidateEvent
    | RecallEvent
    | ModelEvent
    | RecoveryEvent
    | JobEvent
    | SessionEvent
    | ResetEvent
)
"""One thing that happened, with the data of its kind."""


class HistoryMessage(TypedDict):
    """A message of a history, with its position."""

    seq: int
    """Position of the message in its session."""
    id: str
    """ID of the message, unique in its session."""
    role: Role
    created_at: str
    """When it was written, as RFC 3339."""
    message: Message
    """The message object exactly as it was appended."""


class MessagesPage(TypedDict):
    """A page of history, oldest message first."""

    messages: list[HistoryMessage]
    next_cursor: NotRequired[str | None]
    """Cursor of the next page; not set on the last page."""


class Expanded(TypedDict):
    """The messages that a summary replaces, or only those that match a query."""

    messages: list[HistoryMessage]
    next_cursor: NotRequired[str | None]
    """Cursor of the next page; not set on the last page."""
