import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { HostLstm } from '@cudnn-rnn/ops'
import type { LstmJob } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'

/** Normalizations of a step: four gates and the cell state. */
const NORMS = 5

/** The recurrence of TensorFlow's LSTM cells by the kernels, computed while the caller waits. */
export class KernelLstm implements HostLstm {
  readonly #executor: KernelExecutor

  constructor(executor: KernelExecutor) {
    this.#executor = executor
  }

  forward(operands: HostLstmOperands): HostLstmPass {
    const { memory, operations, allocateResult } = this.#executor
    const run = 'run an LSTM'
    memory.life.check(run)
    const { kernel, kernelBegin, time, batch, units, lengths, gateActivation, forgetBias, dropout, norms } = operands
    const { gates, hidden, cells } = operands
    if (norms !== null && gateActivation !== 'sigmoid') {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot run an LSTM with norms as gateActivation must be sigmoid: current value is ${gateActivation}`,
        { option: 'gateActivation', value: gateActivation },
      )
    }
    const rows = time * batch
    const job: LstmJob = {
      kernel,
      kernelBegin,
      time,
      batch,
      units,
      lengths,
      hardSigmoid: gateActivation === 'hardSigmoid',
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
    operations.lstmForward(job)
    return {
      backward({ outputs, h, c, gamma, beta }: HostLstmGradients): void {
        memory.life.check(run)
        operations.lstmBackward({ dOutputs: outputs, dh: h, dc: c, dGamma: gamma, dBeta: beta, ...job })
      },
    }
  }
}

// Names for parts of the contract's host LSTM: its callers make operands and norms, an executor's kernels read them.

export type HostLstmOperands = Parameters<HostLstm['forward']>[0]

/** Gamma, beta and epsilon of a layer with layer normalization. */
export type HostLstmNorms = NonNullable<HostLstmOperands['norms']>

/** σ of the gates i, f and o. */
export type LstmGateActivation = HostLstmOperands['gateActivation']

export type HostLstmPass = ReturnType<HostLstm['forward']>

/** Gradients that `HostLstmPass.backward` reads, and overwrites with gradients of the initial state. */
type HostLstmGradients = Parameters<HostLstmPass['backward']>[0]
