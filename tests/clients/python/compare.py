"""Runs scenarios twice, straight to the provider's stand-in and through the gateway, and compares.

A scenario is a function of a client's maker; what it returns, and the error that it raises, must be the same
both ways. Prints a line for each; exits with 1 where one differs.
"""

import json
import os
import sys
import urllib.request

UPSTREAM = os.environ["UPSTREAM_URL"]
GATEWAY = os.environ["GATEWAY_URL"]
"""Ids are counted by the server, so they differ between two runs of the same."""
COUNTED = {"id", "_request_id", "request_id", "created", "tool_use_id"}

"""An answer that ends too early: which of these it is depends on the byte at which the connection ended. The
gateway never ends half an answer as if it were whole."""
BROKE_OFF = {"ReadError", "RemoteProtocolError", "APIConnectionError", "JSONDecodeError"}


def script(**plan):
    """Tells the stand-in what to do from now on."""
    request = urllib.request.Request(
        UPSTREAM + "/__script", json.dumps(plan).encode(), {"content-type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=10).read()


def plain(value):
    """A result as plain data without what is counted."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in COUNTED}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def outcome(scenario, base_url, plan):
    script(**plan)
    try:
        return {"result": plain(scenario(base_url))}
    except Exception as error:  # whatever the SDK raises is the result
        if type(error).__name__ in BROKE_OFF:
            return {"error": "broke off"}
        body = getattr(error, "body", None)
        return {
            "error": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "body": plain(body),
        }


def same(sdk, scenarios):
    """`scenarios`: name, function, what the stand-in does meanwhile."""
    failed = 0
    for name, scenario, plan in scenarios:
        direct = outcome(scenario, UPSTREAM, plan)
        through = outcome(scenario, GATEWAY, plan)
        good = direct == through
        failed += not good
        told = direct.get("error", "a result")
        print(f"{sdk:<24} {name:<26} {'same' if good else 'DIFFERENT'}: {told}")
        if not good:
            print("  straight:", json.dumps(direct)[:2000])
            print("  through: ", json.dumps(through)[:2000])
    return failed


def ends_well(sdk, name, scenario, plan):
    """A scenario that only the gateway brings to a good end."""
    found = outcome(scenario, GATEWAY, plan)
    good = "result" in found
    print(f"{sdk:<24} {name:<26} {'good' if good else 'BAD: ' + json.dumps(found)[:2000]}")
    return not good


def finish(failed):
    sys.exit(1 if failed else 0)
