--- HMAC-SHA256. Callbacks of the event loop must not call the editor's `sha256()`, which takes no zero bytes either.

local M = {}
local bit = require('bit')
local band, bnot, bxor, ror, rshift = bit.band, bit.bnot, bit.bxor, bit.ror, bit.rshift

--- Size of the blocks that SHA-256 hashes, in bytes.
local BLOCK = 64

--- Returns the first 32 bits of the fractional parts of the roots of the first primes: the constants of SHA-256.
local function fractions(count, root)
  local all, number = {}, 2
  while #all < count do
    local prime = true
    for divisor = 2, math.floor(math.sqrt(number)) do
      prime = prime and number % divisor ~= 0
    end
    if prime then
      all[#all + 1] = math.floor(number ^ (1 / root) % 1 * 2 ^ 32)
    end
    number = number + 1
  end
  return all
end

local ROUNDS, START = fractions(64, 3), fractions(8, 2)

local function word(number)
  return string.char(rshift(number, 24), band(rshift(number, 16), 255), band(rshift(number, 8), 255), band(number, 255))
end

--- Returns the 64 words of the message schedule for the block at `at`.
local function schedule(text, at)
  local w = {}
  for i = 1, 16 do
    local a, b, c, d = text:byte(at + 4 * i - 4, at + 4 * i - 1)
    w[i] = bit.bor(bit.lshift(a, 24), bit.lshift(b, 16), bit.lshift(c, 8), d)
  end
  for i = 17, 64 do
    local x, y = w[i - 15], w[i - 2]
    local s0 = bxor(ror(x, 7), ror(x, 18), rshift(x, 3))
    local s1 = bxor(ror(y, 17), ror(y, 19), rshift(y, 10))
    w[i] = bit.tobit(w[i - 16] + s0 + w[i - 7] + s1)
  end
  return w
end

--- Returns the 32 bytes of the SHA-256 of a text.
local function sha256(text)
  local length = #text
  text = text .. '\128' .. ('\0'):rep((BLOCK - 9 - length) % BLOCK) .. '\0\0\0\0' .. word(length * 8)
  local sum = { unpack(START) }
  for at = 1, #text, BLOCK do
    local w = schedule(text, at)
    local a, b, c, d, e, f, g, h = unpack(sum)
    for i = 1, 64 do
      local s1 = bxor(ror(e, 6), ror(e, 11), ror(e, 25))
      local t1 = h + s1 + bxor(band(e, f), band(bnot(e), g)) + ROUNDS[i] + w[i]
      local s0 = bxor(ror(a, 2), ror(a, 13), ror(a, 22))
      local t2 = s0 + bxor(band(a, b), band(a, c), band(b, c))
      a, b, c, d, e, f, g, h = bit.tobit(t1 + t2), a, b, c, bit.tobit(d + t1), e, f, g
    end
    for i, part in ipairs({ a, b, c, d, e, f, g, h }) do
      sum[i] = bit.tobit(sum[i] + part)
    end
  end
  return table.concat(vim.tbl_map(word, sum))
end

local function xored(key, with)
  return (key:gsub('.', function(byte)
    return string.char(bxor(byte:byte(), with))
  end))
end

--- Returns the code of a message as hexadecimal digits.
function M.digest(key, message)
  key = #key > BLOCK and sha256(key) or key
  key = key .. ('\0'):rep(BLOCK - #key)
  local sum = sha256(xored(key, 0x5c) .. sha256(xored(key, 0x36) .. message))
  return (sum:gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

return M
