--- Requests to the daemon, and starting it.

local M = {}
local text = require('bethink.text')

--- Milliseconds without data after which a request fails. The daemon answers most within tens of milliseconds.
local PATIENCE = 30000

local function encoded(part)
  return (part:gsub('[^%w%-%._~]', function(byte)
    return ('%%%02X'):format(byte:byte())
  end))
end

--- Returns the target of a request: an encoded path and query.
function M.target(path, query)
  local parts = {}
  for _, part in ipairs(path) do
    parts[#parts + 1] = encoded(part)
  end
  local pairs_of = {}
  for name, value in pairs(query or {}) do
    pairs_of[#pairs_of + 1] = name .. '=' .. encoded(value)
  end
  return '/' .. table.concat(parts, '/') .. (#pairs_of > 0 and '?' .. table.concat(pairs_of, '&') or '')
end

local function decode(body)
  local ok, value = pcall(vim.json.decode, body, { luanil = { object = true, array = true } })
  return ok and value or nil
end

--- Returns an error. Its `message` is for a person. Errors have `problem` if the daemon refused a request, and `down` if it
--- could not be reached.
local function refusal(status, body)
  local problem = decode(body)
  if type(problem) ~= 'table' then
    problem = {}
  end
  local detail = problem.detail or problem.title or ('the daemon answered with status ' .. status)
  local message = problem.hint and (detail .. '; ' .. problem.hint) or detail
  return { message = message, problem = problem, status = status }
end

--- Sends a request, and calls `told(error, answer)` later from the main loop. `ask` has query, json or markdown, headers
--- and patience. An answer has `json` or `text`, `etag` and `headers`.
function M.ask(method, path, ask, told)
  local place = require('bethink.places').find()
  if place.why then
    return vim.schedule(function()
      told({ message = 'the bethink daemon is not running (' .. place.why .. ')', down = true })
    end)
  end
  local headers = vim.tbl_extend('keep', {}, ask.headers or {})
  local body = ask.markdown or (ask.json and vim.json.encode(ask.json))
  if body then
    headers['Content-Type'] = ask.markdown and 'text/markdown' or 'application/json'
  end
  local call = {
    method = method,
    target = M.target(path, ask.query),
    headers = headers,
    body = body,
    silence = ask.patience or PATIENCE,
  }
  local status, answered, parts = nil, {}, {}
  require('bethink.wire').exchange(place, call, {
    head = function(code, fields)
      status, answered = code, fields
    end,
    data = function(part)
      parts[#parts + 1] = part
    end,
    closed = vim.schedule_wrap(function(why)
      if why then
        return told({ message = 'the bethink daemon is not responding (' .. why .. ')', down = true })
      end
      local whole = table.concat(parts)
      if status < 200 or status > 299 then
        return told(refusal(status, whole))
      end
      told(nil, { json = decode(whole), text = whole, etag = answered.etag, headers = answered })
    end),
  })
end

--- Starts the daemon with `bethink up`, and calls `done(error)` later.
function M.start(done)
  local program = require('bethink').options.program
  local said = {}
  local function collect(_, lines)
    vim.list_extend(said, lines)
  end
  local began, job = pcall(vim.fn.jobstart, { program, 'up', '--quiet' }, {
    env = { BETHINK_HOME = require('bethink.places').home() },
    on_stderr = collect,
    on_exit = function(_, code)
      local why = text.line(table.concat(said, ' '), 500)
      done(code ~= 0 and { message = 'could not run `' .. program .. ' up`: ' .. why } or nil)
    end,
  })
  if not began or job <= 0 then
    done({ message = program .. " was not found; set its path with `require('bethink').setup({ program = … })`" })
  end
end

return M
