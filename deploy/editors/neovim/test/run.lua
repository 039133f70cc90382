-- nvim --headless -u NONE --cmd 'set rtp^=PLUGIN' -c 'luafile test/run.lua'
-- Runs every suite against a real daemon, and exits with 1 where something failed.

local plugin = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')
package.path = plugin .. '/?.lua;' .. package.path
vim.opt.runtimepath:prepend(plugin)
vim.opt.swapfile = false
vim.cmd('runtime plugin/bethink.lua')

local kit = require('test.kit')
kit.prepare()
vim.fn.setenv('BETHINK_PLUGIN', plugin)
local passed, failed = 0, 0

local function say(line)
  io.stdout:write(line .. '\n')
end

for _, suite in ipairs({ 'units', 'away', 'commands' }) do
  local tests = require('test.' .. suite)
  local names = vim.tbl_keys(tests)
  table.sort(names)
  for _, name in ipairs(names) do
    kit.told, kit.asked, kit.answers = {}, {}, {}
    local ok, why = xpcall(tests[name], debug.traceback)
    passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
    say((ok and 'ok     ' or 'FAILED ') .. suite .. ': ' .. name .. (ok and '' or '\n' .. why))
  end
end

kit.gone()
say(('%d passed, %d failed'):format(passed, failed))
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
