--- bethink in Neovim: a thin client of the daemon. It draws and asks; all meaning is in the daemon.
---
--- Reading order: `places` -> `wire` (HTTP over the daemon's socket) -> `daemon` -> `events`, `window`
--- (what the status line shows) -> `documents` (memories as buffers) -> `commands`.

local M = {}

--- `program` is what starts the daemon; `start` says whether it may be run when the daemon is down:
--- "ask", "always" or "never"; `home` is where bethink keeps its state, nil for what the environment says.
M.options = { program = 'bethink', start = 'ask', home = nil }

function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
  require('bethink.window').watch()
end

--- How full the window of the newest session is, such as `12k/200k comfortable`; empty where there is none.
--- Holds nothing that a status line would take for an item of its own. Never waits.
function M.statusline()
  return require('bethink.window').text()
end

return M
