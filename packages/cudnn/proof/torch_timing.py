"""Times torch.nn.LSTM and GRU on the GPU in the cells of timing.ts; prints one JSON line per cell.

    python torch_timing.py [--quick]
"""
import itertools
import json
import sys
import time

import torch

TIME_STEPS = 70
QUICK = "--quick" in sys.argv
UNITS = [32] if QUICK else [128, 512, 1024, 2048]
BATCHES = [1, 4] if QUICK else [1, 16, 64, 256]
PRECISIONS = ["float32"] if QUICK else ["float32", "tf32", "bfloat16"]
SECONDS = 0.05 if QUICK else 1.0


def timed(run):
    """Median of five rounds, each ended by waiting for the device."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    torch.cuda.synchronize()
    runs = max(1, min(1000, round(SECONDS / 5 / (time.perf_counter() - began))))
    rounds = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(runs):
            run()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - began) / runs * 1000)
    return sorted(rounds)[2]


for cell, layers, units, batch, precision in itertools.product(["lstm", "gru"], [1, 2], UNITS, BATCHES, PRECISIONS):
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    network = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](units, units, layers).cuda().to(dtype)
    x = torch.full((TIME_STEPS, batch, units), 0.5, device="cuda", dtype=dtype)
    trained = x.clone().requires_grad_()

    def forward():
        with torch.no_grad():
            network(x)

    def training():
        output, _ = network(trained)
        output.backward(output.detach())
        network.zero_grad()
        trained.grad = None

    print(json.dumps({
        "who": f"torch {torch.__version__}", "time": TIME_STEPS, "cellMode": cell, "layers": layers, "units": units,
        "batch": batch, "precision": precision, "forwardMs": timed(forward), "trainingMs": timed(training),
        "device": torch.cuda.get_device_name(),
    }), flush=True)
