--- The commands. Each one sends requests and continues when the answers arrive.

local M = {}
local documents = require('bethink.documents')
local routes = require('bethink.routes')
local text = require('bethink.text')

--- Maximum number of matched words to show.
local TERMS = 6

local START, LEAVE = 'Start it', 'Cancel'

local function tell(message, level)
  vim.notify('bethink: ' .. message, level or vim.log.levels.INFO)
end

local function fail(error)
  tell(text.line(error.message, 500), vim.log.levels.ERROR)
end

--- Starts the daemon or asks first, as the setting says, and then calls `again`; else shows the error.
local function offer(error, again)
  local start = require('bethink').options.start
  local foreign = require('bethink.places').find().foreign
  if not error.down or start == 'never' or foreign or not again then
    return fail(error)
  end
  local function begin()
    require('bethink.daemon').start(function(why)
      if why then
        return fail(why)
      end
      require('bethink.window').hurry()
      again()
    end)
  end
  if start == 'always' then
    return begin()
  end
  vim.ui.select({ START, LEAVE }, { prompt = 'The bethink daemon is not running' }, function(choice)
    if choice == START then
      begin()
    end
  end)
end

--- Sends a request with `ask(callback)`. If the daemon is not running, starts it and tries once more.
local function with(ask, use)
  ask(function(error, answer)
    if not error then
      return use(answer)
    end
    offer(error, function()
      ask(function(why, later)
        if why then
          return fail(why)
        end
        use(later)
      end)
    end)
  end)
end

--- Uses `words`, or asks for a text.
local function given(words, prompt, use)
  if words ~= '' then
    return use(words)
  end
  vim.ui.input({ prompt = prompt }, function(typed)
    if typed and typed:match('%S') then
      use(typed)
    end
  end)
end

--- Uses the newest session, or shows that there is none.
local function with_session(use)
  with(function(told) routes.newest_session(routes.project(), told) end, function(session)
    if not session then
      return tell('no sessions here yet; run `bethink install` or `bethink import`', vim.log.levels.WARN)
    end
    use(session)
  end)
end

local function remembered(answer)
  tell(documents.remembered(answer))
end

--- `person` is the memory of all the person's projects. If `scope` is nil, the daemon chooses it.
function M.remember(words, scope)
  given(words, scope and 'Remember for all projects: ' or 'Remember: ', function(what)
    with(function(told) routes.remember(routes.project(), what, scope, told) end, remembered)
  end)
end

--- Why the daemon chose this memory.
local function why(hit)
  local words = hit.why.by == 'model' and { 'chosen by the model' } or {}
  for at, term in ipairs(hit.why.terms) do
    if at > TERMS then
      break
    end
    words[#words + 1] = ('%s (%s)'):format(text.line(term.term, 40), table.concat(term.fields, ', '))
  end
  return table.concat(words, '; ')
end

local function hit_line(hit)
  local parts = { text.line(hit.name, 60), text.line(hit.age, 30), text.line(hit.description or hit.content, 80), why(hit) }
  return table.concat(parts, ' — ')
end

function M.recall(words, insert)
  local dir = routes.project()
  given(words, 'Recall: ', function(query)
    with(function(told) routes.recall(dir, query, told) end, function(answer)
      local hits = answer.json.memories
      if #hits == 0 then
        return tell('no matching memories')
      end
      vim.ui.select(hits, { prompt = 'Memories', format_item = hit_line }, function(hit)
        if hit and insert then
          vim.api.nvim_put(vim.split(hit.content, '\n', { plain = true }), 'l', true, true)
        elseif hit then
          documents.open(dir, hit.scope, hit.name)
        end
      end)
    end)
  end)
end

function M.memories()
  local dir = routes.project()
  with(function(told) routes.memories(dir, told) end, function(memories)
    if #memories == 0 then
      return tell('this project has no memories yet')
    end
    local function item(one)
      return ('%s/%s — %s'):format(one.scope, text.line(one.name, 60), text.line(one.description or '', 100))
    end
    vim.ui.select(memories, { prompt = 'Memories', format_item = item }, function(one)
      if one then
        documents.open(dir, one.scope, one.name)
      end
    end)
  end)
end

local MARKS = { pending = '[ ]', in_progress = '[-]', completed = '[x]' }

--- Opens a window below with read-only lines, and the cursor at line `at` of them.
local function show(title, lines, at)
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  local bo = vim.bo[buffer]
  bo.buftype, bo.bufhidden, bo.swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.list_extend({ title, '' }, lines))
  bo.modifiable = false
  vim.api.nvim_win_set_height(0, math.min(#lines + 2, 15))
  if at then
    vim.api.nvim_win_set_cursor(0, { at + 2, 0 })
    vim.cmd('normal! zt')
  end
end

local function found_line(hit)
  local when = ('%s, %s'):format(text.line(hit.role, 20), hit.created_at:sub(1, 16):gsub('T', ' '))
  return table.concat({ text.line(hit.snippet, 80), when, text.line(hit.title or 'untitled session', 30) }, ' — ')
end

--- Shows a hit with the messages around it.
local function show_hit(hit)
  with(function(told) routes.around(hit, told) end, function(answer)
    local lines, at = {}, nil
    for _, one in ipairs(answer.json.messages) do
      at = one.seq == hit.seq and #lines + 1 or at
      local mark = one.seq == hit.seq and ' <- found' or ''
      vim.list_extend(lines, { ('## %d, %s%s'):format(one.seq, text.line(one.role, 20), mark), '' })
      vim.list_extend(lines, text.message(one.message.content))
      lines[#lines + 1] = ''
    end
    show('# ' .. text.line(hit.title or hit.session_id, 80), lines, at)
    vim.bo.filetype = 'markdown'
  end)
end

function M.search(words, everywhere)
  local dir = not everywhere and routes.project() or nil
  given(words, 'Search the history: ', function(query)
    with(function(told) routes.search(dir, query, told) end, function(answer)
      local hits = answer.json.hits
      if #hits == 0 then
        local indexing = answer.json.complete == false
        return tell(indexing and 'no hits yet: the history is still being indexed' or 'no hits')
      end
      vim.ui.select(hits, { prompt = 'History', format_item = found_line }, function(hit)
        if hit then
          show_hit(hit)
        end
      end)
    end)
  end)
end

--- `update` writes the newest messages to the notes first.
function M.notes(update)
  with_session(function(session)
    if not update then
      return documents.open_notes(session.id)
    end
    tell('updating the notes of ' .. text.line(session.title or session.id, 30) .. ' …')
    with(function(told) routes.update_notes(session.id, told) end, function()
      documents.open_notes(session.id)
    end)
  end)
end

function M.todos()
  with_session(function(session)
    with(function(told) routes.todos(session.id, told) end, function(answer)
      local lines = {}
      for _, todo in ipairs(answer.json.todos) do
        lines[#lines + 1] = (MARKS[todo.status] or '[ ]') .. ' ' .. text.line(todo.content)
      end
      if #lines == 0 then
        return tell('the todo list is empty')
      end
      show('Todos of ' .. text.line(session.title or session.id, 60), lines)
    end)
  end)
end

function M.compact(instructions)
  with_session(function(session)
    tell('compacting ' .. text.line(session.title or session.id, 40) .. ' …')
    with(function(told) routes.compact(session.id, instructions, told) end, function(answer)
      local done = answer.json
      local kept = math.floor(100 * done.fidelity + 0.5)
      local said = '%s -> %s tokens, %d%% of the names in use are kept'
      tell(said:format(text.tokens(done.tokens_before), text.tokens(done.tokens_after), kept))
    end)
  end)
end

local APPROVE, REJECT, LATER, REPLACE = 'Approve', 'Reject', 'Later', 'Approve anyway'

--- Shows the current version and the proposal in a new tab.
local function compare(proposal)
  local function side(markdown)
    local bo = vim.bo[vim.api.nvim_get_current_buf()]
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(markdown, '\n', { plain = true }))
    bo.buftype, bo.bufhidden, bo.swapfile, bo.modifiable, bo.filetype = 'nofile', 'wipe', false, false, 'markdown'
    vim.cmd('diffthis')
  end
  vim.cmd('tabnew')
  side(proposal.replaces or '')
  vim.cmd('rightbelow vnew')
  side(proposal.text)
  return vim.api.nvim_get_current_tabpage()
end

local function close(tab)
  if vim.api.nvim_tabpage_is_valid(tab) and #vim.api.nvim_list_tabpages() > 1 then
    vim.cmd('tabclose ' .. vim.api.nvim_tabpage_get_number(tab))
  end
end

local function approved(proposal, answer)
  local said = { 'approved: ' .. text.line(proposal.name, 80) .. " was added to the team's memory" }
  for _, warning in ipairs(answer.json.warnings or {}) do
    said[#said + 1] = text.line(warning)
  end
  tell(table.concat(said, '; '))
end

local function accept(proposal, replace)
  routes.decide(proposal.id, 'approve', replace, function(error, answer)
    if not error then
      return approved(proposal, answer)
    elseif error.status ~= 409 or replace then
      return fail(error)
    end
    vim.ui.select({ REPLACE, LATER }, { prompt = text.line(error.message) }, function(choice)
      if choice == REPLACE then
        accept(proposal, true)
      end
    end)
  end)
end

local function decide(proposal)
  local tab = compare(proposal)
  vim.cmd('redraw')
  local prompt = ('%s proposes to share %s'):format(text.line(proposal.by, 20), text.line(proposal.name, 60))
  vim.ui.select({ APPROVE, REJECT, LATER }, { prompt = prompt }, function(choice)
    close(tab)
    if choice == APPROVE then
      accept(proposal, false)
    elseif choice == REJECT then
      with(function(told) routes.decide(proposal.id, 'reject', false, told) end, function()
        tell('rejected: ' .. text.line(proposal.name, 80) .. ' will not be proposed again')
      end)
    end
  end)
end

function M.approve()
  with(function(told) routes.proposals(routes.project(), told) end, function(answer)
    local waiting = answer.json.proposals
    if #waiting == 0 then
      return tell('there are no proposals to review')
    end
    local function item(one)
      return ('%s — by %s — %s'):format(text.line(one.name, 60), text.line(one.by, 20), text.line(one.text, 80))
    end
    vim.ui.select(waiting, { prompt = 'Proposals to review', format_item = item }, function(one)
      if one then
        decide(one)
      end
    end)
  end)
end

local KEEP, EDIT, DROP = 'Keep', 'Edit and keep', 'Drop'

--- Asks about a candidate, and calls `decided` with what was done after it was kept or dropped.
local function review(candidate, decided)
  local context = candidate.context and '(after: ' .. text.line(candidate.context, 200) .. ') ' or ''
  local prompt = context .. 'Remember: ' .. text.line(candidate.sentence, 400)
  vim.cmd('redraw')
  vim.ui.select({ KEEP, EDIT, DROP, LATER }, { prompt = prompt }, function(choice)
    vim.cmd('redraw')
    if choice == KEEP then
      with(function(told) routes.keep(candidate.id, vim.empty_dict(), told) end, function(answer)
        decided(documents.remembered(answer))
      end)
    elseif choice == EDIT then
      documents.open_candidate(candidate)
      tell('`:w` keeps the text as a memory, `:q` leaves the candidate as it is')
    elseif choice == DROP then
      with(function(told) routes.drop(candidate.id, told) end, function()
        decided('dropped: it will not be offered again, in any wording')
      end)
    end
  end)
end

--- Lists the candidates, and again after each decision, as long as there are any. `said` is what the last decision did; the
--- prompt contains it, because the list would cover a message.
local function list_candidates(said)
  with(function(told) routes.candidates(routes.project(), told) end, function(answer)
    local waiting = answer.json.candidates
    if #waiting == 0 then
      return tell(said or 'there are no candidates to review')
    end
    local function item(one)
      return ('%s — %s — %s'):format(text.line(one.sentence, 120), text.line(one.type, 20), one.said_at:sub(1, 10))
    end
    local prompt = (said and said .. '. ' or '') .. ('Candidates for memory (%d)'):format(#waiting)
    vim.ui.select(waiting, { prompt = prompt, format_item = item }, function(one)
      if one then
        review(one, list_candidates)
      end
    end)
  end)
end

function M.candidates()
  list_candidates()
end

function M.status()
  with(routes.health, function(answer)
    routes.candidates(routes.project(), function(_, listed)
      local window = require('bethink.window')
      local shown = window.text()
      if window.now.state == 'down' then
        -- The daemon has just answered: this is from before it was started.
        shown = ''
      end
      local waiting = listed and #listed.json.candidates or 0
      -- fits one line of a narrow terminal, so that no key press is needed
      tell(('daemon %s (%s)%s%s'):format(
        text.line(answer.json.status, 20),
        text.line(answer.json.version, 20),
        shown ~= '' and ', ' .. shown or '',
        waiting > 0 and (', %d to review'):format(waiting) or ''
      ))
    end)
  end)
end

return M
