--- `:checkhealth bethink`

local M = {}

--- The functions have other names in older versions of Neovim.
local function reporter()
  local health = vim.health or require('health')
  return {
    start = health.start or health.report_start,
    ok = health.ok or health.report_ok,
    warn = health.warn or health.report_warn,
  }
end

function M.check()
  local report = reporter()
  local place = require('bethink.places').find()
  local program = require('bethink').options.program
  report.start('bethink')
  report.ok('home: ' .. place.home)
  if vim.fn.executable(program) == 1 then
    report.ok(program .. ' is executable')
  else
    report.warn(program .. ' was not found, so the plugin cannot start the daemon')
  end
  if place.why then
    report.warn('the daemon is not running: ' .. place.why)
  elseif place.socket then
    report.ok('the daemon listens on ' .. place.socket)
  else
    report.ok(('the daemon is at %s:%s'):format(place.host, place.port))
  end
end

return M
