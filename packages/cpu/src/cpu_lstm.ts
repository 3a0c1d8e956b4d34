import {
  DTYPES,
  type HostLstm,
  type HostLstmGradients,
  type HostLstmOperands,
  type HostLstmPass,
} from '@cudnn-rnn/backend'
import type { CpuExecutor } from './cpu_executor.js'
import type { LstmJob } from './native_addon.js'

/** Bytes to which the columns of the recurrent matrix are rounded up: a chunk of native/cpu/src/kernels/kernels.h. */
const CHUNK_BYTES = 64

/** Normalizations of a step: four gates and the cell state. */
const NORMS = 5

/** The recurrence of TensorFlow's LSTM cells in C++, computed while the caller waits. */
export class CpuLstm implements HostLstm {
  readonly #executor: CpuExecutor

  constructor(executor: CpuExecutor) {
    this.#executor = executor
  }

  forward(operands: HostLstmOperands): HostLstmPass {
    const { memory, native, allocateResult } = this.#executor
    const run = 'run an LSTM'
    memory.life.check(run)
    const { time, batch, units, lengths, forgetBias, dropout, norms, gates, hidden, cells } = operands
    const rows = time * batch
    const chunk = CHUNK_BYTES / DTYPES[memory.dtype].bytes
    const job: LstmJob = {
      time,
      batch,
      units,
      lengths,
      forgetBias,
      dropout,
      gamma: norms?.gamma ?? null,
      beta: norms?.beta ?? null,
      epsilon: norms?.epsilon ?? 0,
      gates,
      hidden,
      cells,
      normalizedCells: norms === null ? null : allocateResult(rows * units),
      inverses: norms === null ? null : allocateResult(rows * NORMS),
      panels: allocateResult(units * Math.ceil((4 * units) / chunk) * chunk),
    }
    native.lstmForward({ ...job, kernel: operands.kernel, kernelBegin: operands.kernelBegin })
    return {
      backward({ outputs, h, c, gamma, beta }: HostLstmGradients): void {
        memory.life.check(run)
        native.lstmBackward({ ...job, dOutputs: outputs, dh: h, dc: c, dGamma: gamma, dBeta: beta })
      },
    }
  }
}
