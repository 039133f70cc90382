-- A daemon that is down, comes back with another token, or does not take the one that is shown.

local kit = require('test.kit')
local tests = {}

tests['1 who leaves it is left alone, and the status line says that it is down'] = function()
  kit.answers = { ['is not running'] = 'Cancel' }
  vim.cmd('BethinkStatus')
  kit.eventually('the question', function() return kit.asked[1] end)
  kit.equal('bethink: down', (kit.eventually('down', function()
    local text = require('bethink').statusline()
    return text ~= '' and text
  end)))
  kit.equal(nil, vim.loop.fs_stat(kit.home .. '/daemon.json'))
  require('bethink').options.start = 'never'
  vim.cmd('BethinkStatus')
  kit.says('is not running')
  kit.equal(1, #kit.asked)
end

tests['2 a program that is not there is named'] = function()
  local options = require('bethink').options
  options.start, options.program = 'always', '/nowhere/bethink'
  vim.cmd('BethinkStatus')
  kit.says('/nowhere/bethink was not found')
  options.start, options.program = 'ask', kit.bin .. '/bethink'
end

tests['3 it is started when the person says so, and the command goes on'] = function()
  kit.answers = { ['is not running'] = 'Start it' }
  vim.cmd('BethinkRemember The kettle whistles at six')
  kit.says('remembered as the%-kettle')
  kit.eventually('the status line', function() return require('bethink').statusline() == '' end)
end

tests['4 a restart with a new token goes unnoticed'] = function()
  local session = kit.session('before')
  kit.eventually('the window', function() return require('bethink').statusline():find('0/60k comfortable') end)
  kit.cli('down')
  kit.eventually('down', function() return require('bethink').statusline() == 'bethink: down' end)
  vim.fn.delete(kit.home .. '/token')
  kit.up()
  kit.eventually('up again', function() return require('bethink').statusline():find('comfortable') end)
  kit.say(session, 'still there?', 'yes, and the tide is high')
  kit.eventually('events again', function() return not require('bethink').statusline():find('^0/') end)
end

tests['5 a daemon with another token gets nothing, and the token is never shown'] = function()
  local told = vim.json.decode(table.concat(vim.fn.readfile(kit.home .. '/daemon.json')))
  vim.loop.os_setenv('BETHINK_URL', told.url)
  vim.loop.os_setenv('BETHINK_TOKEN', ('0'):rep(64))
  vim.cmd('BethinkMemories')
  local said = kit.says('is not the daemon of')
  kit.equal(nil, said:find('0000', 1, true))
  vim.loop.os_unsetenv('BETHINK_TOKEN')
  kit.asked = {}
  vim.cmd('BethinkMemories')
  kit.eventually('the list, over TCP with the right token', function() return kit.asked[1] end)
  kit.matches('the%-kettle', kit.asked[1].lines[1])
  vim.loop.os_unsetenv('BETHINK_URL')
  vim.cmd('BethinkStatus')
  kit.says('daemon ok')
end

return tests
