"""The process of a baseline written in Python: `implementation.py <pytorch | onnxruntime_int8> <threads> <precision>`.

Speaks the protocol of src/implementation_protocol.ts: one JSON object a line, a request on stdin, its answer on stdout.
"""

import json
import os
import sys
import time

THREADS, PRECISION = int(sys.argv[2]), sys.argv[3]
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
        if PRECISION == "bfloat16":
            model, x = model.to(torch.bfloat16), x.to(torch.bfloat16)
        if PRECISION == "int8":
            model = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(model), {kind}, dtype=torch.qint8)[0]
        if not is_training:

            def infer():
                with torch.inference_mode():
                    return model(x)[0]

            return infer, lambda: {"output": infer().float().numpy()}

        x.requires_grad_(True)
        seed = torch.from_numpy(output_gradient.copy()).to(x.dtype)

        def train():
            model.zero_grad(set_to_none=True)
            x.grad = None
            output = model(x)[0]
            output.backward(seed)
            return output

        def results():
            output = train().detach().float().numpy()
            gradients = {f"0/{n}": p.grad.float().numpy() for n, p in model.named_parameters()}
            return {"output": output, "inputGradient": x.grad.float().numpy(), **gradients}

        return train, results


class QuantizedOnnxRuntime:
    """An LSTM node of one layer and direction, as quantize_dynamic changes it."""

    def __init__(self):
        import onnxruntime
        import onnxruntime.quantization

        self.runtime = onnxruntime
        self.version = onnxruntime.__version__
        self.detail = "quantize_dynamic, CPU execution provider, sequential"

    def load(self, workload, is_training, parameters, input, output_gradient):
        import tempfile

        import onnx
        from onnx import helper, numpy_helper

        T, B, I, H = (workload[name] for name in ("time", "batch", "inputSize", "numUnits"))
        tensors = group(parameters)
        node = helper.make_node("LSTM", ["x", *tensors], ["y"], hidden_size=H)
        value = lambda name, shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        weights = [numpy_helper.from_array(tensor, name) for name, tensor in tensors.items()]
        graph = helper.make_graph([node], "lstm", [value("x", [T, B, I])], [value("y", [T, 1, B, H])], weights)
        opset = [helper.make_opsetid("", 14)]
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = THREADS, 3
        with tempfile.TemporaryDirectory() as folder:
            exact, quantized = os.path.join(folder, "exact.onnx"), os.path.join(folder, "int8.onnx")
            onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), exact)
            self.runtime.quantization.quantize_dynamic(exact, quantized)
            session = self.runtime.InferenceSession(quantized, options, providers=["CPUExecutionProvider"])
        run = lambda: session.run(None, {"x": input})[0]
        return run, lambda: {"output": run()}


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
        runner = {"pytorch": PyTorch, "onnxruntime_int8": QuantizedOnnxRuntime}[sys.argv[1]]()
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
