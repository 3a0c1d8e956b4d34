"""Cells beside those of scripts/bench/bench_cells.mjs: PyTorch's scripted LayerNorm-LSTM, TensorFlow's LSTM cells.

python cells.py <pytorch|tensorflow> THREADS. A request a line on stdin, its answer on stdout, both JSON:
  {"case", "B", "T", "H", "training", "repeats"} -> {"times": milliseconds of each repeat, "check": mean square of the outputs}
"""

import json
import os
import sys
import time

BASELINE, THREADS = sys.argv[1], int(sys.argv[2])
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np


def sine(shape, scale):
    count = int(np.prod(shape))
    return (scale * np.sin(1.3 * (np.arange(count) + 1.0))).astype(np.float32).reshape(shape)


def pytorch_case(case, B, T, H, training):
    """LayerNormLSTMCell of pytorch/pytorch, benchmarks/fastrnns/custom_lstms.py: one norm over all four gates of x·W, one of
    h·R, one of c; the same loop, scripted."""
    import torch
    from torch import Tensor, jit, nn

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)

    class LayerNormLSTMCell(jit.ScriptModule):
        def __init__(self, input_size, hidden_size):
            super().__init__()
            self.weight_ih = nn.Parameter(torch.from_numpy(sine((4 * hidden_size, input_size), 0.05)))
            self.weight_hh = nn.Parameter(torch.from_numpy(sine((4 * hidden_size, hidden_size), 0.04)))
            self.layernorm_i = nn.LayerNorm(4 * hidden_size)
            self.layernorm_h = nn.LayerNorm(4 * hidden_size)
            self.layernorm_c = nn.LayerNorm(hidden_size)

        @jit.script_method
        def forward(self, input: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            hx, cx = state
            igates = self.layernorm_i(torch.mm(input, self.weight_ih.t()))
            hgates = self.layernorm_h(torch.mm(hx, self.weight_hh.t()))
            gates = igates + hgates
            ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
            ingate = torch.sigmoid(ingate)
            forgetgate = torch.sigmoid(forgetgate)
            cellgate = torch.tanh(cellgate)
            outgate = torch.sigmoid(outgate)
            cy = self.layernorm_c((forgetgate * cx) + (ingate * cellgate))
            hy = outgate * torch.tanh(cy)
            return hy, (hy, cy)

    class LSTMLayer(jit.ScriptModule):
        def __init__(self, input_size, hidden_size):
            super().__init__()
            self.cell = LayerNormLSTMCell(input_size, hidden_size)

        @jit.script_method
        def forward(self, input: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            inputs = input.unbind(0)
            outputs = torch.jit.annotate(list[Tensor], [])
            for i in range(len(inputs)):
                out, state = self.cell(inputs[i], state)
                outputs += [out]
            return torch.stack(outputs), state

    layer = LSTMLayer(H, H)
    x = torch.from_numpy(sine((T, B, H), 1)).requires_grad_(training)
    state = (torch.zeros(B, H), torch.zeros(B, H))
    seed = torch.from_numpy(sine((T, B, H), 0.1))

    def run():
        if not training:
            with torch.inference_mode():
                return layer(x, state)[0]
        layer.zero_grad(set_to_none=True)
        x.grad = None
        outputs, _ = layer(x, state)
        outputs.backward(seed)
        return outputs

    return lambda: run().detach().numpy()


def tensorflow_case(case, B, T, H, training):
    """The cells of TensorFlow 1 as TensorFlow 2 still runs them: their operations, in a function."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    x = tf.Variable(sine((T, B, H), 1))
    w = tf.Variable(sine((2 * H, 4 * H), 0.04))
    b = tf.Variable(np.zeros(4 * H, np.float32))
    zeros = tf.zeros((B, H))
    # Made where they are used: a gradient in a while loop must not capture constants of the outside.
    peepholes = lambda: {name: tf.zeros((H,)) for name in ("wci", "wcf", "wco")}
    seed = tf.constant(sine((T, B, H), 0.1))
    forget_bias = 0.0 if case == "CudnnCompatibleLSTMCell" else 1.0

    def equations(c, h, x_t):  # rnn_cell_impl.py, LSTMCell.call
        i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x_t, h], 1), w), b), 4, axis=1)
        c = tf.sigmoid(f + forget_bias) * c + tf.sigmoid(i) * tf.tanh(j)
        return c, tf.sigmoid(o) * tf.tanh(c)

    @tf.custom_gradient
    def block_step(x_t, c, h, w_, b_):  # contrib/rnn/python/ops/lstm_ops.py, _lstm_block_cell and its gradient
        i, cs, f, o, ci, co, new_h = tf.raw_ops.LSTMBlockCell(
            x=x_t, cs_prev=c, h_prev=h, w=w_, b=b_, forget_bias=forget_bias, cell_clip=-1.0, **peepholes()
        )

        def gradient(d_cs, d_h):
            d_c, dgates, *_ = tf.raw_ops.LSTMBlockCellGrad(
                x=x_t, cs_prev=c, h_prev=h, w=w_, b=b_, i=i, cs=cs, f=f, o=o, ci=ci, co=co, cs_grad=d_cs, h_grad=d_h,
                use_peephole=False, **peepholes(),
            )
            d_xh = tf.matmul(dgates, w_, transpose_b=True)
            d_w = tf.matmul(tf.concat([x_t, h], 1), dgates, transpose_a=True)
            return d_xh[:, :H], d_c, d_xh[:, H:], d_w, tf.reduce_sum(dgates, 0)

        return (cs, new_h), gradient

    def block_cell(c, h, x_t):
        return block_step(x_t, c, h, w, b)

    def in_while_loop(step):  # as dynamic_rnn
        inputs = tf.TensorArray(tf.float32, T).unstack(x)

        def body(t, c, h, outputs):
            c, h = step(c, h, inputs.read(t))
            return t + 1, c, h, outputs.write(t, h)

        loop = (tf.constant(0), zeros, zeros, tf.TensorArray(tf.float32, T))
        return tf.while_loop(lambda t, *_: t < T, body, loop)[3].stack()

    def unrolled(step):  # as static_rnn
        c, h, outputs = zeros, zeros, []
        for x_t in tf.unstack(x):
            c, h = step(c, h, x_t)
            outputs.append(h)
        return tf.stack(outputs)

    def block_lstm():
        return tf.raw_ops.BlockLSTM(
            seq_len_max=tf.constant(T, tf.int64), x=x, cs_prev=zeros, h_prev=zeros, w=w, b=b, forget_bias=forget_bias,
            cell_clip=-1.0, use_peephole=False, **peepholes(),
        ).h

    forward = {
        "LSTMCell": lambda: in_while_loop(equations),
        "LSTMBlockCell": lambda: in_while_loop(block_cell),
        "CudnnCompatibleLSTMCell": lambda: in_while_loop(block_cell),
        "LSTMBlockFusedCell": block_lstm,
        "hand-written": lambda: unrolled(equations),
    }[case]

    @tf.function
    def run():
        if not training:
            return (forward(),)
        with tf.GradientTape() as tape:
            outputs = forward()
        return outputs, *tape.gradient(outputs, [x, w, b], seed)

    return lambda: run()[0].numpy()


CASES = {}
make = {"pytorch": pytorch_case, "tensorflow": tensorflow_case}[BASELINE]
for line in sys.stdin:
    request = json.loads(line)
    key = tuple(request[name] for name in ("case", "B", "T", "H", "training"))
    is_new = key not in CASES
    run = CASES.setdefault(key, make(*key) if is_new else None)
    # The first calls trace and, in PyTorch, specialize on their shapes; later turns begin with one, as caches are cold.
    for _ in range(4 if is_new else 1):
        outputs = run()
    times = []
    for _ in range(request["repeats"]):
        before = time.perf_counter()
        outputs = run()
        times.append(1000 * (time.perf_counter() - before))
    print(json.dumps({"times": times, "check": float(np.mean(np.square(outputs)))}), flush=True)
