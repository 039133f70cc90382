// Runs scenarios twice, directly to the scripted provider and through the gateway, and compares the results.

const UPSTREAM = process.env.UPSTREAM_URL;
const GATEWAY = process.env.GATEWAY_URL;
// IDs are counted by the server, so they differ between two runs. Encrypted reasoning depends on them.
const COUNTED = new Set([
  "id",
  "_request_id",
  "request_id",
  "requestID",
  "tool_use_id",
  "item_id",
  "call_id",
  "previous_response_id",
  "encrypted_content",
  "responseId",
  "thoughtSignature",
]);
// The errors for an answer that ends too early. Which one occurs depends on where the connection ended.
const BROKE_OFF = new Set(["APIConnectionError", "AnthropicError", "OpenAIError", "TypeError", "SyntaxError"]);

function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !COUNTED.has(key))
      .map(([key, item]) => [key, plain(item)]),
  );
}

async function outcome(scenario, baseURL, plan) {
  await fetch(`${UPSTREAM}/__script`, { method: "POST", body: JSON.stringify(plan) });
  try {
    return { result: plain(await scenario(baseURL)) };
  } catch (error) {
    if (BROKE_OFF.has(error.constructor.name)) return { error: "broke off" };
    return { error: error.constructor.name, status: error.status ?? null, body: plain(error.error ?? null) };
  }
}

// Prints a line for each scenario `[name, function, script of the server]`, and sets the exit status.
export async function runTwice(sdk, scenarios) {
  let failed = 0;
  for (const [name, scenario, plan] of scenarios) {
    const direct = await outcome(scenario, UPSTREAM, plan);
    const through = await outcome(scenario, GATEWAY, plan);
    const same = JSON.stringify(direct) === JSON.stringify(through);
    if (!same) failed += 1;
    console.log(`${sdk.padEnd(24)} ${name.padEnd(26)} ${same ? "same" : "DIFFERENT"}: ${direct.error ?? "a result"}`);
    if (!same) {
      console.log("  straight:", JSON.stringify(direct).slice(0, 2000));
      console.log("  through: ", JSON.stringify(through).slice(0, 2000));
    }
  }
  process.exitCode = failed === 0 ? 0 : 1;
}
