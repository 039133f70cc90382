--- Text of models, tools and files, made harmless before a person reads it.

local M = {}

--- One character of UTF-8, whole or broken.
local CHARACTER = '[%z\1-\127\192-\255][\128-\191]*'

--- First and last of what has no width, steers a terminal or reorders what is read.
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
    return ('\226\144%c'):format(0x80 + code) -- its picture, such as ␛
  end
  for _, range in ipairs(UNSEEN) do
    if code >= range[1] and code <= range[2] then
      return ('\\u{%x}'):format(code)
    end
  end
end

--- One line of somebody else's text, at most `most` characters of it.
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

--- A number of tokens as people say it: `840`, `12.4k`, `180k`.
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
