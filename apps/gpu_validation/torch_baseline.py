"""PyTorch on the same GPU: one JSON request per line, one JSON answer per line.

Started by torch_baseline.ts and asked over standard input; with `--listen PATH` over a Unix socket, by one client after
another, until standard input ends. Between requests it leaves the GPU alone. Times are those of PyTorch's best legal setting:
tensor cores wherever the precision allows them, inference in eval mode, a fused optimizer; as calls and as a CUDA graph.
"""
import base64
import json
import math
import os
import socket
import sys
import threading
import time

server = None
if sys.argv[1:2] == ["--listen"]:
    # Clients may connect while PyTorch is still imported.
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[2])
    server.listen()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()

import torch

CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN, "rnn_relu": torch.nn.RNN}


def network_of(r, inputs):
    # Of the 16-bit types PyTorch's RNN descriptor takes tensor cores for half alone without this flag.
    torch.backends.cudnn.allow_tf32 = r["precision"] != "float32"
    torch.backends.cuda.matmul.allow_tf32 = r["precision"] != "float32"
    options = {"nonlinearity": "relu"} if r["cellMode"] == "rnn_relu" else {}
    if r.get("projection"):
        options["proj_size"] = r["projection"]
    network = CELLS[r["cellMode"]](inputs, r["units"], r["layers"], bidirectional=r.get("bidirectional", False), **options)
    return network.cuda().to(dtype_of(r))


def dtype_of(r):
    return {"bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}.get(r["precision"], torch.float32)


def timed(run, seconds):
    """Milliseconds: median of five rounds that fill `seconds`, each ended by waiting for the device."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    torch.cuda.synchronize()
    runs = max(1, min(1000, round(seconds / 5 / (time.perf_counter() - began))))
    rounds = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(runs):
            run()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - began) / runs * 1000)
    return sorted(rounds)[2]


def captured(run):
    """`run` as a CUDA graph; None where it cannot be captured."""
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        return graph
    except Exception:
        torch.cuda.synchronize()
        return None


def best(run, seconds):
    """Milliseconds as calls, as a graph (None where there is none), and of the faster."""
    calls = timed(run, seconds / 2)
    graph = captured(run)
    replayed = timed(graph.replay, seconds / 2) if graph else None
    return {"best": min(calls, replayed or calls), "calls": calls, "graph": replayed}


def hello(_):
    return {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name()}


def passes(r):
    """The forward and the training step of one network: input gradient and weight gradients, no optimizer."""
    network = network_of(r, r["units"])
    x = torch.full((r["time"], r["batch"], r["units"]), 0.5, device="cuda", dtype=dtype_of(r))
    trained = x.clone().requires_grad_()

    def forward():
        with torch.no_grad():
            network(x)

    def training():
        network.zero_grad()
        trained.grad = None
        output, _ = network(trained)
        output.backward(output.detach())

    # In training mode cuDNN's training forward would run even under no_grad.
    network.eval()
    inference = best(forward, r["seconds"])
    network.train()
    step = best(training, r["seconds"])
    return {"forwardMs": inference["best"], "trainingMs": step["best"], "forward": inference, "training": step}


def character(r):
    """One whole training step of a character model; the fused optimizer, as calls and as a graph."""
    embedding = torch.nn.Embedding(r["vocabulary"], r["embedding"]).cuda()
    network = network_of(r, r["embedding"])
    output = torch.nn.Linear(r["units"], r["vocabulary"]).cuda()
    parameters = [*embedding.parameters(), *network.parameters(), *output.parameters()]
    adam = torch.optim.Adam(parameters, lr=1e-3, fused=True, capturable=True)
    ids = torch.arange(r["time"] * r["batch"], device="cuda").reshape(r["time"], r["batch"]) % r["vocabulary"]

    def step():
        adam.zero_grad()
        hidden, _ = network(embedding(ids))
        loss = torch.nn.functional.cross_entropy(output(hidden).flatten(0, 1), ids.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        adam.step()

    times = best(step, r["seconds"])
    return {"stepMs": times["best"], "step": times}


def wave(shape, scale, pace, dtype):
    count = math.prod(shape)
    values = [scale * math.sin(pace * (k + 1)) for k in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype).cuda()


def text(tensor):
    return base64.b64encode(tensor.detach().double().cpu().numpy().tobytes()).decode()


def parity(r):
    """Results and gradients of a network whose weights and input are waves; parameters in cuDNN's order."""
    network = network_of(r, r["inputs"])
    dtype = dtype_of(r)
    suffixes = [f"l{layer}{way}" for layer in range(r["layers"]) for way in (["", "_reverse"] if r["bidirectional"] else [""])]
    names = [f"{kind}_{suffix}" for suffix in suffixes for kind in ("weight_ih", "weight_hh", "weight_hr") if hasattr(network, f"{kind}_{suffix}")]
    names += [f"{kind}_{suffix}" for suffix in suffixes for kind in ("bias_ih", "bias_hh")]
    parameters = [getattr(network, name) for name in names]
    values = wave((sum(p.numel() for p in parameters),), r["scale"], 0.77, dtype)
    start = 0
    with torch.no_grad():
        for p in parameters:
            p.copy_(values[start : start + p.numel()].reshape(p.shape))
            start += p.numel()
    x = wave((r["time"], r["batch"], r["inputs"]), 1.0, 0.37, dtype).requires_grad_()
    output, states = network(x)
    output.backward(wave(tuple(output.shape), 0.7, 0.43, dtype))
    h = states[0] if isinstance(states, tuple) else states
    gradients = torch.cat([p.grad.flatten() for p in parameters])
    return {"y": text(output), "hy": text(h), "dx": text(x.grad), "dw": text(gradients)}


ACTIONS = {"hello": hello, "passes": passes, "character": character, "parity": parity}


def answer_all(requests, answers):
    for line in requests:
        request = json.loads(line)
        try:
            answer = ACTIONS[request["action"]](request)
        except Exception as error:  # one question that fails must not end the others
            answer = {"error": f"{type(error).__name__}: {error}"}
        torch.cuda.empty_cache()  # the other executor's turn comes next
        print(json.dumps(answer), file=answers, flush=True)


if server is None:
    answer_all(sys.stdin, sys.stdout)
while server is not None:
    connection, _ = server.accept()
    try:
        with connection, connection.makefile("r") as requests, connection.makefile("w") as answers:
            answer_all(requests, answers)
    except OSError:
        pass  # the client was killed
    torch.cuda.empty_cache()
