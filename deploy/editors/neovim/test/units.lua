-- What needs no daemon.

local kit = require('test.kit')
local tests = {}

tests['text is one harmless line'] = function()
  local line = require('bethink.text').line
  kit.equal('plain, é, 中文, ✓', line('plain, é, 中文, ✓'))
  kit.equal('a b', line('a\r\n  b'))
  kit.equal('␛]52;c;aGk=␇', line('\27]52;c;aGk=\7'))
  kit.equal('x\\u{9b}2J', line('x\194\1552J'))
  kit.equal('user\\u{202e}txt', line('user\226\128\174txt'))
  kit.equal('tag\\u{e0041}', line('tag\243\160\129\129'))
  kit.equal('␀␡', line('\0'):gsub('$', '␡'))
  kit.equal('ab…', line('abcdef', 3))
  kit.equal('é…', line('ééé', 2))
end

tests['a message is its texts, calls and results, with nothing hidden'] = function()
  local message = require('bethink.text').message
  kit.equal({ 'a', '', 'b\\u{202e}' }, message('a\n\r\nb\226\128\174'))
  local call = { type = 'tool_use', name = 'Bash', input = { command = 'ls' } }
  kit.equal({ 'Look:', '', '    Bash {"command":"ls"}' }, message({ { type = 'text', text = 'Look:' }, call }))
  local result = { type = 'tool_result', content = { { type = 'text', text = 'a\n\nb' } } }
  kit.equal({ '    a', '', '    b', '', '    (image)' }, message({ result, { type = 'image' } }))
  kit.equal({ '    (thinking) why', '    not' }, message({ { type = 'thinking', thinking = 'why\nnot' } }))
  kit.equal({ '' }, message(nil))
end

tests['sizes are said shortly'] = function()
  local tokens = require('bethink.text').tokens
  local said = vim.tbl_map(tokens, { 0, 840, 1000, 12430, 99960, 180400 })
  kit.equal({ '0', '840', '1k', '12.4k', '100k', '180k' }, said)
end

--- What a reader tells of an answer that comes in two pieces.
local function read(answer, cut)
  local told = { body = '' }
  local reader = require('bethink.wire').reader({
    head = function(status, headers) told.status, told.type = status, headers['content-type'] end,
    data = function(part) told.body = told.body .. part end,
    done = function() told.done = (told.done or 0) + 1 end,
  })
  told.error = reader.feed(answer:sub(1, cut)) or reader.feed(answer:sub(cut + 1)) or reader.ended()
  return told
end

tests['an answer is the same wherever it is cut'] = function()
  local head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'
  local answers = {
    head .. 'Content-Length: 5\r\n\r\nhello',
    head .. 'Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=1\r\nllo\r\n0\r\n\r\n',
    head .. '\r\nhello',
  }
  for _, answer in ipairs(answers) do
    for cut = 0, #answer do
      kit.equal({ status = 200, type = 'text/plain', body = 'hello', done = 1 }, read(answer, cut))
    end
  end
  kit.equal(1, read('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', 9).done)
end

tests['an answer that is cut short or no HTTP is an error'] = function()
  kit.matches('incomplete', read('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello', 3).error)
  kit.matches('incomplete', read('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel', 3).error)
  kit.matches('incomplete', read('', 0).error)
  kit.matches('not HTTP', read('SSH-2.0-x\r\n\r\n', 4).error)
  kit.matches('too long', read(('x'):rep(70000), 4).error)
end

tests['events are the same wherever the stream is cut'] = function()
  local stream = 'retry: 1000\n\n:\n\nid: 1-2-3\nevent: context\ndata: {"a":\ndata: "é"}\r\n\r\nevent: x\n\ndata: bare\n\n'
  for cut = 0, #stream do
    local told = {}
    local parse = require('bethink.events').parser(function(kind, data) told[#told + 1] = { kind, data } end)
    parse(stream:sub(1, cut))
    parse(stream:sub(cut + 1))
    kit.equal({ { 'context', '{"a":\n"é"}' }, { 'message', 'bare' } }, told)
  end
  kit.matches('too large', require('bethink.events').parser(function() end)(('x'):rep(1000001)))
end

tests['a target keeps slashes and spaces of names apart'] = function()
  local target = require('bethink.daemon').target
  kit.equal('/v1/memories/private/a%2F..%2Fb', target({ 'v1', 'memories', 'private', 'a/../b' }))
  kit.equal('/x?project_dir=%2Fa%20b%26c', target({ 'x' }, { project_dir = '/a b&c' }))
end

tests['the environment leads to the daemon'] = function()
  local find = require('bethink.places').find
  vim.loop.os_setenv('BETHINK_URL', 'http://127.0.0.1:8')
  vim.loop.os_setenv('BETHINK_TOKEN', 't')
  kit.equal({ home = kit.home, foreign = true, token = 't', host = '127.0.0.1', port = '8' }, find())
  vim.loop.os_unsetenv('BETHINK_TOKEN')
  kit.matches('there is no token in', find().why)
  for _, wrong in ipairs({ 'file:///etc', 'https://127.0.0.1:8', 'nonsense', 'http://x:1/../y' }) do
    vim.loop.os_setenv('BETHINK_URL', wrong)
    kit.matches('is not http', find().why)
  end
  vim.loop.os_unsetenv('BETHINK_URL')
  kit.matches('no daemon is running for', find().why)
end

tests['the code of a message is that of RFC 4231'] = function()
  local digest = require('bethink.hmac').digest
  kit.equal('b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7', digest(('\11'):rep(20), 'Hi There'))
  kit.equal(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    digest('Jefe', 'what do ya want for nothing?')
  )
  kit.equal(
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    digest(('\170'):rep(131), 'Test Using Larger Than Block-Size Key - Hash Key First')
  )
end

--- Listens on a free port, and answers each request with the text that `answer(request, port)` returns.
local function listener(answer)
  local server, seen, open = vim.loop.new_tcp(), {}, {}
  server:bind('127.0.0.1', 0)
  local port = server:getsockname().port
  server:listen(8, function()
    local peer = vim.loop.new_tcp()
    server:accept(peer)
    open[#open + 1] = peer
    peer:read_start(function(_, text)
      if text then
        seen[#seen + 1] = { peer = #open, text = text }
        peer:write(answer(text, port))
      end
    end)
  end)
  local function close()
    for _, handle in ipairs({ server, unpack(open) }) do
      handle:close()
    end
  end
  return { host = '127.0.0.1', port = tostring(port), home = '/h', token = 'secret' }, seen, close
end

local function answered(status, body)
  return ('HTTP/1.1 %s X\r\nContent-Length: %d\r\n\r\n%s'):format(status, #body, body)
end

local function proof(request, token, port)
  local message = 'bethink-proof-1\n' .. port .. '\n' .. request:match('^GET /v1/proof%?nonce=(%x+) HTTP/1%.1\r\n')
  return ('{"proof": "%s"}'):format(require('bethink.hmac').digest(token, message))
end

--- Sends a prompt, and returns why that failed and the body of the answer.
local function exchange(place)
  local ended, body
  local call = { method = 'POST', target = '/v1/recall', body = 'my prompt', silence = 5000 }
  require('bethink.wire').exchange(place, call, {
    head = function() end,
    data = function(part) body = (body or '') .. part end,
    closed = function(why) ended = { why = why } end,
  })
  kit.eventually('the end', function() return ended end)
  return ended.why, body
end

tests['a daemon proves itself on each connection before it gets the token'] = function()
  local place, seen, close = listener(function(request, port)
    return answered(200, request:find('^GET /v1/proof') and proof(request, 'secret', port) or 'recalled')
  end)
  for at = 1, 2 do
    local why, body = exchange(place)
    kit.equal({ nil, 'recalled', 2 * at }, { why, body, #seen })
    kit.equal(seen[2 * at - 1].peer, seen[2 * at].peer)
    kit.equal(nil, seen[2 * at - 1].text:find('Authorization'))
    kit.matches('\r\nAuthorization: Bearer secret\r\n.*my prompt$', seen[2 * at].text)
  end
  close()
end

tests['what cannot prove itself gets nothing'] = function()
  local answers = {
    { 'its proof is wrong', function(request, port) return answered(200, proof(request, 'guessed', port)) end },
    { 'its proof is wrong', function(request) return answered(200, proof(request, 'secret', 1)) end },
    { 'its proof is wrong', function() return answered(200, 'null') end },
    { 'with status 404', function(request, port) return answered(404, proof(request, 'secret', port)) end },
    { 'is not HTTP', function() return 'SSH-2.0-x\r\n\r\n' end },
  }
  for _, one in ipairs(answers) do
    local says, answer = unpack(one)
    local place, seen, close = listener(answer)
    local why, body = exchange(place)
    kit.matches(says, why)
    kit.equal({ nil, 1 }, { body, #seen })
    kit.equal(nil, seen[1].text:find('Authorization') or seen[1].text:find('prompt'))
    close()
  end
end

return tests
