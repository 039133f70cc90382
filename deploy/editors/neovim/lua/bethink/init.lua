--- bethink in Neovim. The plugin shows what the daemon knows, and contains no rules of its own.
---
--- Reading order: `places` -> `wire` (HTTP over the daemon's socket) -> `daemon` -> `events`, `window`
--- (the text for the status line) -> `documents` (memories as buffers) -> `commands`.

local M = {}

--- `program` starts the daemon. `start` says whether the plugin may run it: "ask", "always" or "never". `home` is
--- bethink's home directory; if nil, the one that the environment names.
M.options = { program = 'bethink', start = 'ask', home = nil }

function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
  require('bethink.window').watch()
end

--- Returns how full the context window of the newest session is, such as `12k/200k comfortable`; empty without a session.
--- The text contains no `%`. Never blocks.
function M.statusline()
  return require('bethink.window').text()
end

return M
