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
  for _, wrong in ipairs({ 'file:///etc', 'https://127.0.0.1:8', 'nonsense', 'http://x:1/../y' }) do
    vim.loop.os_setenv('BETHINK_URL', wrong)
    kit.matches('is not http', find().why)
  end
  vim.loop.os_unsetenv('BETHINK_URL')
  vim.loop.os_unsetenv('BETHINK_TOKEN')
  kit.matches('no daemon is running for', find().why)
end

return tests
