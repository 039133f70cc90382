--- The daemon's one stream of events, for as long as the editor runs. It comes back by itself, and asks for
--- nothing that was missed: whoever listens looks again once it is up.

local M = {}
local uv = vim.loop

--- Milliseconds between two tries, doubled after each that failed.
local FIRST_PAUSE, LONGEST_PAUSE = 250, 10000
--- Longer than the daemon is ever silent: it sends a comment every 15 seconds.
local SILENCE = 45000
--- Longest event that is kept together; the daemon's are a few hundred bytes.
local MOST_BYTES = 1000000

--- Takes text as it comes; tells `event(kind, data)` of each whole event. Answers an error for one without end.
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
    return #rest > MOST_BYTES and 'an event of the daemon has no end' or nil
  end
end

--- `on` has up(), down(error) and event(kind, data), all where editor functions may be called. Answers a
--- function that ends it, and one that tries again at once.
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
          again(why or ('the stream of events ended with status %s'):format(status), status and status ~= 200)
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
