//! The agents, the most used first. Versions are in `tests/clients`.

use bethink_test_clients::Kit;

use crate::agent::Agent;

const CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    kit: Kit::Agents,
    program: "claude",
    wire: "anthropic",
    base: "",
    begin: &["-p", "{prompt}", "--allowedTools", "mcp__bethink__recall"],
    go_on: &["-p", "{prompt}", "--continue"],
    variables: &[
        ("ANTHROPIC_BASE_URL", "{url}"),
        ("ANTHROPIC_API_KEY", "key"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
        // Otherwise, the model must first search for the tools.
        ("ENABLE_TOOL_SEARCH", "false"),
    ],
    files: &[],
    states_project: true,
    installed: &[".claude/settings.json", ".claude.json"],
    has_hooks: true,
};

const CODEX: Agent = Agent {
    name: "codex",
    kit: Kit::Agents,
    program: "codex",
    wire: "openai",
    base: "/v1",
    begin: &[
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        "{prompt}",
    ],
    go_on: &[
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "resume",
        "--last",
        "{prompt}",
    ],
    variables: &[("OPENAI_API_KEY", "key")],
    files: &[(
        ".codex/config.toml",
        r#"model = "gpt-5"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{url}"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"#,
    )],
    states_project: true,
    installed: &[".codex/config.toml"],
    has_hooks: true,
};

const OPENCODE: Agent = Agent {
    name: "opencode",
    kit: Kit::MoreAgents,
    program: "opencode",
    wire: "openai",
    base: "/v1",
    begin: &["run", "-m", "local/scripted", "{prompt}"],
    go_on: &["run", "-m", "local/scripted", "--continue", "{prompt}"],
    variables: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
    files: &[(
        ".config/opencode/opencode.json",
        r#"{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "local": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "{url}", "apiKey": "key" },
      "models": { "scripted": { "name": "scripted", "limit": { "context": 200000, "output": 8000 } } }
    }
  }
}
"#,
    )],
    states_project: true,
    installed: &[".config/opencode/opencode.json"],
    has_hooks: false,
};

const QWEN: Agent = Agent {
    name: "qwen",
    kit: Kit::MoreAgents,
    program: "qwen",
    wire: "openai",
    base: "/v1",
    begin: &["--auth-type", "openai", "--approval-mode", "yolo", "{prompt}"],
    go_on: &["--auth-type", "openai", "--approval-mode", "yolo", "--continue", "{prompt}"],
    variables: &[
        ("OPENAI_BASE_URL", "{url}"),
        ("OPENAI_API_KEY", "key"),
        ("OPENAI_MODEL", "scripted-1"),
    ],
    files: &[(
        ".qwen/settings.json",
        r#"{
  "general": { "enableAutoUpdate": false },
  "privacy": { "usageStatisticsEnabled": false },
  "tools": { "toolSearch": { "enabled": false } }
}
"#,
    )],
    states_project: true,
    installed: &[".qwen/settings.json"],
    has_hooks: true,
};

const GEMINI: Agent = Agent {
    name: "gemini",
    kit: Kit::MoreAgents,
    program: "gemini",
    wire: "gemini",
    base: "",
    begin: &["--model", "gemini-2.5-flash", "--approval-mode", "yolo", "--prompt", "{prompt}"],
    go_on: &[
        "--model",
        "gemini-2.5-flash",
        "--approval-mode",
        "yolo",
        "--resume",
        "latest",
        "--prompt",
        "{prompt}",
    ],
    variables: &[
        ("GEMINI_API_KEY", "key"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ("GOOGLE_GEMINI_BASE_URL", "{url}"),
    ],
    files: &[(
        ".gemini/settings.json",
        r#"{
  "general": { "enableAutoUpdate": false },
  "privacy": { "usageStatisticsEnabled": false },
  "security": { "auth": { "selectedType": "gemini-api-key" } }
}
"#,
    )],
    states_project: true,
    installed: &[".gemini/settings.json"],
    has_hooks: true,
};

const PI: Agent = Agent {
    name: "pi",
    kit: Kit::MoreAgents,
    program: "pi",
    wire: "openai",
    base: "/v1",
    begin: &["-p", "--provider", "local", "--model", "scripted", "{prompt}"],
    go_on: &["-p", "--provider", "local", "--model", "scripted", "--continue", "{prompt}"],
    variables: &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")],
    files: &[(
        ".pi/agent/models.json",
        r#"{
  "providers": {
    "local": {
      "baseUrl": "{url}",
      "api": "openai-completions",
      "apiKey": "key",
      "models": [{
        "id": "scripted", "name": "scripted", "reasoning": false, "input": ["text"],
        "contextWindow": 200000, "maxTokens": 8000,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 }
      }]
    }
  }
}
"#,
    )],
    states_project: true,
    installed: &[],
    has_hooks: false,
};

const CONTINUE: Agent = Agent {
    name: "continue",
    kit: Kit::MoreAgents,
    program: "cn",
    wire: "openai",
    base: "/v1",
    begin: &["-p", "{prompt}"],
    go_on: &["-p", "--resume", "{prompt}"],
    variables: &[("CONTINUE_TELEMETRY_ENABLED", "0"), ("CONTINUE_CLI_AUTO_UPDATED", "1")],
    files: &[(
        ".continue/config.yaml",
        "name: local
version: 1.0.0
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted
    apiBase: {url}
    apiKey: key
    roles: [chat]
",
    )],
    states_project: true,
    installed: &[],
    has_hooks: false,
};

const CLINE: Agent = Agent {
    name: "cline",
    kit: Kit::MoreAgents,
    program: "cline",
    wire: "openai",
    base: "/v1",
    begin: &["--provider", "openai-compatible", "--model", "scripted", "{prompt}"],
    go_on: &[],
    variables: &[],
    // With `--key`, it would drop the address.
    files: &[(
        ".cline/data/settings/providers.json",
        r#"{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "providers": {
    "openai-compatible": {
      "settings": {
        "provider": "openai-compatible", "apiKey": "key", "model": "scripted", "baseUrl": "{url}"
      },
      "updatedAt": "2026-01-01T00:00:00.000Z",
      "tokenSource": "manual"
    }
  }
}
"#,
    )],
    states_project: true,
    installed: &[".cline/data/settings/cline_mcp_settings.json"],
    has_hooks: false,
};

const AIDER: Agent = Agent {
    name: "aider",
    kit: Kit::Aider,
    program: "aider",
    wire: "openai",
    base: "/v1",
    begin: &[
        "--model",
        "openai/scripted",
        "--openai-api-base",
        "{url}",
        "--openai-api-key",
        "key",
        "--no-git",
        "--yes-always",
        "--no-check-update",
        "--analytics-disable",
        "--no-show-model-warnings",
        "--message",
        "{prompt}",
    ],
    go_on: &[],
    variables: &[("LITELLM_LOCAL_MODEL_COST_MAP", "True")],
    files: &[],
    states_project: false,
    installed: &[],
    has_hooks: false,
};

const LLM: Agent = Agent {
    name: "llm",
    kit: Kit::Llm,
    program: "llm",
    wire: "openai",
    base: "/v1",
    begin: &["-m", "scripted", "{prompt}"],
    go_on: &["-m", "scripted", "--continue", "{prompt}"],
    variables: &[],
    files: &[(
        ".config/io.datasette.llm/extra-openai-models.yaml",
        "- model_id: scripted
  model_name: scripted
  api_base: {url}
",
    )],
    states_project: false,
    installed: &[],
    has_hooks: false,
};

pub(crate) const AGENTS: [Agent; 10] =
    [CLAUDE_CODE, CODEX, OPENCODE, GEMINI, QWEN, PI, CONTINUE, CLINE, AIDER, LLM];
