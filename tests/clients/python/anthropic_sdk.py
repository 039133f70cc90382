"""The official Python SDK of Anthropic through the gateway."""

import anthropic
from compare import ends_well, finish, same

MODEL = "claude-sonnet-4-5"
SDK = f"anthropic {anthropic.__version__}"
WEATHER = {
    "name": "weather",
    "description": "The weather of a place",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}},
}


def client(base_url, retries=0):
    return anthropic.Anthropic(
        api_key="the-persons-own-key", base_url=base_url, max_retries=retries, timeout=30
    )


def user(text):
    return {"role": "user", "content": text}


def message(base_url):
    return client(base_url).messages.create(model=MODEL, max_tokens=300, messages=[user("Hello")])


def stream(base_url):
    seen = []
    with client(base_url).messages.stream(
        model=MODEL, max_tokens=300, system="Be brief.", messages=[user("Hello, stream")]
    ) as events:
        for event in events:
            seen.append(event.type)
        return seen, events.get_final_message()


def tools(base_url):
    own, messages, answers = client(base_url), [user("How is the weather in Bergen?")], []
    for _ in range(2):
        answer = own.messages.create(model=MODEL, max_tokens=300, tools=[WEATHER], messages=messages)
        answers.append(answer)
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            break
        messages.append({"role": "assistant", "content": answer.content})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": "rain"} for call in calls
        ]
        messages.append({"role": "user", "content": results})
    return answers


def thinking(base_url):
    """Signed over all that came before: the stand-in refuses thinking that comes back over another prompt."""
    own, messages, answers = client(base_url), [], []
    for text in ("Think of a number", "Now double it", "And again"):
        messages.append(user(text))
        with own.messages.stream(
            model=MODEL,
            max_tokens=2000,
            thinking={"type": "enabled", "budget_tokens": 1024},
            messages=messages,
        ) as events:
            answer = events.get_final_message()
        answers.append(answer)
        messages.append({"role": "assistant", "content": [b.model_dump() for b in answer.content]})
    return answers


def cached(base_url):
    """A breakpoint that moves along, as agents set it."""
    own, messages, answers = client(base_url), [], []
    for n in range(4):
        block = {"type": "text", "text": f"part {n}", "cache_control": {"type": "ephemeral"}}
        for earlier in messages:
            for part in earlier["content"]:
                part.pop("cache_control", None)
        messages.append({"role": "user", "content": [block]})
        answer = own.messages.create(model=MODEL, max_tokens=300, messages=messages)
        answers.append(answer)
        messages.append({"role": "assistant", "content": [b.model_dump() for b in answer.content]})
    return answers


def counted(base_url):
    return client(base_url).messages.count_tokens(model=MODEL, messages=[user("How long is this?")])


def raw_headers(base_url):
    answer = client(base_url).messages.with_raw_response.create(
        model=MODEL, max_tokens=300, messages=[user("Headers, please")]
    )
    own = ("date", "connection", "keep-alive", "cache-control", "x-content-type-options")
    return sorted((name, value) for name, value in answer.headers.items() if name.lower() not in (*own, "request-id"))


def left_early(base_url):
    with client(base_url).messages.stream(
        model=MODEL, max_tokens=300, messages=[user("You won't finish this")]
    ) as events:
        for event in events:
            if event.type == "content_block_delta":
                break
    return message(base_url)


def tried_again(base_url):
    return client(base_url, retries=2).messages.create(
        model=MODEL, max_tokens=300, messages=[user("Again, if need be")]
    )


def too_long(base_url):
    own, messages = client(base_url), []
    for n in range(40):
        messages.append(user(f"Part {n}: " + f"stone {n} and moss, " * 200))
        answer = own.messages.create(model=MODEL, max_tokens=300, messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
    return answer


REFUSALS = [
    "invalid", "wrong_key", "not_permitted", "no_model", "request_too_large", "rate_limited_bare",
    "overloaded_bare", "server_error", "bad_gateway", "unavailable", "quota",
]
IN_THE_STREAM = ["error_after_ok", "error_mid_stream", "reset_mid_stream", "truncated_json", "html_ok"]

scenarios = [
    ("a message", message, {}),
    ("a stream", stream, {}),
    ("a stream, byte by byte", stream, {"split": {"bytes": 1}}),
    ("tools", tools, {"other": {"first": ["tool_loop"]}}),
    ("thinking, three turns", thinking, {"thinking": True}),
    ("breakpoints that move", cached, {}),
    ("count_tokens", counted, {}),
    ("headers of an answer", raw_headers, {}),
    ("left early, asked again", left_early, {}),
    ("tried again after 529", tried_again, {"other": {"first": ["overloaded_bare"]}}),
]
scenarios += [(f"refused: {fault}", message, {"other": {"always": fault}}) for fault in REFUSALS]
scenarios += [(f"in a stream: {fault}", stream, {"other": {"always": fault}}) for fault in IN_THE_STREAM]

failed = same(SDK, scenarios)
failed += ends_well(SDK, "longer than the window", too_long, {"window": 24000})
finish(failed)
