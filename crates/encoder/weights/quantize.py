#!/usr/bin/env python3
"""quantize.py MODEL.safetensors OUT.safetensors: replaces the matrices by 4-bit numbers with a scale per 32. Needs NumPy."""
import json
import struct
import sys

import numpy as np

GROUP = 32
# Scales to try, compared with the one at which no number is cut off: the one with the least error is taken.
TRIED = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)


def quantized(matrix):
    groups = matrix.reshape(-1, GROUP)
    most = np.abs(groups).max(1)
    least = None
    for share in TRIED:
        scale = (most * share / 7).astype(np.float16).astype(np.float32)
        scale[scale == 0] = 1
        numbers = np.clip(np.rint(groups / scale[:, None]), -8, 7)
        error = ((numbers * scale[:, None] - groups) ** 2).sum(1)
        if least is None:
            least, scales, best = error, scale, numbers
        else:
            better = error < least
            least[better], scales[better], best[better] = error[better], scale[better], numbers[better]
    packed = (best + 8).astype(np.uint8).reshape(-1)
    return packed[0::2] | (packed[1::2] << 4), scales.astype("<f2")


data = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", data[:8])
tensors, body, header = json.loads(data[8 : 8 + length]), bytearray(), {}


def put(name, kind, shape, content):
    header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
    body.extend(content)


for name in sorted(tensors):
    if name == "__metadata__" or name.startswith("pooler") or "position_ids" in name:
        continue
    start, end = (8 + length + at for at in tensors[name]["data_offsets"])
    shape = tensors[name]["shape"]
    values = np.frombuffer(data[start:end], dtype="<f4")
    if len(shape) < 2:
        put(name, "F32", shape, values.tobytes())
        continue
    packed, scales = quantized(values)
    put(name + ".q4", "U8", [packed.size], packed.tobytes())
    put(name + ".scales", "F16", [scales.size], scales.tobytes())
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + bytes(body))
