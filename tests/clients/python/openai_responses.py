"""The official Python SDK of OpenAI with the Responses API through the gateway."""

import compare
import openai
from compare import ends_well, finish, same

MODEL = "gpt-5"
SDK = f"openai {openai.__version__}"
WEATHER = {
    "type": "function",
    "name": "weather",
    "strict": False,
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}
# Encrypted reasoning depends on the ids in the prompt.
compare.COUNTED |= {"item_id", "call_id", "previous_response_id", "encrypted_content"}


def client(base_url, retries=0):
    return openai.OpenAI(
        api_key="the-persons-own-key", base_url=base_url + "/v1", max_retries=retries, timeout=30
    )


def user(text):
    return {"role": "user", "content": text}


def response(base_url):
    return client(base_url).responses.create(model=MODEL, input="Hello")


def stream(base_url):
    return list(
        client(base_url).responses.create(
            model=MODEL, instructions="Be brief.", input=[user("Hello, stream")], stream=True
        )
    )


def helper(base_url):
    """The SDK's own assembly of a stream, which checks the order of the events."""
    with client(base_url).responses.stream(model=MODEL, input="Hello, helper", tools=[WEATHER]) as events:
        seen = [event.type for event in events]
        return [seen, events.get_final_response()]


def tools(base_url):
    own, items, answers = client(base_url), [user("How is the weather in Bergen?")], []
    for _ in range(3):
        answer = own.responses.create(
            model=MODEL,
            store=False,
            include=["reasoning.encrypted_content"],
            tools=[WEATHER],
            input=items,
        )
        answers.append(answer)
        items += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        items += [
            {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
            for call in calls
        ]
        if not calls:
            items.append(user("And tomorrow?"))
    return answers


def chain(base_url):
    own, answers, previous = client(base_url), [], None
    for n in range(5):
        answer = own.responses.create(
            model=MODEL, instructions="Count.", previous_response_id=previous, input=f"turn {n}"
        )
        answers.append(answer)
        previous = answer.id
    return [answers, len(own.responses.input_items.list(previous).data)]


def unknown(base_url):
    return client(base_url).responses.create(
        model=MODEL, previous_response_id="resp_unknown", input="Hello"
    )


def kept(base_url):
    own = client(base_url)
    made = own.responses.create(model=MODEL, input="Hello")
    found = own.responses.retrieve(made.id)
    own.responses.delete(made.id)
    return found.status


def counted(base_url):
    return client(base_url).responses.input_tokens.count(model=MODEL, input="How many?")


def left_early(base_url):
    for _ in client(base_url).responses.create(
        model=MODEL, input="You won't finish this", stream=True
    ):
        break
    return response(base_url)


def tried_again(base_url):
    return client(base_url, retries=2).responses.create(model=MODEL, input="Again, if need be")


def too_long(base_url):
    own, items = client(base_url), []
    for n in range(40):
        items.append(user(f"Part {n}: " + f"stone {n} and moss, " * 200))
        answer = own.responses.create(model=MODEL, max_output_tokens=300, store=False, input=items)
        items += [item.model_dump(exclude_none=True) for item in answer.output]
    return answer


def long_chain(base_url):
    own, previous = client(base_url), None
    for n in range(40):
        answer = own.responses.create(
            model=MODEL,
            max_output_tokens=300,
            previous_response_id=previous,
            input=f"Part {n}: " + f"stone {n} and moss, " * 200,
        )
        previous = answer.id
    return answer


REFUSALS = [
    "invalid", "wrong_key", "not_permitted", "no_model", "rate_limited_bare", "server_error",
    "bad_gateway", "unavailable", "quota",
]
IN_THE_STREAM = ["error_after_ok", "error_mid_stream", "reset_mid_stream", "truncated_json", "html_ok"]

scenarios = [
    ("a response", response, {}),
    ("a stream", stream, {}),
    ("a stream, byte by byte", stream, {"split": {"bytes": 1}}),
    ("a stream with reasoning", stream, {"thinking": True}),
    ("the SDK's stream helper", helper, {"thinking": True, "other": {"first": ["tool_loop"]}}),
    ("tools and reasoning", tools, {"thinking": True, "other": {"first": ["tool_loop"]}}),
    ("a chain of five", chain, {"thinking": True}),
    ("an unknown response", unknown, {}),
    ("kept, read, deleted", kept, {}),
    ("a count", counted, {}),
    ("left early, asked again", left_early, {}),
    ("tried again after 500", tried_again, {"other": {"first": ["server_error"]}}),
]
scenarios += [(f"refused: {fault}", response, {"other": {"always": fault}}) for fault in REFUSALS]
scenarios += [(f"in a stream: {fault}", stream, {"other": {"always": fault}}) for fault in IN_THE_STREAM]

failed = same(SDK, scenarios)
failed += ends_well(SDK, "longer than the window", too_long, {"window": 24000})
failed += ends_well(SDK, "a chain longer than that", long_chain, {"window": 24000})
finish(failed)
