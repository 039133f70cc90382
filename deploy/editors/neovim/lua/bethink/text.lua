--- Makes text from models, tools and files safe to show.

local M = {}

--- One UTF-8 character, valid or not.
local CHARACTER = '[%z\1-\127\192-\255][\128-\191]*'

--- Ranges of characters that are invisible, control a terminal or change the direction of text.
local UNSEEN = {
  { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
  { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
  { 0xe0000, 0xe0fff },
}

local function code_of(character)
  local first = character:byte(1)
  local size = #character
  if size == 1 then
    return first
  end
  local code = first % 2 ^ (7 - size)
  for at = 2, size do
    code = code * 64 + character:byte(at) % 64
  end
  return code
end

local function shown(character)
  local code = code_of(character)
  if code < 0x20 then
    return ('\226\144%c'):format(0x80 + code) -- its symbol, such as ␛
  end
  for _, range in ipairs(UNSEEN) do
    if code >= range[1] and code <= range[2] then
      return ('\\u{%x}'):format(code)
    end
  end
end

--- Returns untrusted text as one line of at most `most` characters.
function M.line(text, most)
  text = tostring(text):gsub('%s*[\r\n]+%s*', ' ')
  local out = {}
  for character in text:gmatch(CHARACTER) do
    if #out >= (most or 200) then
      out[#out] = '…'
      break
    end
    out[#out + 1] = shown(character) or character
  end
  return table.concat(out)
end

--- Returns untrusted text as several lines.
function M.lines(text)
  return vim.tbl_map(function(one)
    return M.line(one, math.huge)
  end, vim.split(text, '\r?\n'))
end

--- Returns the content of a message as lines: its texts, and its thinking, tool calls and results, indented.
function M.message(content)
  if type(content) ~= 'table' then
    return M.lines(tostring(content or ''))
  end
  local out = {}
  for at, block in ipairs(content) do
    local indent, lines = '    ', nil
    if block.type == 'text' then
      indent, lines = '', M.lines(block.text or '')
    elseif block.type == 'thinking' then
      lines = M.lines('(thinking) ' .. (block.thinking or ''))
    elseif block.type == 'tool_use' then
      lines = M.lines(tostring(block.name) .. ' ' .. vim.json.encode(block.input or vim.empty_dict()))
    elseif block.type == 'tool_result' then
      lines = M.message(block.content)
    else
      lines = { '(' .. M.line(block.type) .. ')' }
    end
    if at > 1 then
      out[#out + 1] = ''
    end
    for _, one in ipairs(lines) do
      out[#out + 1] = one == '' and '' or indent .. one
    end
  end
  return out
end

--- Returns a short number of tokens: `840`, `12.4k`, `180k`.
function M.tokens(count)
  if count < 1000 then
    return tostring(count)
  end
  local thousands = count / 1000
  if thousands < 100 then
    return (('%.1fk'):format(thousands):gsub('%.0k', 'k'))
  end
  return ('%.0fk'):format(thousands)
end

return M
