--- Where the daemon is. Read anew for every request, so that a daemon that came back elsewhere, or with
--- another token, is found without anything to invalidate.

local M = {}

--- Where a daemon is looked for when nothing says otherwise.
local DEFAULT_URL = 'http://127.0.0.1:4747'

local function env(name)
  local value = vim.loop.os_getenv(name)
  return value ~= '' and value or nil
end

local function read(path)
  local file = io.open(path, 'rb')
  if not file then
    return nil
  end
  local text = file:read('*a')
  file:close()
  return text
end

function M.home()
  local named = require('bethink').options.home or env('BETHINK_HOME')
  if named then
    return named
  end
  local data = env('XDG_DATA_HOME')
  if not (data and data:sub(1, 1) == '/') then
    data = (env('HOME') or vim.loop.os_homedir()) .. '/.local/share'
  end
  return data .. '/bethink'
end

--- What the running daemon wrote about itself; it may be gone by now, or be just writing it.
local function written(home)
  local ok, told = pcall(vim.json.decode, read(home .. '/daemon.json') or '')
  return ok and type(told) == 'table' and told or {}
end

--- `socket` where the daemon has one: it needs no token. Else `host`, `port` and `token`. `foreign`: somebody
--- else looks after that daemon. `why` where nothing says that a daemon of this home ever ran.
function M.find()
  local home = M.home()
  local foreign = env('BETHINK_URL')
  local told = foreign and {} or written(home)
  local token = env('BETHINK_TOKEN') or (read(home .. '/token') or ''):match('%S+')
  local place = { home = home, foreign = foreign ~= nil, token = token }
  if type(told.socket) == 'string' and vim.loop.fs_stat(told.socket) then
    place.socket = told.socket
    return place
  end
  local url = foreign or (type(told.url) == 'string' and told.url) or (token and DEFAULT_URL)
  if not url then
    place.why = 'no daemon is running for ' .. home
    return place
  end
  place.host, place.port = url:match('^http://([%d%.]+):(%d+)/?$')
  if not place.host then
    place.why = url .. ' is not http://ADDRESS:PORT'
  end
  return place
end

return M
