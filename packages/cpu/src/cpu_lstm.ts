import type { HostLstm, HostLstmGradients, HostLstmOperands, HostLstmPass } from '@cudnn-rnn/backend'
import type { CpuExecutor } from './cpu_executor.js'
import type { LstmJob } from './native_addon.js'

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
    const { kernel, kernelBegin, time, batch, units, lengths, forgetBias, dropout, norms, gates, hidden, cells } =
      operands
    const rows = time * batch
    const job: LstmJob = {
      kernel,
      kernelBegin,
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
    }
    native.lstmForward(job)
    return {
      backward({ outputs, h, c, gamma, beta }: HostLstmGradients): void {
        memory.life.check(run)
        native.lstmBackward({ ...job, dOutputs: outputs, dh: h, dc: c, dGamma: gamma, dBeta: beta })
      },
    }
  }
}
