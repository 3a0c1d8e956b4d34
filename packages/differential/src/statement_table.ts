import { beginRestore, beginSave } from './checkpoint_statements.js'
import {
  beginCall,
  beginDropoutState,
  beginExport,
  beginGradients,
  beginImport,
  beginModel,
  beginParams,
  beginRestoreDropout,
  beginSlot,
} from './network_statements.js'
import type { Statement, StatementOf } from './program.js'
import { type ProgramState, pick } from './program_state.js'
import type { Begin, Effect } from './statement_effect.js'
import { beginReset, beginRestoreStream, beginStep, beginStream, beginStreamState } from './stream_statements.js'
import { beginNorm, beginOperation, beginRead, beginTensor, beginUpdate } from './tensor_statements.js'
import { beginApply, beginOptimizer, beginTrain } from './training_statements.js'

/** Statements that contain others; the program's runner handles those. */
export type Block = StatementOf<'together' | 'trainingStep'>

export function isBlock(statement: Statement): statement is Block {
  return statement.op === 'together' || statement.op === 'trainingStep'
}

const beginDispose: Begin<StatementOf<'dispose'>> = async (programState, { kind, index }) => {
  const chosen = pick(programState.owned(kind), index)
  chosen?.dispose()
  return {}
}

const beginClose: Begin<StatementOf<'closeExecutor'>> = async (programState) => {
  programState.isClosed = true
  programState.backend.dispose()
  return {}
}

const TABLE: { readonly [Op in Exclude<Statement['op'], Block['op']>]: Begin<StatementOf<Op>> } = {
  model: beginModel,
  params: beginParams,
  slot: beginSlot,
  call: beginCall,
  gradients: beginGradients,
  stream: beginStream,
  step: beginStep,
  reset: beginReset,
  streamState: beginStreamState,
  restoreStream: beginRestoreStream,
  tensor: beginTensor,
  read: beginRead,
  export: beginExport,
  import: beginImport,
  update: beginUpdate,
  optimizer: beginOptimizer,
  apply: beginApply,
  train: beginTrain,
  dropoutState: beginDropoutState,
  restoreDropout: beginRestoreDropout,
  save: beginSave,
  restore: beginRestore,
  operation: beginOperation,
  norm: beginNorm,
  dispose: beginDispose,
  closeExecutor: beginClose,
}

/** Executors that have no steppers keep the state of streams on the host, and do not notice the executor's end. */
const NOT_ONCE_CLOSED: ReadonlySet<Statement['op']> = new Set(['stream', 'reset', 'streamState', 'restoreStream'])

/** Starts one statement that is not a block. Never throws: failures reject. */
export async function begin(programState: ProgramState, statement: Exclude<Statement, Block>): Promise<Effect> {
  if (programState.isClosed && NOT_ONCE_CLOSED.has(statement.op)) return {}
  return (await (TABLE[statement.op] as Begin<Statement>)(programState, statement)) ?? {}
}
