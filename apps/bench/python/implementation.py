"""The process of a baseline written in Python: `implementation.py <pytorch|tensorflow|keras> <threads> <weights>`.

Speaks the protocol of src/implementation_protocol.ts: one JSON object a line, a request on stdin, its answer on stdout.
"""

import json
import os
import sys
import time

NAME, THREADS = sys.argv[1], int(sys.argv[2])
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
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

    def product(self, size):
        x = self.torch.full((size, size), 1 / size)
        return lambda: self.torch.mm(x, x)


class TensorFlow:
    """The base of both implementations: threads and the product.

    A function on the CPU returns when its result is computed; the result is on the host without a copy.
    """

    def __init__(self, detail):
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(THREADS)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.tf = tf
        self.version = tf.__version__
        self.detail = detail

    def product(self, size):
        x = self.tf.fill((size, size), 1 / size)
        multiply = self.tf.function(lambda: self.tf.matmul(x, x))
        return multiply


class BlockLSTM(TensorFlow):
    def __init__(self):
        super().__init__("the BlockLSTM op of LSTMBlockFusedCell, in a tf.function")

    def load(self, workload, is_training, parameters, input, output_gradient):
        tf = self.tf
        cell = group(parameters)
        x, kernel, bias = (tf.constant(t.copy()) for t in (input, cell["kernel"], cell["bias"]))
        zeros = tf.zeros([workload["batch"], workload["numUnits"]])
        peephole = tf.zeros([workload["numUnits"]])
        steps = tf.constant(workload["time"], tf.int64)

        @tf.function
        def infer(x):
            return tf.raw_ops.BlockLSTM(
                seq_len_max=steps,
                x=x,
                cs_prev=zeros,
                h_prev=zeros,
                w=kernel,
                wci=peephole,
                wcf=peephole,
                wco=peephole,
                b=bias,
                forget_bias=0.0,
                cell_clip=-1.0,
                use_peephole=False,
            ).h

        return lambda: infer(x), lambda: {"output": infer(x).numpy()}


class Keras(TensorFlow):
    def __init__(self):
        super().__init__("keras.layers in a tf.function")
        import keras

        self.keras = keras
        self.version = f"{keras.__version__} on TensorFlow {self.version}"

    def load(self, workload, is_training, parameters, input, output_gradient):
        layers = self.keras.layers
        units, mode = workload["numUnits"], workload["cellMode"]
        if mode == "lstm":
            make = lambda: layers.LSTM(units, return_sequences=True)
        elif mode == "gru":
            make = lambda: layers.GRU(units, return_sequences=True, reset_after=True)
        else:
            make = lambda: layers.SimpleRNN(units, return_sequences=True, activation=mode.removeprefix("rnn_"))
        # The layers are batch-major.
        x = self.tf.constant(input.transpose(1, 0, 2).copy())
        stack = []
        for index in range(workload["numLayers"]):
            layer = make()
            layer.build((workload["batch"], workload["time"], workload["inputSize"] if index == 0 else units))
            layer.set_weights(list(group(parameters, index).values()))
            stack.append(layer)

        @self.tf.function
        def infer(x):
            for layer in stack:
                x = layer(x)
            return x

        return lambda: infer(x), lambda: {"output": infer(x).numpy().transpose(1, 0, 2)}


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

    def memory(self, ask):
        try:
            import resource

            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            with open("/proc/self/statm") as statm:
                return {"resident": int(statm.read().split()[1]) * resource.getpagesize(), "peak": peak}
        except (ImportError, OSError):  # Not on Windows, not on macOS.
            return {"resident": None, "peak": None}

    def product(self, ask):
        multiply = self.runner.product(ask["size"])
        multiply()
        return {"times": [timed(multiply) for _ in range(ask["times"])]}


def say(line):
    print(json.dumps(line), flush=True)


def main():
    try:
        runner = {"pytorch": PyTorch, "tensorflow": BlockLSTM, "keras": Keras}[NAME]()
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
