// Names for parts of the contract's host LSTM: its callers make operands and norms, an executor's kernels read them.
import type { HostLstm } from '@cudnn-rnn/backend'

/** Operands of `HostLstm.forward`. */
export type HostLstmOperands = Parameters<HostLstm['forward']>[0]

/** Gamma, beta and epsilon of a layer with layer normalization. */
export type HostLstmNorms = NonNullable<HostLstmOperands['norms']>

/** σ of the gates i, f and o. */
export type LstmGateActivation = HostLstmOperands['gateActivation']

/** Result of `HostLstm.forward`. */
export type HostLstmPass = ReturnType<HostLstm['forward']>

/** Gradients that `HostLstmPass.backward` takes, and overwrites with those of the initial state. */
export type HostLstmGradients = Parameters<HostLstmPass['backward']>[0]
