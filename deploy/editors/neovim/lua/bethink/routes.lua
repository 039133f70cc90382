--- The routes that this plugin asks, one function each; `told(error, answer)` comes later.

local M = {}

--- Sessions looked at for one that is nobody's child.
local SESSIONS = '20'
--- Pages of memories that are listed; the dashboard shows all of a larger directory.
local PAGES = 20
--- Milliseconds that a compaction may take: a model may write the summary.
local COMPACTS_WITHIN = 600000

local function ask(...)
  return require('bethink.daemon').ask(...)
end

--- The project that the editor works in: sessions are kept by the directory itself, not by a link to it.
function M.project()
  local dir = vim.fn.getcwd()
  return vim.loop.fs_realpath(dir) or dir
end

--- The newest session of the directory, which may have been begun in one above it; nil where there is none.
function M.newest_session(dir, told)
  ask('GET', { 'v1', 'sessions' }, { query = { project_dir = dir, limit = SESSIONS } }, function(error, answer)
    if error then
      return told(error)
    end
    local sessions = answer.json.sessions
    for _, one in ipairs(sessions) do
      -- what explored for its parent is nobody's newest session, if there is another
      if not one.parent or one.forked_at_seq then
        return told(nil, one)
      end
    end
    local above = vim.fn.fnamemodify(dir, ':h')
    if sessions[1] or above == dir or above == '/' then
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

--- All memories of the project, page by page.
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

--- Writes over what was read with `etag`, and over nothing else.
function M.write_memory(dir, scope, name, markdown, etag, told)
  local with = { query = { project_dir = dir }, markdown = markdown, headers = { ['If-Match'] = etag } }
  ask('PUT', { 'v1', 'memories', scope, name }, with, told)
end

function M.remember(dir, text, told)
  ask('POST', { 'v1', 'memories' }, { json = { project_dir = dir, text = text } }, told)
end

function M.recall(dir, query, told)
  ask('POST', { 'v1', 'recall' }, { json = { project_dir = dir, query = query } }, told)
end

function M.compact(session, instructions, told)
  local json = instructions ~= '' and { instructions = instructions } or nil
  ask('POST', { 'v1', 'sessions', session, 'compact' }, { json = json, patience = COMPACTS_WITHIN }, told)
end

function M.proposals(dir, told)
  ask('GET', { 'v1', 'proposals' }, { query = { project_dir = dir } }, told)
end

--- `verdict` is approve or reject; `replace` lets it in although the topic was changed since.
function M.decide(id, verdict, replace, told)
  local json = verdict == 'approve' and { replace = replace } or nil
  ask('POST', { 'v1', 'proposals', id, verdict }, { json = json }, told)
end

function M.health(told)
  ask('GET', { 'health' }, {}, told)
end

return M
