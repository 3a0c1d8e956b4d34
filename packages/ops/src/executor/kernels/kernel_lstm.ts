import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { HostLstm } from '@cudnn-rnn/ops'
import type { LstmJob } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'

/** Normalizations of a step: four gates and the cell state. */
const NORMS = 5

/** The recurrence of TensorFlow's LSTM cells by the kernels, computed while the caller waits. */
export function kernelLstm({ memory, operations, allocateResult }: KernelExecutor): HostLstm {
  const run = 'run an LSTM'
  return {
    forward({ gateActivation, norms, ...operands }) {
      memory.life.check(run)
      if (norms !== null && gateActivation !== 'sigmoid') {
        throw codedRangeError(
          'ERR_INVALID_OPTION',
          `Cannot run an LSTM with norms as gateActivation must be sigmoid: current value is ${gateActivation}`,
          { option: 'gateActivation', value: gateActivation },
        )
      }
      const rows = operands.time * operands.batch
      const job: LstmJob = {
        hardSigmoid: gateActivation === 'hardSigmoid',
        gamma: norms?.gamma ?? null,
        beta: norms?.beta ?? null,
        epsilon: norms?.epsilon ?? 0,
        normalizedCells: norms === null ? null : allocateResult(rows * operands.units),
        inverses: norms === null ? null : allocateResult(rows * NORMS),
        ...operands,
      }
      operations.lstmForward(job)
      return {
        backward({ outputs, h, c, gamma, beta }) {
          memory.life.check(run)
          operations.lstmBackward({ dOutputs: outputs, dh: h, dc: c, dGamma: gamma, dBeta: beta, ...job })
        },
      }
    },
  }
}

// Names for parts of the contract's host LSTM: its callers make operands and norms, an executor's kernels read them.

export type HostLstmOperands = Parameters<HostLstm['forward']>[0]

/** Gamma, beta and epsilon of a layer with layer normalization. */
export type HostLstmNorms = NonNullable<HostLstmOperands['norms']>

/** σ of the gates i, f and o. */
export type LstmGateActivation = HostLstmOperands['gateActivation']
