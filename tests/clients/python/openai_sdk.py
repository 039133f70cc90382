"""The official Python SDK of OpenAI through the gateway."""

import openai
from compare import ends_well, finish, same

MODEL = "gpt-5"
SDK = f"openai {openai.__version__}"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}


def client(base_url, retries=0):
    return openai.OpenAI(
        api_key="the-persons-own-key", base_url=base_url + "/v1", max_retries=retries, timeout=30
    )


def user(text):
    return {"role": "user", "content": text}


def message(base_url):
    return client(base_url).chat.completions.create(model=MODEL, messages=[user("Hello")])


def stream(base_url):
    chunks = client(base_url).chat.completions.create(
        model=MODEL,
        messages=[{"role": "system", "content": "Be brief."}, user("Hello, stream")],
        stream=True,
        stream_options={"include_usage": True},
    )
    return list(chunks)


def tools(base_url):
    own, messages, answers = client(base_url), [user("How is the weather in Bergen?")], []
    for _ in range(2):
        answer = own.chat.completions.create(model=MODEL, tools=[WEATHER], messages=messages)
        answers.append(answer)
        said = answer.choices[0].message
        if not said.tool_calls:
            break
        messages.append(said.model_dump(exclude_none=True))
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in said.tool_calls
        ]
    return answers


def turns(base_url):
    own, messages, answers = client(base_url), [{"role": "developer", "content": "Count."}], []
    for n in range(5):
        messages.append(user([{"type": "text", "text": f"turn {n}"}]))
        answer = own.chat.completions.create(model=MODEL, messages=messages)
        answers.append(answer)
        messages.append(answer.choices[0].message.model_dump(exclude_none=True))
    return answers


def left_early(base_url):
    for _ in client(base_url).chat.completions.create(
        model=MODEL, messages=[user("You won't finish this")], stream=True
    ):
        break
    return message(base_url)


def tried_again(base_url):
    return client(base_url, retries=2).chat.completions.create(
        model=MODEL, messages=[user("Again, if need be")]
    )


def too_long(base_url):
    own, messages = client(base_url), []
    for n in range(40):
        messages.append(user(f"Part {n}: " + f"stone {n} and moss, " * 200))
        answer = own.chat.completions.create(model=MODEL, max_completion_tokens=300, messages=messages)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
    return answer


REFUSALS = [
    "invalid", "wrong_key", "not_permitted", "no_model", "rate_limited_bare", "server_error",
    "bad_gateway", "unavailable", "quota",
]
IN_THE_STREAM = ["error_after_ok", "error_mid_stream", "reset_mid_stream", "truncated_json", "html_ok"]

scenarios = [
    ("a message", message, {}),
    ("a stream", stream, {}),
    ("a stream, byte by byte", stream, {"split": {"bytes": 1}}),
    ("tools", tools, {"other": {"first": ["tool_loop"]}}),
    ("five turns", turns, {}),
    ("left early, asked again", left_early, {}),
    ("tried again after 500", tried_again, {"other": {"first": ["server_error"]}}),
]
scenarios += [(f"refused: {fault}", message, {"other": {"always": fault}}) for fault in REFUSALS]
scenarios += [(f"in a stream: {fault}", stream, {"other": {"always": fault}}) for fault in IN_THE_STREAM]

failed = same(SDK, scenarios)
failed += ends_well(SDK, "longer than the window", too_long, {"window": 24000})
finish(failed)
