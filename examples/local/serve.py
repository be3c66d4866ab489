"""A llama.cpp server for one GGUF model, on loopback and a free port; it ends when its stdin does."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a GGUF model on loopback until stdin ends.")
    parser.add_argument("model")
    parser.add_argument("--alias", default="local", help="the model's name in requests")
    parser.add_argument("--context", type=int, default=16_384, help="tokens")
    parser.add_argument("--longest-reply", type=int, default=512, help="tokens")
    parser.add_argument("--template", default="", help="file of a chat template in place of the model's own")
    chosen = parser.parse_args()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = chosen.model
    params.model_alias = {chosen.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = chosen.context
    # A small model may not find an end by itself.
    params.n_predict = chosen.longest_reply
    params.sampling.temp = 0.0
    params.use_jinja = True
    if chosen.template:
        params.chat_template = Path(chosen.template).read_text()
    params.endpoint_metrics = True
    params.ui = False
    server = xllamacpp.Server(params)
    told = {"url": server.listening_address, "version": xllamacpp.__version__}
    print(json.dumps(told), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
