-- Defines the commands. Nothing is loaded or requested before a command or the status line is used.

if vim.g.loaded_bethink then
  return
end
vim.g.loaded_bethink = true

local function command(name, description, options, run)
  options.desc = description
  vim.api.nvim_create_user_command('Bethink' .. name, run, options)
end

local function commands()
  return require('bethink.commands')
end

command('Remember', 'Remember something for later sessions; with ! for those of all your projects', {
  nargs = '*',
  range = true,
  bang = true,
}, function(given)
  local text = given.args
  if text == '' and given.range > 0 then
    text = table.concat(vim.api.nvim_buf_get_lines(0, given.line1 - 1, given.line2, false), '\n')
  end
  commands().remember(text, given.bang and 'person' or nil)
end)

command('Recall', 'Find memories that match a question; with ! insert the selected one', { nargs = '*', bang = true }, function(given)
  commands().recall(given.args, given.bang)
end)

command('Memories', 'List the memories of the project, and open one', { nargs = 0 }, function()
  commands().memories()
end)

command('Search', 'Search the history of the project; with ! of all projects', { nargs = '*', bang = true }, function(given)
  commands().search(given.args, given.bang)
end)

command('Notes', 'Open the notes of the newest session; with ! update them first', { nargs = 0, bang = true }, function(given)
  commands().notes(given.bang)
end)

command('Todos', 'Show the todo list of the newest session', { nargs = 0 }, function()
  commands().todos()
end)

command('Compact', 'Summarize the older part of the newest session', { nargs = '*' }, function(given)
  commands().compact(given.args)
end)

command('Approve', 'Review proposals for the team memory', { nargs = 0 }, function()
  commands().approve()
end)

command('Candidates', 'Keep or drop statements that bethink is not sure of', { nargs = 0 }, function()
  commands().candidates()
end)

command('Status', 'Show whether the daemon is running, and how full the context window is', { nargs = 0 }, function()
  commands().status()
end)

local group = vim.api.nvim_create_augroup('bethink', { clear = true })
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'bethink://*',
  callback = function(event)
    require('bethink.documents').read(event.buf)
  end,
})
vim.api.nvim_create_autocmd('BufWriteCmd', {
  group = group,
  pattern = 'bethink://*',
  callback = function(event)
    require('bethink.documents').write(event.buf, vim.v.cmdbang == 1)
  end,
})
