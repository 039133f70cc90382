-- What a person asks for, and memories as buffers.

local kit = require('test.kit')
local tests = {}

local HOSTILE = '\27]52;c;aGk=\7 <b>x</b> \226\128\174txt.exe'

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

local function opened(name)
  kit.answers = { Memories = 1 }
  vim.cmd('edit ' .. vim.fn.fnameescape(require('bethink.documents').name(kit.project, 'private', name)))
  kit.eventually('the text of ' .. name, function() return vim.bo.modifiable end)
end

tests['remember takes words, lines, or what is typed'] = function()
  vim.cmd('enew')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Never deploy the tide table on Fridays' })
  vim.cmd('1,1BethinkRemember')
  kit.says('remembered as never%-deploy')
  kit.answers = { Remember = 'The pier is closed in winter' }
  vim.cmd('BethinkRemember')
  kit.says('remembered as the%-pier')
  kit.matches('closed in winter', kit.memory('the-pier-is-closed-in-winter'))
  vim.cmd('bwipeout!')
end

tests['recall tells age and reason, opens or inserts'] = function()
  kit.cli('remember', 'Always lock the boathouse before midnight')
  kit.answers = { ['Memories'] = 1 }
  vim.cmd('enew')
  vim.cmd('BethinkRecall! when do I lock the boathouse?')
  kit.eventually('the text', function() return lines():find('boathouse before midnight') end)
  kit.matches('^always%-lock.+ — .+ — .+ — .*boathous%w* %(', kit.asked[#kit.asked].lines[1])
  vim.cmd('bwipeout!')
  vim.cmd('BethinkRecall when do I lock the boathouse?')
  kit.eventually('the buffer', function() return vim.api.nvim_buf_get_name(0):find('private/always%-lock') end)
  vim.cmd('BethinkRecall zebra quantum chromodynamics')
  kit.says('no matching memories')
end

tests['a memory is edited and written'] = function()
  kit.put('tides', 'High at noon.\n')
  opened('tides')
  kit.equal({ 'markdown', 'acwrite', false }, { vim.bo.filetype, vim.bo.buftype, vim.bo.modified })
  vim.cmd('silent! undo')
  kit.matches('High at noon', lines())
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'Low at six.' })
  vim.cmd('write')
  kit.eventually('the write', function() return not vim.bo.modified end)
  kit.matches('Low at six', kit.memory('tides'))
  kit.matches('bethink: saved', vim.fn.execute('messages'))
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'Low at seven.' })
  vim.cmd('write')
  kit.eventually('the second write', function() return not vim.bo.modified end)
  kit.matches('Low at seven', kit.memory('tides'))
end

tests['a write that comes too late overwrites nothing until it is meant'] = function()
  kit.put('berths', 'Berth one.\n')
  opened('berths')
  kit.put('berths', 'Berth two, says the harbour master.\n')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'mine' })
  vim.cmd('write')
  kit.says('changed by someone else, not overwritten')
  kit.equal(true, vim.bo.modified)
  kit.matches('harbour master', kit.memory('berths'))
  kit.equal(2, #vim.api.nvim_tabpage_list_wins(0))
  kit.equal(true, vim.wo.diff)
  vim.cmd('write')
  kit.eventually('the second refusal', function() return #kit.told == 2 end)
  kit.matches('harbour master', kit.memory('berths'))
  kit.equal(2, #vim.api.nvim_tabpage_list_wins(0))
  vim.cmd('write!')
  kit.eventually('the write', function() return not vim.bo.modified end)
  kit.matches('mine', kit.memory('berths'))
  vim.cmd('diffoff! | only')
end

tests['a buffer that was not read is not written'] = function()
  vim.cmd('edit bethink:///nowhere//private/none.md')
  kit.eventually('the refusal', function() return kit.told[#kit.told] end)
  vim.cmd('write')
  kit.says('has not been loaded')
  vim.cmd('bwipeout! | edit bethink://nonsense')
  kit.says('not the address of a memory')
  vim.cmd('bwipeout!')
end

tests['lists show hostile text as text'] = function()
  kit.put('odd', ('---\ndescription: %s\n---\n\nbody\n'):format(vim.json.encode(HOSTILE)))
  kit.answers = {}
  vim.cmd('BethinkMemories')
  local list = kit.eventually('the list', function()
    local last = kit.asked[#kit.asked]
    return last and last.prompt == 'Memories' and last.lines
  end)
  local shown = table.concat(list, '\n')
  kit.matches('␛%]52;c;aGk=␇ <b>x</b>', shown)
  kit.equal(nil, shown:gsub('\n', ''):find('[%z\1-\31]'))
  local session = kit.session(HOSTILE)
  local todos = { { id = '1', content = 'water ' .. HOSTILE, status = 'in_progress' }, { id = '2', content = 'rest', status = 'completed' } }
  kit.ask('PUT', { 'v1', 'sessions', session, 'todos' }, { json = { todos = todos } })
  vim.cmd('BethinkTodos')
  kit.eventually('the todos', function() return lines():find('[-] water ␛', 1, true) end)
  kit.matches('%[x%] rest', lines())
  kit.equal(false, vim.bo.modifiable)
  vim.cmd('bwipeout')
end

tests['compact says what became of the window, and a refusal says why'] = function()
  local session = kit.session('small')
  vim.cmd('BethinkCompact')
  kit.eventually('the refusal', function()
    local last = kit.told[#kit.told]
    return last and last.level == vim.log.levels.ERROR
  end)
  local long = {}
  for at = 1, 80 do
    long[at] = at .. ': ' .. ('the tide comes in at the pier, file src/tide.rs '):rep(30)
  end
  kit.say(session, unpack(long))
  vim.cmd('BethinkCompact keep the tides')
  kit.says('%d+k %-> [%d.]+k? tokens, %d+%% of the names in use')
  kit.eventually('the window', function() return require('bethink').statusline():find('^[%d.]+k/60k %a+$') end)
end

tests['a proposal is looked at, then approved or rejected'] = function()
  vim.fn.mkdir(kit.root .. '/team')
  kit.cli('team', 'init', '--dir', kit.root .. '/team')
  local function propose(name, text)
    kit.ask('POST', { 'v1', 'proposals' }, { json = { project_dir = kit.project, name = name, text = text } })
  end
  local seen
  propose('ferry', 'Berth one is for the ferry.\n')
  kit.answers = setmetatable({ ['Proposals to review'] = 1 }, {})
  local answer = kit.answer
  kit.answer = function(prompt)
    if prompt:find('proposes to share') then
      seen = { wins = #vim.api.nvim_tabpage_list_wins(0), text = lines(), diff = vim.wo.diff }
      return kit.verdict
    end
    return answer(prompt)
  end
  kit.verdict = 'Approve'
  vim.cmd('BethinkApprove')
  kit.says('approved: ferry')
  kit.equal({ wins = 2, text = 'Berth one is for the ferry.\n', diff = true }, seen)
  kit.equal(1, #vim.api.nvim_list_tabpages())
  propose('lamps', 'Lamps are green.\n')
  kit.verdict = 'Later'
  seen = nil
  vim.cmd('BethinkApprove')
  kit.eventually('the look', function() return seen end)
  kit.verdict = 'Reject'
  vim.cmd('BethinkApprove')
  kit.says('rejected: lamps')
  vim.cmd('BethinkApprove')
  kit.says('no proposals to review')
  kit.answer = answer
end

local WISHES = {
  'Ideally the retry limit is configurable, because some servers are slow.',
  'Ideally the log level is configurable, because logs are noisy.',
  'Ideally the parser tests stay quick.',
}

tests['a candidate is kept, edited and kept, or dropped, one after the other'] = function()
  local session = kit.session()
  for _, wish in ipairs(WISHES) do
    kit.say(session, wish, 'Good.')
  end
  kit.ask('POST', { 'v1', 'sessions', session, 'extract' }, { json = vim.empty_dict() })
  -- the newest is the first in the list
  kit.answers = { ['Candidates for memory (3)'] = 1, ['parser tests'] = 'Drop', ['Candidates for memory (2)'] = 1, ['log level'] = 'Edit and keep' }
  vim.cmd('BethinkCandidates')
  kit.eventually('the sentence', function() return lines() == WISHES[2] end)
  kit.matches('^dropped: it will not be offered again.+%(2%)$', kit.asked[3].prompt)
  kit.equal({ 'markdown', 'acwrite', false }, { vim.bo.filetype, vim.bo.buftype, vim.bo.modified })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'The log level is a setting', '', 'of the daemon.' })
  vim.cmd('write')
  local name = kit.says('remembered as'):match('remembered as ([%w-]+)')
  kit.equal(false, vim.bo.modified)
  kit.matches('The log level is a setting\n\nof the daemon.+> Ideally the log level is configurable', kit.memory(name))
  vim.cmd('write')
  kit.says('already kept; :BethinkMemories')
  vim.cmd('quit | edit bethink://candidates/0-0.md')
  kit.says('run :BethinkCandidates')
  vim.cmd('bwipeout!')
  kit.answers = { ['Candidates for memory (1)'] = 1, ['retry limit'] = 'Keep' }
  vim.cmd('BethinkCandidates')
  kit.says('remembered as ')
  vim.cmd('BethinkCandidates')
  kit.says('no candidates to review')
  kit.answers = {}
end

tests['a candidate that is only looked at, or whose buffer is left, waits on'] = function()
  local session = kit.session()
  kit.say(session, 'Ideally the buoy list stays short, vim: set tw=7: as ever.', 'Good.')
  kit.ask('POST', { 'v1', 'sessions', session, 'extract' }, { json = vim.empty_dict() })
  local function listed()
    local last = kit.asked[#kit.asked]
    return last and last.prompt:find('Candidates for memory (', 1, true) and #last.lines
  end
  vim.cmd('BethinkStatus')
  kit.says('daemon ok %([%d.]+%).*, %d+ to review$')
  vim.cmd('BethinkCandidates')
  local count = kit.eventually('the list', listed)
  vim.o.modeline = true -- the default, but not for root
  kit.answers = { ['Candidates for memory'] = 1, ['Remember: '] = 'Edit and keep' }
  vim.cmd('BethinkCandidates')
  kit.eventually('the buffer', function() return vim.api.nvim_buf_get_name(0):find('^bethink://candidates/') and vim.bo.modifiable end)
  kit.matches('vim: set tw=7:', lines())
  kit.equal(0, vim.bo.textwidth)
  vim.cmd('quit')
  kit.answers, kit.asked = {}, {}
  vim.cmd('BethinkCandidates')
  kit.equal(count, (kit.eventually('the list', listed)))
end

tests['a memory can be for all projects'] = function()
  vim.cmd('BethinkRemember! Tables of tides are always printed in metres')
  kit.says('remembered for all your projects as tables%-of%-tides')
  kit.answers = {}
  vim.cmd('BethinkMemories')
  local list = kit.eventually('the list', function() return kit.asked[1] and kit.asked[1].lines end)
  kit.matches('\nperson/tables%-of%-tides', table.concat(list, '\n'))
  vim.cmd('edit ' .. vim.fn.fnameescape(require('bethink.documents').name(kit.project, 'person', list[#list]:match('person/(%S+)'))))
  kit.eventually('its text', function() return lines():find('metres') end)
  vim.cmd('bwipeout!')
end

tests['a search shows a hit with the messages around it'] = function()
  local session = kit.session('the lighthouse ' .. HOSTILE)
  kit.say(session, 'Where is the lighthouse script?', 'In tools/lighthouse.sh. \27[2J', 'Run it.', 'Done.')
  kit.answers = { ['Search the history'] = 'lighthouse script', History = 1 }
  kit.eventually('the hit', function()
    vim.cmd('BethinkSearch')
    return vim.wait(500, function() return lines():find('^# the lighthouse') end, 10)
  end)
  local list = kit.eventually('the list', function()
    local last = kit.asked[#kit.asked]
    return last.prompt == 'History' and last.lines
  end)
  kit.matches('lighthouse.* — user, %d%d%d%d%-%d%d%-%d%d %d%d:%d%d — the lighthouse ␛', list[1])
  kit.matches('## 1, user <%- found\n\nWhere is the lighthouse script%?\n\n## 2, assistant\n\nIn tools/lighthouse%.sh%. ␛%[2J', lines())
  kit.equal({ 'nofile', false, '## 1, user <- found' }, { vim.bo.buftype, vim.bo.modifiable, vim.api.nvim_get_current_line() })
  vim.cmd('bwipeout')
  vim.cmd('BethinkSearch zebra quantum chromodynamics')
  kit.says('no hits')
  vim.cmd('cd /')
  vim.cmd('BethinkSearch lighthouse script')
  kit.eventually('no hits elsewhere', function() return #kit.told == 2 end)
  vim.cmd('BethinkSearch! lighthouse script')
  kit.eventually('the hit in another project', function() return lines():find('^# the lighthouse') end)
  vim.cmd('bwipeout')
  vim.cmd('cd ' .. vim.fn.fnameescape(kit.project))
end

tests['notes are edited, and a write that comes too late overwrites nothing until it is meant'] = function()
  vim.cmd('cd /')
  vim.cmd('BethinkNotes')
  kit.says('no sessions here yet; run `bethink install`')
  vim.cmd('cd ' .. vim.fn.fnameescape(kit.project))
  local session = kit.session('the notes job')
  vim.cmd('BethinkNotes!')
  kit.says('no messages yet; ')
  vim.cmd('BethinkNotes')
  kit.says('not updated yet; `:BethinkNotes!`')
  kit.say(session, 'Please fix src/tide.rs, it prints feet.', 'Done, it prints metres.')
  vim.cmd('BethinkNotes!')
  kit.eventually('the notes', function() return lines():find('tide%.rs') end)
  kit.equal('bethink://notes/' .. session .. '.md', vim.api.nvim_buf_get_name(0))
  local function notes()
    return (kit.cli('notes', 'show', '--session', session))
  end
  for _, text in ipairs({ 'mine', 'mine, twice in a row' }) do
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { '# Task', '', text })
    vim.cmd('write')
    kit.eventually('the write', function() return not vim.bo.modified end)
    kit.matches('# Task\n\n' .. text, notes())
  end
  kit.ask('PUT', { 'v1', 'sessions', session, 'notes' }, { markdown = '# Task\n\ntheirs\n' })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { '# Task', '', 'too late' })
  vim.cmd('write')
  kit.says('changed by someone else, not overwritten')
  kit.equal(true, vim.bo.modified)
  kit.matches('theirs', notes())
  kit.equal({ 2, true }, { #vim.api.nvim_tabpage_list_wins(0), vim.wo.diff })
  vim.cmd('write!')
  kit.eventually('the write', function() return not vim.bo.modified end)
  kit.matches('too late', notes())
  vim.cmd('diffoff! | only | bwipeout!')
  kit.ask('PUT', { 'v1', 'sessions', session, 'notes' }, { markdown = '# Task\n\ntheirs\n' })
  vim.cmd('BethinkNotes')
  kit.eventually('the notes as they are', function() return lines() == '# Task\n\ntheirs' end)
  vim.cmd('bwipeout!')
end

tests['health and help are there'] = function()
  vim.cmd('checkhealth bethink')
  kit.matches('daemon listens on', lines())
  vim.cmd('bwipeout!')
  vim.cmd('helptags ' .. vim.fn.fnameescape(vim.fn.getenv('BETHINK_PLUGIN') .. '/doc'))
  for name in pairs(vim.api.nvim_get_commands({})) do
    if name:match('^Bethink') then
      vim.cmd('help :' .. name)
      vim.cmd('helpclose')
    end
  end
end

return tests
