import type { BackendTensor } from '@cudnn-rnn/ops'
import type { MadeOpaque, ProgramState } from './program_state.js'

/** Effect of a statement on one executor. */
export interface Effect {
  /** Host values to compare, by name. */
  readonly values?: Readonly<Record<string, ArrayLike<number>>>
  /** Tensors to compare, by name, now or at the end. */
  readonly made?: Readonly<Record<string, BackendTensor | MadeOpaque | undefined>>
  /** Registers the created objects for later statements; called in the order of the statements. */
  readonly commit?: () => void
}

/**
 * Runs one kind of statement. All calls of the library are begun before it returns, so that statements may be begun one
 * after another without being awaited; undefined if there is nothing to run it on.
 */
export type Begin<Statement> = (programState: ProgramState, statement: Statement) => Promise<Effect> | undefined

/** Notes tensors as objects of the program. */
export function keepTensors(programState: ProgramState, tensors: readonly (BackendTensor | undefined)[]): void {
  for (const tensor of tensors) if (tensor !== undefined) programState.tensors.push({ tensor, isGone: false })
}
