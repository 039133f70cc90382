--- Texts of the daemon as buffers: memories (`bethink://DIRECTORY//SCOPE/NAME.md`), a session's notes
--- (`bethink://notes/SESSION.md`), and candidates (`bethink://candidates/ID.md`), which a write keeps. A write goes to the
--- daemon with the tag of the version that was read. If someone else has changed the text since, nothing is overwritten, and
--- both versions are shown.

local M = {}
local routes = require('bethink.routes')
local text = require('bethink.text')

--- Milliseconds that a write may block the editor, so that `:wq` can see its result. It continues in the background.
local WRITE_WAITS = 300

local function warn(message)
  vim.notify('bethink: ' .. message, vim.log.levels.WARN)
end

function M.name(dir, scope, name)
  return ('bethink://%s//%s/%s.md'):format(dir, scope, name)
end

--- Returns what was written, as text.
function M.remembered(answer)
  local whose = answer.json.scope == 'person' and 'for all your projects ' or ''
  local said = { 'remembered ' .. whose .. 'as ' .. text.line(answer.json.name, 80) }
  for _, warning in ipairs(answer.json.warnings or {}) do
    said[#said + 1] = text.line(warning)
  end
  return table.concat(said, '; ')
end

--- The candidates that were opened and not kept yet, by their IDs.
local candidates = {}

local function candidate(id)
  return {
    read = function(told)
      local one = candidates[id]
      -- Later, because Neovim looks for modelines in what a buffer contains when it has been read.
      vim.schedule(function()
        if not one then
          return told({ message = 'this candidate is not waiting here; run :BethinkCandidates' })
        end
        told(nil, { text = one.sentence, etag = 'unwritten' })
      end)
    end,
    write = function(markdown, _, told)
      if not candidates[id] then
        return told({ message = 'this candidate was already kept; :BethinkMemories lists the memories' })
      end
      routes.keep(id, { text = markdown }, function(error, answer)
        if error then
          return told(error)
        end
        candidates[id] = nil
        told(nil, { etag = 'written', said = M.remembered(answer) })
      end)
    end,
  }
end

--- Returns where the text of a buffer comes from and where a write goes: `read(told)` and `write(markdown, etag, told)`.
local function source(buffer)
  local address = vim.api.nvim_buf_get_name(buffer)
  local kind, id = address:match('^bethink://(%l+)/([%x-]+)%.md$')
  if kind == 'candidates' then
    return candidate(id)
  elseif kind == 'notes' then
    return {
      read = function(told)
        routes.read_notes(id, function(error, answer)
          told(error, answer)
          if answer and answer.headers['bethink-notes-through'] == '0' then
            warn('not updated yet; `:BethinkNotes!` updates these notes')
          end
        end)
      end,
      write = function(markdown, etag, told) routes.write_notes(id, markdown, etag, told) end,
    }
  end
  local dir, scope, name = address:match('^bethink://(/.-)//([^/]+)/(.+)%.md$')
  return dir and {
    read = function(told) routes.read_memory(dir, scope, name, told) end,
    write = function(markdown, etag, told) routes.write_memory(dir, scope, name, markdown, etag, told) end,
  }
end

function M.open(dir, scope, name)
  vim.cmd('edit ' .. vim.fn.fnameescape(M.name(dir, scope, name)))
end

function M.open_notes(session)
  vim.cmd('edit bethink://notes/' .. session .. '.md')
end

--- Opens a window below with the sentence of a candidate. A write keeps the text that is then in the buffer.
function M.open_candidate(one)
  candidates[one.id] = one
  vim.cmd('botright 5split bethink://candidates/' .. one.id .. '.md')
  vim.bo.bufhidden = 'wipe'
end

--- Returns a tag in quotes, as headers have it. In JSON, tags have none.
local function quoted(etag)
  return etag:sub(1, 1) == '"' and etag or '"' .. etag .. '"'
end

local function lines_of(markdown)
  local lines = vim.split(markdown, '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

--- Returns the text of a buffer as the editor would write it to a file.
local function text_of(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') .. '\n'
end

--- Sets the text of a buffer without an undo step: undo must not empty the buffer.
local function fill(buffer, markdown)
  local bo = vim.bo[buffer]
  local levels = bo.undolevels
  bo.modifiable = true
  bo.undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines_of(markdown))
  bo.undolevels = levels
  bo.modified = false
end

function M.read(buffer)
  local of = source(buffer)
  if not of then
    return warn(text.line(vim.api.nvim_buf_get_name(buffer)) .. ' is not the address of a memory, notes or a candidate')
  end
  local bo = vim.bo[buffer]
  bo.buftype, bo.swapfile, bo.modifiable, bo.filetype = 'acwrite', false, false, 'markdown'
  of.read(function(error, answer)
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    elseif error then
      return warn(text.line(error.message))
    end
    vim.b[buffer].bethink_etag = answer.etag
    vim.b[buffer].bethink_theirs = nil
    fill(buffer, answer.text)
  end)
end

local function show(scratch, theirs)
  local bo = vim.bo[scratch]
  bo.modifiable = true
  vim.api.nvim_buf_set_lines(scratch, 0, -1, false, lines_of(theirs))
  bo.modifiable = false
end

--- Shows the other version beside the buffer, as a diff. Later conflicts reuse the window.
local function compare(buffer, theirs)
  local beside = vim.b[buffer].bethink_beside
  if beside and vim.api.nvim_buf_is_valid(beside) then
    return show(beside, theirs)
  end
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    return
  end
  vim.api.nvim_set_current_win(window)
  vim.cmd('diffthis | rightbelow vnew')
  local scratch = vim.api.nvim_get_current_buf()
  local bo = vim.bo[scratch]
  bo.buftype, bo.bufhidden, bo.swapfile, bo.filetype = 'nofile', 'wipe', false, 'markdown'
  show(scratch, theirs)
  vim.cmd('diffthis')
  vim.api.nvim_set_current_win(window)
  vim.b[buffer].bethink_beside = scratch
end

local function conflict(buffer, versions)
  vim.b[buffer].bethink_theirs = versions.etag and quoted(versions.etag) or nil
  compare(buffer, versions.current or '')
  -- fits one line of a narrow terminal, so that no key press is needed
  warn('changed by someone else, not overwritten; `:w!` overwrites, `:e!` reloads')
end

--- `over` replaces the version that the person was shown, but no later one.
function M.write(buffer, over)
  local of = source(buffer)
  local etag = over and vim.b[buffer].bethink_theirs or vim.b[buffer].bethink_etag
  if not (of and etag) then
    return warn('this text has not been loaded, so it was not written')
  end
  local tick, done = vim.b[buffer].changedtick, false
  of.write(text_of(buffer), etag, function(error, answer)
    done = true
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    elseif error and error.problem and error.problem.versions then
      return conflict(buffer, error.problem.versions)
    elseif error then
      return warn(text.line(error.message))
    end
    local json = answer.json or {}
    vim.b[buffer].bethink_etag = quoted(json.etag or answer.etag)
    vim.b[buffer].bethink_theirs = nil
    if vim.b[buffer].changedtick == tick then
      vim.bo[buffer].modified = false
    end
    if answer.said then
      vim.notify('bethink: ' .. answer.said, vim.log.levels.INFO)
    else
      vim.api.nvim_echo({ { 'bethink: saved' } }, true, {})
    end
    for _, warning in ipairs(json.warnings or {}) do
      warn(text.line(warning))
    end
  end)
  vim.wait(WRITE_WAITS, function()
    return done
  end, 5)
end

return M
