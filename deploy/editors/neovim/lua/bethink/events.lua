--- Follows the daemon's events while the editor runs. Reconnects by itself, but does not ask for missed events: listeners
--- read everything again after each connection.

local M = {}
local uv = vim.loop

--- Milliseconds before reconnecting, doubled after each failure.
local FIRST_PAUSE, LONGEST_PAUSE = 250, 10000
--- Milliseconds without data after which a connection counts as lost. The daemon sends a comment every 15 seconds.
local SILENCE = 45000
--- Maximum size of an event, in bytes. The daemon's events have a few hundred.
local MOST_BYTES = 1000000

--- Returns a function that takes chunks of text, and calls `event(kind, data)` for each complete event. It returns an error
--- if an event is too large.
function M.parser(event)
  local rest, kind, data = '', nil, {}

  local function line(one)
    if one == '' then
      if #data > 0 then
        event(kind or 'message', table.concat(data, '\n'))
      end
      kind, data = nil, {}
      return
    end
    local field, value = one:match('^([^:]*):? ?(.*)$')
    if field == 'data' then
      data[#data + 1] = value
    elseif field == 'event' then
      kind = value
    end
  end

  return function(text)
    rest = rest .. text
    while true do
      local one, next = rest:match('^([^\n]*)\n()')
      if not one then
        break
      end
      rest = rest:sub(next)
      line((one:gsub('\r$', '')))
    end
    return #rest > MOST_BYTES and 'an event of the daemon is too large' or nil
  end
end

--- Calls up(), down(error) and event(kind, data) of `on` from the main loop. Returns a function that stops, and one that
--- reconnects at once.
function M.listen(on)
  local pause, stopped, cut = FIRST_PAUSE, false, nil
  local timer = uv.new_timer()
  local connect

  local function again(why, refused)
    on.down({ message = why, down = not refused })
    if not stopped then
      timer:start(pause, 0, vim.schedule_wrap(connect))
      pause = math.min(pause * 2, LONGEST_PAUSE)
    end
  end

  function connect()
    if stopped then
      return
    end
    local place = require('bethink.places').find()
    if place.why then
      return again(place.why)
    end
    local status
    local parse = M.parser(vim.schedule_wrap(function(kind, data)
      local ok, told = pcall(vim.json.decode, data, { luanil = { object = true, array = true } })
      if ok and type(told) == 'table' and not stopped then
        on.event(kind, told)
      end
    end))
    cut = require('bethink.wire').exchange(place, { method = 'GET', target = '/v1/events', silence = SILENCE }, {
      head = function(code)
        status = code
        if code == 200 then
          pause = FIRST_PAUSE
          vim.schedule(on.up)
        end
      end,
      data = function(part)
        local endless = status == 200 and parse(part)
        if endless then
          cut()
          vim.schedule(function() again(endless) end)
        end
      end,
      closed = vim.schedule_wrap(function(why)
        if not stopped then
          again(why or ('the event stream ended with status %s'):format(status), status and status ~= 200)
        end
      end),
    })
  end

  connect()
  local function stop()
    stopped = true
    timer:stop()
    if cut then
      cut()
    end
  end
  local function hurry()
    if timer:is_active() then
      timer:stop()
      connect()
    end
  end
  return stop, hurry
end

return M
