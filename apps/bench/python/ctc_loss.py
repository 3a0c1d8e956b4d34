"""Times torch.nn.functional.ctc_loss, forward and backward, with log_softmax, for scripts/bench/bench_ctc.mjs.

python ctc_loss.py T B K S THREADS REPEATS: one line of JSON with the milliseconds of each repeat and the loss.
"""

import json
import sys
import time

import numpy as np
import torch

T, B, K, S, threads, repeats = map(int, sys.argv[1:])
torch.set_num_threads(threads)
values = 2 * np.sin(1.3 * (np.arange(T * B * K) + 1.0))
logits = torch.tensor(values.astype(np.float32).reshape(T, B, K), requires_grad=True)
labels = torch.tensor([[(7 * b + 3 * s + s * s) % (K - 1) for s in range(S)] for b in range(B)])
lengths = (torch.full((B,), T), torch.full((B,), S))


def step():
    logits.grad = None
    loss = torch.nn.functional.ctc_loss(logits.log_softmax(2), labels, *lengths, blank=K - 1, reduction="sum") / B
    loss.backward()
    return loss


for _ in range(3):
    step()
times = []
for _ in range(repeats):
    before = time.perf_counter()
    loss = step()
    times.append(1000 * (time.perf_counter() - before))
print(json.dumps({"times": times, "loss": loss.item(), "version": torch.__version__}))
