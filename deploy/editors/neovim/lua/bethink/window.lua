--- The text for the status line: how full the context window of the newest session is. Events keep it up to date.

local M = {}
local routes = require('bethink.routes')
local text = require('bethink.text')

--- Milliseconds between an event and the next read, so that a burst of events causes one read.
local LOOK_AFTER = 150

--- `state` is looking, up, down or failed, and `fault` says why. `session` and `window` are the project's newest.
M.now = { state = 'looking' }

local stop, hurry, timer, looking, wanted

local function redraw()
  vim.cmd('redrawstatus!')
  vim.cmd('silent! doautocmd <nomodeline> User BethinkChanged')
end

local function failed(error)
  M.now.state = error.down and 'down' or 'failed'
  M.now.fault = error.message
  redraw()
end

local look

--- Ends a read, and starts another one if something has happened meanwhile.
local function looked(error)
  looking = false
  if error then
    failed(error)
  else
    M.now.state, M.now.fault = 'up', nil
    redraw()
  end
  if wanted then
    M.want()
  end
end

function look()
  looking, wanted = true, false
  local dir = routes.project()
  routes.newest_session(dir, function(error, session)
    M.now.session = not error and session or nil
    if error or not session then
      M.now.window = nil
      return looked(error)
    end
    routes.report(session.id, function(why, answer)
      if not why then
        local told = answer.json
        M.now.window = { tokens = told.tokens, level = told.level, window = told.thresholds.window }
      end
      looked(why)
    end)
  end)
end

--- Reads soon. Several calls cause one read.
function M.want()
  wanted = true
  if not looking and not timer:is_active() then
    timer:start(LOOK_AFTER, 0, vim.schedule_wrap(look))
  end
end

local LOOKED_AT = { session = true, message = true, compaction = true, collapse = true, reset = true }

local function event(kind, data)
  local session = M.now.session
  if kind == 'context' and session and data.session_id == session.id then
    M.now.window = { tokens = data.tokens, level = data.level, window = data.window }
    redraw()
  elseif kind == 'context' or LOOKED_AT[kind] then
    M.want()
  end
end

--- Starts to follow the daemon, once.
function M.watch()
  if timer then
    return
  end
  timer = vim.loop.new_timer()
  stop, hurry = require('bethink.events').listen({ up = M.want, down = failed, event = event })
  local group = vim.api.nvim_create_augroup('bethink_window', { clear = true })
  vim.api.nvim_create_autocmd('DirChanged', { group = group, callback = M.want })
  vim.api.nvim_create_autocmd('VimLeavePre', { group = group, callback = function() stop() end })
end

--- Reconnects at once, because the daemon has just been started.
function M.hurry()
  if hurry then
    hurry()
  end
end

function M.text()
  M.watch()
  local now = M.now
  if now.state == 'down' then
    return 'bethink: down'
  elseif now.state == 'failed' then
    return 'bethink: failed'
  elseif not now.window then
    return ''
  end
  local level = tostring(now.window.level):gsub('[^%w_-]', '')
  return ('%s/%s %s'):format(text.tokens(now.window.tokens), text.tokens(now.window.window), level)
end

return M
