import { checkedElsewhere, checkOptions, optional, type OptionsOf, SIGNAL } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, Rnn, RnnInputGradients, TensorLike } from '@cudnn-rnn/ops'
import type { CellMode } from '@cudnn-rnn/canonical'
import { isValue, type Operand, type TapeHandle, type Value } from '@cudnn-rnn/ops/executor'

// The executor checks tensors and lengths, against the input's shape.
export const STATE_OPTIONS = {
  /** [L·D,B,P or H]. Default: zeros. */
  h: checkedElsewhere<TensorLike | null | undefined>(),
  /** [L·D,B,H], of an LSTM. Default: zeros. */
  c: checkedElsewhere<TensorLike | null | undefined>(),
}

const RECORDED_RUN_OPTIONS = {
  /** The state before the first step, as the result of a run has it. Default: zeros. */
  state: checkedElsewhere<{ readonly h?: Operand | null; readonly c?: Operand | null } | null | undefined>(),
  /** One length in 0..T per batch row, in any order. Default: T. */
  lengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
}

/** Options of a run on a tape. */
export interface RecordedRunOptions extends OptionsOf<typeof RECORDED_RUN_OPTIONS> {}

export const RUN_OPTIONS = {
  /** The state before the first step, as the result of a run has it. Default: zeros. */
  state: checkedElsewhere<OptionsOf<typeof STATE_OPTIONS> | null | undefined>(),
  /** One length in 0..T per batch row, in any order. Default: T. */
  lengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
  /** Once it is aborted, the run rejects with its reason. */
  signal: optional(SIGNAL),
}

/** Options of a run without gradients. */
export interface RunOptions extends OptionsOf<typeof RUN_OPTIONS> {}

/** Result of a run without gradients; on a tape, its values in the place of tensors. */
export type RunResult<Cell extends CellMode = CellMode, Held = BackendTensor> = {
  /** [T,B,D·H]; with numProj P columns in place of H. */
  readonly output: Held
  readonly state: {
    /** [L·D,B,P or H] */
    readonly h: Held
    /** [L·D,B,H] */
    readonly c: Cell extends 'lstm' ? Held : undefined
  }
}

/** Result of a run on a tape. */
export type RecordedRunResult<Cell extends CellMode = CellMode> = RunResult<Cell, Value>

const ACTION = 'run a network'
/** The operands, in the names of `Rnn.forward` and of its gradients. */
const OPERANDS = ['input', 'params', 'inputH', 'inputC'] as const

/** The results of a recorded run, in their order; c of an LSTM alone. */
interface RecordedRun {
  readonly output: Value
  readonly state: { readonly h: Value; readonly c?: Value }
}

/**
 * Runs a network on a tape. If no operand is differentiated, it is an inference: without dropout, and without
 * memory for a backward.
 */
export async function recordedRun(
  { recording, made }: TapeHandle,
  rnn: Rnn,
  params: unknown,
  input: Operand,
  options: RecordedRunOptions,
): Promise<RecordedRun> {
  recording.checkOpen(ACTION)
  const { state = null, lengths = null } = checkOptions(ACTION, options, RECORDED_RUN_OPTIONS)
  const { h: inputH = null, c: inputC = null } =
    state === null ? {} : (checkOptions<object>(ACTION, state, STATE_OPTIONS) as NonNullable<typeof state>)
  const given = { input, params, inputH, inputC }
  const taken = OPERANDS.map((name) => recording.operand(ACTION, name, given[name]))
  const [x, weights, h, c] = taken.map((own) => (isValue(own) ? own.tensor : own))
  const operands = taken.map((own) => (isValue(own) ? own : undefined))
  const training = recording.differentiates(operands)
  const forward = rnn.forward({
    ...{ input: x as TensorLike, params: weights as TensorLike, sequenceLengths: lengths, training },
    ...{ inputH: h ?? null, inputC: c ?? null },
  })
  const run = async (): Promise<RecordedRun> => {
    const { output, outputH, outputC, tape } = await forward
    const tensors = outputC === undefined ? [output, outputH] : [output, outputH, outputC]
    const results = tensors.map((tensor) => recording.newValue(tensor, training, made))
    if (tape !== undefined) {
      recording.add({
        ...{ name: ACTION, operands, results, dispose: () => tape.dispose() },
        operandName: (index) => OPERANDS[index],
        held: [...operands.flatMap((value) => value?.tensor ?? []), output],
        async pass([dOutput, dH, dC]) {
          const gradients = await rnn.backward(tape, {
            ...{ output: dOutput, outputH: dH },
            ...(outputC !== undefined && { outputC: dC }),
          })
          const byName = OPERANDS.map((name) => gradients[name as keyof RnnInputGradients])
          const all = byName.filter((gradient): gradient is BackendTensor => gradient !== undefined)
          for (const gradient of all) recording.own(gradient)
          return { gradients: byName, made: all }
        },
      })
    }
    const [y, hAfter, cAfter] = results
    return { output: y, state: { h: hAfter, ...(cAfter !== undefined && { c: cAfter }) } }
  }
  return recording.pending(run())
}
