-- Names the commands. Nothing is loaded, and nothing is asked, before one of them or the status line is used.

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

command('Remember', 'Remember something for later sessions of the project', { nargs = '*', range = true }, function(given)
  local text = given.args
  if text == '' and given.range > 0 then
    text = table.concat(vim.api.nvim_buf_get_lines(0, given.line1 - 1, given.line2, false), '\n')
  end
  commands().remember(text)
end)

command('Recall', 'Ask what the project remembers; with ! the chosen text is inserted', { nargs = '*', bang = true }, function(given)
  commands().recall(given.args, given.bang)
end)

command('Memories', 'List what the project remembers, and open one', { nargs = 0 }, function()
  commands().memories()
end)

command('Todos', 'Show the todo list of the newest session', { nargs = 0 }, function()
  commands().todos()
end)

command('Compact', 'Summarise the older part of the newest session', { nargs = '*' }, function(given)
  commands().compact(given.args)
end)

command('Approve', 'Decide what agents want to share with the team', { nargs = 0 }, function()
  commands().approve()
end)

command('Status', 'Say whether the daemon runs, and what fills the window', { nargs = 0 }, function()
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
