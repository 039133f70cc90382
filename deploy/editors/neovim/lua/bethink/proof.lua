--- The daemon's proof that it has the token of its home. Another program may listen at the address of a daemon that is
--- gone.

local M = {}
local bit = require('bit')

--- Maximum size of the answer, in bytes. A proof has 80.
local MOST_BYTES = 4096

--- Whether two texts are equal. The time does not depend on where they differ.
local function equal(one, other)
  local differ = #one == #other and 0 or 1
  for i = 1, math.min(#one, #other) do
    differ = bit.bor(differ, bit.bxor(one:byte(i), other:byte(i)))
  end
  return differ == 0
end

--- Returns a question that only a daemon with the token of `place` can answer: `target` of the request, and
--- `objection(status, body)`, which returns why an answer is wrong. `most_bytes` of the answer count.
function M.challenge(place)
  local nonce = vim.loop.random(32):gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end)
  local expected = require('bethink.hmac').digest(place.token, ('bethink-proof-1\n%s\n%s'):format(place.port, nonce))
  local function objection(status, body)
    if status ~= 200 then
      return ('it answered with status %s'):format(status)
    end
    local ok, answer = pcall(vim.json.decode, body)
    local proof = ok and type(answer) == 'table' and answer.proof
    if type(proof) ~= 'string' or not equal(proof:lower(), expected) then
      return 'its proof is wrong'
    end
  end
  return { target = '/v1/proof?nonce=' .. nonce, objection = objection, most_bytes = MOST_BYTES }
end

return M
