--- Finds the daemon. The files are read again for each request, so a restart with another address or token needs no
--- handling.

local M = {}

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

--- The address in `daemon.json`. The daemon may have stopped since, or may be just writing the file.
local function written(home)
  local ok, told = pcall(vim.json.decode, read(home .. '/daemon.json') or '')
  return ok and type(told) == 'table' and type(told.url) == 'string' and told.url or nil
end

--- Returns `socket`, which needs no token, if the home has one; else `host`, `port` and `token`. `foreign` is true if
--- `BETHINK_URL` names the daemon, which is then managed elsewhere. `why` is set if no daemon can be found.
function M.find()
  local home = M.home()
  local foreign = env('BETHINK_URL')
  local token = env('BETHINK_TOKEN') or (read(home .. '/token') or ''):match('%S+')
  local place = { home = home, foreign = foreign ~= nil, token = token }
  local socket = home .. '/daemon.sock'
  if not foreign and vim.loop.fs_stat(socket) then
    place.socket = socket
    return place
  end
  local url = foreign or written(home)
  if not url then
    place.why = 'no daemon is running for ' .. home
    return place
  end
  place.host, place.port = url:match('^http://([%d%.]+):(%d+)/?$')
  if not place.host then
    place.why = url .. ' is not http://ADDRESS:PORT'
  elseif not token then
    place.why = 'there is no token in ' .. home .. ' to verify it with'
  end
  return place
end

return M
