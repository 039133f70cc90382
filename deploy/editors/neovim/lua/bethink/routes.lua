--- The requests of this plugin, one function each. They call `told(error, answer)` later.

local M = {}

--- Number of newest sessions among which to look for one that is not a subagent's.
local SESSIONS = '20'
--- Maximum number of pages of memories to list. The dashboard shows all memories of a larger directory.
local PAGES = 20
--- Maximum number of hits of a search in the history: as many as the built-in list shows on one screen.
local HITS = '10'
--- Number of messages to show before and after a hit.
local BESIDE = 3
--- Milliseconds that a compaction or an update of notes may take: a model may write the text.
local MODEL_ANSWERS_WITHIN = 600000

local function ask(...)
  return require('bethink.daemon').ask(...)
end

--- Returns the current directory. Links are resolved, because sessions are stored by the real path.
function M.project()
  local dir = vim.fn.getcwd()
  return vim.loop.fs_realpath(dir) or dir
end

--- Finds the newest session of the directory, or of the nearest directory above it in the same working tree; nil if there is none.
function M.newest_session(dir, told)
  ask('GET', { 'v1', 'sessions' }, { query = { project_dir = dir, exact_dir = 'true', limit = SESSIONS } }, function(error, answer)
    if error then
      return told(error)
    end
    local sessions = answer.json.sessions
    for _, one in ipairs(sessions) do
      -- prefer a session that is not a subagent's
      if not one.parent or one.forked_at_seq then
        return told(nil, one)
      end
    end
    local above = vim.fn.fnamemodify(dir, ':h')
    local is_top = vim.loop.fs_stat(dir .. '/.git') ~= nil
    if sessions[1] or is_top or above == dir or above == '/' then
      return told(nil, sessions[1])
    end
    M.newest_session(above, told)
  end)
end

function M.report(session, told)
  ask('GET', { 'v1', 'sessions', session, 'context', 'report' }, {}, told)
end

function M.todos(session, told)
  ask('GET', { 'v1', 'sessions', session, 'todos' }, {}, told)
end

--- Lists the memories of the project.
function M.memories(dir, told)
  local all = {}
  local function page(number, cursor)
    ask('GET', { 'v1', 'memories' }, { query = { project_dir = dir, cursor = cursor } }, function(error, answer)
      if error then
        return told(error)
      end
      vim.list_extend(all, answer.json.memories)
      local next = answer.json.next_cursor
      if next and number < PAGES then
        return page(number + 1, next)
      end
      told(nil, all)
    end)
  end
  page(1)
end

function M.read_memory(dir, scope, name, told)
  ask('GET', { 'v1', 'memories', scope, name }, { query = { project_dir = dir } }, told)
end

--- Replaces the version with this `etag`, and no other.
function M.write_memory(dir, scope, name, markdown, etag, told)
  local with = { query = { project_dir = dir }, markdown = markdown, headers = { ['If-Match'] = etag } }
  ask('PUT', { 'v1', 'memories', scope, name }, with, told)
end

--- `scope` may be `person`. If nil, the daemon chooses it.
function M.remember(dir, text, scope, told)
  ask('POST', { 'v1', 'memories' }, { json = { project_dir = dir, text = text, scope = scope } }, told)
end

function M.read_notes(session, told)
  ask('GET', { 'v1', 'sessions', session, 'notes' }, {}, told)
end

--- Replaces the version with this `etag`, and no other.
function M.write_notes(session, markdown, etag, told)
  ask('PUT', { 'v1', 'sessions', session, 'notes' }, { markdown = markdown, headers = { ['If-Match'] = etag } }, told)
end

function M.update_notes(session, told)
  ask('POST', { 'v1', 'sessions', session, 'notes', 'update' }, { patience = MODEL_ANSWERS_WITHIN }, told)
end

--- Searches the history of the project's sessions, or of all sessions if `dir` is nil.
function M.search(dir, query, told)
  ask('GET', { 'v1', 'search' }, { query = { project_dir = dir, q = query, limit = HITS } }, told)
end

--- Returns the messages around a hit.
function M.around(hit, told)
  local query = { after_seq = tostring(math.max(0, hit.seq - BESIDE - 1)), limit = tostring(2 * BESIDE + 1) }
  ask('GET', { 'v1', 'sessions', hit.session_id, 'messages' }, { query = query }, told)
end

function M.recall(dir, query, told)
  ask('POST', { 'v1', 'recall' }, { json = { project_dir = dir, query = query } }, told)
end

function M.compact(session, instructions, told)
  local json = instructions ~= '' and { instructions = instructions } or nil
  ask('POST', { 'v1', 'sessions', session, 'compact' }, { json = json, patience = MODEL_ANSWERS_WITHIN }, told)
end

function M.proposals(dir, told)
  ask('GET', { 'v1', 'proposals' }, { query = { project_dir = dir } }, told)
end

--- `verdict` is approve or reject. `replace` approves a proposal even if its topic has changed since.
function M.decide(id, verdict, replace, told)
  local json = verdict == 'approve' and { replace = replace } or nil
  ask('POST', { 'v1', 'proposals', id, verdict }, { json = json }, told)
end

function M.candidates(dir, told)
  ask('GET', { 'v1', 'candidates' }, { query = { project_dir = dir } }, told)
end

--- `json` may have a `text` that replaces the user's words.
function M.keep(id, json, told)
  ask('POST', { 'v1', 'candidates', id, 'keep' }, { json = json }, told)
end

function M.drop(id, told)
  ask('POST', { 'v1', 'candidates', id, 'drop' }, {}, told)
end

function M.health(told)
  ask('GET', { 'health' }, {}, told)
end

return M
