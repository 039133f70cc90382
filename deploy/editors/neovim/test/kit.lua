-- A person's machine: a daemon in a home of its own, a project, and what the editor tells and asks.
-- BETHINK_BIN is the folder that holds `bethink` and `bethinkd`.

local M = {}

--- Milliseconds that anything may take on a busy machine before a test fails.
local PATIENCE = 20000

M.bin = assert(vim.loop.os_getenv('BETHINK_BIN'), 'BETHINK_BIN')
-- short: the path of a Unix socket has about a hundred bytes
M.root = vim.loop.fs_realpath(vim.loop.fs_mkdtemp((vim.loop.os_getenv('TMPDIR') or '/tmp') .. '/bethink-nvim-XXXXXX'))
M.home = M.root .. '/home'
M.project = M.root .. '/app'
M.told, M.asked, M.answers = {}, {}, {}

function M.prepare()
  vim.fn.mkdir(M.project, 'p')
  for name in pairs(vim.fn.environ()) do
    if name:match('^BETHINK_') then
      vim.loop.os_unsetenv(name)
    end
  end
  vim.loop.os_setenv('HOME', M.root)
  vim.loop.os_setenv('BETHINK_HOME', M.home)
  vim.loop.os_setenv('BETHINK_CONFIG', M.root .. '/config.toml')
  vim.loop.os_setenv('BETHINK_DAEMON__LISTEN', '127.0.0.1:0')
  vim.cmd('cd ' .. vim.fn.fnameescape(M.project))
  require('bethink').options.program = M.bin .. '/bethink'
  vim.notify = function(message, level)
    M.told[#M.told + 1] = { message = message, level = level }
  end
  -- the person answers by what the prompt says; a number is a place in the list
  vim.ui.select = function(items, options, choose)
    local lines = vim.tbl_map(options.format_item or tostring, items)
    M.asked[#M.asked + 1] = { prompt = options.prompt, lines = lines }
    local answer = M.answer(options.prompt)
    choose(type(answer) == 'number' and items[answer] or vim.tbl_contains(items, answer) and answer or nil)
  end
  vim.ui.input = function(options, typed)
    M.asked[#M.asked + 1] = { prompt = options.prompt }
    typed(M.answer(options.prompt))
  end
end

function M.answer(prompt)
  for part, answer in pairs(M.answers) do
    if prompt:find(part, 1, true) then
      return answer
    end
  end
end

function M.cli(...)
  local out = vim.fn.system({ M.bin .. '/bethink', ... })
  return out, vim.v.shell_error
end

function M.up()
  local out, code = M.cli('up', '--quiet')
  assert(code == 0, out)
end

function M.gone()
  -- A daemon at a named address is not stopped.
  vim.loop.os_unsetenv('BETHINK_URL')
  M.cli('down')
  vim.fn.delete(M.root, 'rf')
end

--- Waits for what an answer or an event will bring.
function M.eventually(what, look)
  local found
  vim.wait(PATIENCE, function()
    found = look()
    return found
  end, 10)
  return found or error('timed out waiting for ' .. what .. '; told: ' .. vim.inspect(M.told), 2)
end

--- What was told last, once it says so.
function M.says(part)
  return M.eventually('the words ' .. part, function()
    local last = M.told[#M.told]
    return last and last.message:find(part) and last.message
  end)
end

--- Another client of the daemon.
function M.ask(method, path, ask)
  local answer
  require('bethink.daemon').ask(method, path, ask or {}, function(error, told)
    answer = { error = error, told = told }
  end)
  M.eventually(method .. ' ' .. table.concat(path, '/'), function() return answer end)
  assert(not answer.error, vim.inspect(answer.error))
  return answer.told.json
end

function M.session(title, window)
  local model = { name = 'claude-sonnet-4-5', context_window = window or 60000, max_output_tokens = 8000 }
  local json = { project_dir = M.project, title = title, model = model }
  return M.ask('POST', { 'v1', 'sessions' }, { json = json }).id
end

function M.say(session, ...)
  local messages = {}
  for at, content in ipairs({ ... }) do
    messages[at] = { role = at % 2 == 1 and 'user' or 'assistant', content = content }
  end
  M.ask('POST', { 'v1', 'sessions', session, 'messages' }, { json = { messages = messages } })
end

function M.put(name, markdown)
  M.ask('PUT', { 'v1', 'memories', 'private', name }, { query = { project_dir = M.project }, markdown = markdown })
end

--- Through the CLI, so that what is judged does not come by the plugin's own wire.
function M.memory(name)
  return (M.cli('memory', 'show', name))
end

function M.equal(expect, found)
  if not vim.deep_equal(expect, found) then
    error(('expected %s, found %s'):format(vim.inspect(expect), vim.inspect(found)), 2)
  end
end

function M.matches(pattern, found)
  if not tostring(found):find(pattern) then
    error(('%q is not in %q'):format(pattern, tostring(found)), 2)
  end
end

return M
