--- Memories as buffers: `bethink://DIRECTORY//SCOPE/NAME.md`. A write goes to the daemon with the tag of the version that
--- was read. If someone else has changed the memory since, nothing is overwritten, and both versions are shown.

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

local function topic(buffer)
  local dir, scope, name = vim.api.nvim_buf_get_name(buffer):match('^bethink://(/.-)//([^/]+)/(.+)%.md$')
  return dir and { dir = dir, scope = scope, name = name }
end

function M.open(dir, scope, name)
  vim.cmd('edit ' .. vim.fn.fnameescape(M.name(dir, scope, name)))
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
  local of = topic(buffer)
  if not of then
    return warn(text.line(vim.api.nvim_buf_get_name(buffer)) .. ' is not the address of a memory')
  end
  local bo = vim.bo[buffer]
  bo.buftype, bo.swapfile, bo.modifiable, bo.filetype = 'acwrite', false, false, 'markdown'
  routes.read_memory(of.dir, of.scope, of.name, function(error, answer)
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
  local of = topic(buffer)
  local etag = over and vim.b[buffer].bethink_theirs or vim.b[buffer].bethink_etag
  if not (of and etag) then
    return warn('this memory has not been loaded, so it was not written')
  end
  local tick, done = vim.b[buffer].changedtick, false
  routes.write_memory(of.dir, of.scope, of.name, text_of(buffer), etag, function(error, answer)
    done = true
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    elseif error and error.problem and error.problem.versions then
      return conflict(buffer, error.problem.versions)
    elseif error then
      return warn(text.line(error.message))
    end
    vim.b[buffer].bethink_etag = quoted(answer.json.etag)
    vim.b[buffer].bethink_theirs = nil
    if vim.b[buffer].changedtick == tick then
      vim.bo[buffer].modified = false
    end
    for _, warning in ipairs(answer.json.warnings or {}) do
      warn(text.line(warning))
    end
  end)
  vim.wait(WRITE_WAITS, function()
    return done
  end, 5)
end

return M
