// The coding agents on this machine, and what to do so that each of them uses bethink.

import { type AgentInstall, client } from "./api.ts";
import { copyable } from "./copy.ts";
import { h } from "./dom.ts";
import { badge } from "./view.ts";

const STATES: Readonly<Record<AgentInstall["state"], readonly [string, string]>> = {
  installed: ["installed", "good"],
  plugin: ["installed as a plugin", "good"],
  outdated: ["outdated", "busy"],
  not_installed: ["not installed", ""],
  unreadable: ["settings cannot be read", "bad"],
};

export async function readAgents(signal: AbortSignal): Promise<AgentInstall[]> {
  const { agents } = await client.get("/v1/agents", { signal });
  return agents;
}

export function hasBethink({ state }: AgentInstall): boolean {
  return state === "installed" || state === "plugin";
}

export function agentRows(agents: readonly AgentInstall[]): HTMLElement {
  return h("ul", { class: "plain agents" }, agents.map(row));
}

function row(agent: AgentInstall): HTMLElement {
  const [words, kind] = STATES[agent.state] ?? [agent.state, ""];
  return h(
    "li",
    { "data-agent": agent.agent },
    h("p", null, agent.title, " ", badge(words, kind)),
    agent.problem && h("p", { class: "notice" }, `${agent.problem}. Fix the file, then run the command.`),
    !hasBethink(agent) && copyable(`bethink install ${agent.agent}`),
  );
}
