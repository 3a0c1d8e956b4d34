"""The process of a baseline written in Python: `implementation.py pytorch <threads> <weights>`.

Speaks the protocol of src/implementation_protocol.ts: one JSON object a line, a request on stdin, its answer on stdout.
"""

import json
import os
import sys
import time

THREADS = int(sys.argv[2])
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# As in src/runner_session.ts.
WARM_UP_MS = 200


def read_tensors(file):
    import numpy as np

    data = np.fromfile(file["path"], dtype="<f4")
    tensors, begin = {}, 0
    for entry in file["tensors"]:
        size = int(np.prod(entry["shape"], dtype=np.int64))
        tensors[entry["name"]] = data[begin : begin + size].reshape(entry["shape"])
        begin += size
    return tensors


def write_tensors(path, tensors):
    import numpy as np

    with open(path, "wb") as file:
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor, dtype="<f4").tobytes())
    return {"path": path, "tensors": [{"name": n, "shape": list(t.shape)} for n, t in tensors.items()]}


def group(parameters, index=0):
    prefix = f"{index}/"
    return {n[len(prefix) :]: t for n, t in parameters.items() if n.startswith(prefix)}


class PyTorch:
    def __init__(self):
        import torch

        torch.set_num_threads(THREADS)
        torch.set_num_interop_threads(1)
        self.torch = torch
        self.version = torch.__version__
        self.detail = "torch.nn, eager; training through autograd"

    def load(self, workload, is_training, parameters, input, output_gradient):
        torch = self.torch
        kinds = {
            "lstm": (torch.nn.LSTM, {}),
            "gru": (torch.nn.GRU, {}),
            "rnn_relu": (torch.nn.RNN, {"nonlinearity": "relu"}),
            "rnn_tanh": (torch.nn.RNN, {"nonlinearity": "tanh"}),
        }
        kind, options = kinds[workload["cellMode"]]
        model = kind(
            workload["inputSize"],
            workload["numUnits"],
            workload["numLayers"],
            bidirectional=workload["bidirectional"],
            **options,
        )
        model.load_state_dict({n: torch.from_numpy(t.copy()) for n, t in group(parameters).items()})
        x = torch.from_numpy(input.copy())
        if not is_training:

            def infer():
                with torch.inference_mode():
                    return model(x)[0]

            return infer, lambda: {"output": infer().numpy()}

        x.requires_grad_(True)
        seed = torch.from_numpy(output_gradient.copy())

        def train():
            model.zero_grad(set_to_none=True)
            x.grad = None
            output = model(x)[0]
            output.backward(seed)
            return output

        def results():
            output = train().detach().numpy()
            gradients = {f"0/{n}": p.grad.numpy() for n, p in model.named_parameters()}
            return {"output": output, "inputGradient": x.grad.numpy(), **gradients}

        return train, results


def timed(run):
    began = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - began) / 1e6


class Session:
    def __init__(self, runner):
        self.runner = runner
        self.run_once = self.compute_results = None

    def prepare(self, ask):
        task = ask["task"]
        operands = read_tensors(task["operands"])
        self.run_once, self.compute_results = self.runner.load(
            task["workload"],
            task["pass"] == "training",
            read_tensors(task["parameters"]),
            operands["input"],
            operands["outputGradient"],
        )
        first = timed(self.run_once)
        spent = first
        while spent < WARM_UP_MS:
            spent += timed(self.run_once)
        return {"firstMs": first}

    def run(self, ask):
        if ask["warmUp"]:
            self.run_once()
        times = []
        while not times or sum(times) < ask["sliceMs"]:
            times.append(timed(self.run_once))
        return {"times": times}

    def results(self, ask):
        return {"file": write_tensors(ask["path"], self.compute_results())}

    def release(self, ask):
        self.run_once = self.compute_results = None
        return {}


def say(line):
    print(json.dumps(line), flush=True)


def main():
    try:
        runner = PyTorch()
    except ImportError as error:
        say({"ready": False, "reason": str(error)})
        return
    session = Session(runner)
    say({"ready": True, "version": runner.version, "detail": runner.detail})
    for line in sys.stdin:
        try:
            message = json.loads(line)
            say({"ok": True, "answer": getattr(session, message["request"])(message["ask"])})
        except Exception as error:  # Every exception of a framework becomes an answer.
            say({"ok": False, "message": f"{type(error).__name__}: {error}"})


main()
