--- HTTP/1.1 over the daemon's Unix socket or TCP, with libuv. Needs no other program and never blocks the editor. Over TCP,
--- the daemon proves itself on each connection before the token and the request are sent.
--- Callbacks run in the event loop, where editor functions must not be called.

local M = {}
local uv = vim.loop

--- Maximum size of the headers, in bytes. The daemon's have a few hundred.
local MOST_HEAD = 65536

--- Returns a parser, which calls `on.head(status, headers)`, `on.data(text)` and `on.done()`. Its functions return an error
--- if the answer is not HTTP.
function M.reader(on)
  local rest, state, left, chunked = '', 'head', nil, false

  local function head(text)
    local status, lines = text:match('^HTTP/1%.%d (%d%d%d)[^\r\n]*\r\n(.*)$')
    if not status then
      return 'the answer is not HTTP'
    end
    local headers = {}
    for name, value in lines:gmatch('([^:\r\n]+):[ \t]*([^\r\n]*)') do
      headers[name:lower()] = value
    end
    chunked = (headers['transfer-encoding'] or ''):lower():find('chunked', 1, true) ~= nil
    left = tonumber(headers['content-length'])
    state = chunked and 'size' or 'body'
    on.head(tonumber(status), headers)
  end

  --- Parses the next part. Returns false if more data is needed.
  local function step()
    if state == 'head' then
      local _, last = rest:find('\r\n\r\n', 1, true)
      if not last then
        return #rest > MOST_HEAD and 'the headers of the answer are too long' or false
      end
      local text = rest:sub(1, last)
      rest = rest:sub(last + 1)
      return head(text) or true
    elseif state == 'size' then
      local size, last = rest:match('^\r?\n?(%x+)[^\n]*\n()')
      if not size then
        return false
      end
      rest, left = rest:sub(last), tonumber(size, 16)
      state = left == 0 and 'done' or 'body'
      return true
    elseif state == 'body' and (rest ~= '' or left == 0) then
      local part = left and rest:sub(1, left) or rest
      rest = rest:sub(#part + 1)
      left = left and left - #part
      if part ~= '' then
        on.data(part)
      end
      if left == 0 then
        state = chunked and 'size' or 'done'
      end
      return true
    end
    return false
  end

  local reader = {}

  function reader.feed(bytes)
    if state == 'done' then
      return nil
    end
    rest = rest .. bytes
    while state ~= 'done' do
      local went = step()
      if type(went) == 'string' then
        return went
      elseif not went then
        return nil
      end
    end
    on.done()
  end

  --- The peer has closed the connection. This ends a body without a length; any other answer is incomplete.
  function reader.ended()
    if state == 'body' and not chunked and not left then
      on.done()
    elseif state ~= 'done' then
      return 'the answer is incomplete'
    end
  end

  return reader
end

local function host(place)
  return place.socket and 'localhost' or place.host .. ':' .. place.port
end

local function request_text(place, call)
  local lines = { ('%s %s HTTP/1.1'):format(call.method, call.target) }
  lines[#lines + 1] = 'Host: ' .. host(place)
  lines[#lines + 1] = 'Connection: close'
  if place.token and not place.socket then
    lines[#lines + 1] = 'Authorization: Bearer ' .. place.token
  end
  for name, value in pairs(call.headers or {}) do
    lines[#lines + 1] = name .. ': ' .. value
  end
  if call.body then
    lines[#lines + 1] = 'Content-Length: ' .. #call.body
  end
  return table.concat(lines, '\r\n') .. '\r\n\r\n' .. (call.body or '')
end

--- Returns a reader of the answer to a challenge, which calls `judged(why)` once, with nil if it is a proof.
local function proof_reader(challenge, judged)
  local status, body = nil, ''
  local function head(code)
    status = code
  end
  local function data(part)
    body = (body .. part):sub(1, challenge.most_bytes)
  end
  return M.reader({ head = head, data = data, done = function() judged(challenge.objection(status, body)) end })
end

--- `call` has method, target, headers, body, and `silence`: milliseconds without data after which the request fails. `on`
--- has head, data and `closed(why)`, which is called once at the end, with nil if the answer is complete. Returns a
--- function that cancels the exchange without calling `closed`.
function M.exchange(place, call, on)
  local socket = place.socket and uv.new_pipe(false) or uv.new_tcp()
  local timer = uv.new_timer()
  local over = false

  local function close()
    over = true
    timer:stop()
    timer:close()
    if not socket:is_closing() then
      socket:close()
    end
  end
  local function finish(why)
    if not over then
      close()
      on.closed(why)
    end
  end
  local function alive()
    timer:start(call.silence, 0, function()
      finish(('no answer within %d s'):format(call.silence / 1000))
    end)
  end

  local reader
  local function write(text)
    socket:write(text, function(broken)
      if broken then
        finish(broken)
      end
    end)
  end
  local function send()
    reader = M.reader({ head = on.head, data = on.data, done = function() finish(nil) end })
    write(request_text(place, call))
  end
  local challenge = not place.socket and require('bethink.proof').challenge(place)
  local function prove()
    local function judged(why)
      if why then
        return finish(('what answers at %s is not the daemon of %s: %s'):format(host(place), place.home, why))
      end
      send()
    end
    reader = proof_reader(challenge, judged)
    write(('GET %s HTTP/1.1\r\nHost: %s\r\n\r\n'):format(challenge.target, host(place)))
  end
  local function received(failed, bytes)
    if over then
      return
    end
    alive()
    if failed then
      return finish(failed)
    end
    local why
    if bytes then
      why = reader.feed(bytes)
    else
      why = reader.ended()
    end
    if why then
      finish(why)
    end
  end
  local function connected(failed)
    if over then
      return
    elseif failed then
      return finish(failed)
    end
    socket:read_start(received)
    if challenge then
      prove()
    else
      send()
    end
  end

  alive()
  local begun, why
  if place.socket then
    begun, why = pcall(socket.connect, socket, place.socket, connected)
  else
    begun, why = pcall(socket.connect, socket, place.host, tonumber(place.port), connected)
  end
  if not begun then
    finish(tostring(why))
  end
  return function()
    if not over then
      close()
    end
  end
end

return M
