import { checkOptions } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, Rnn, RnnInputGradients, TensorLike } from '@cudnn-rnn/ops'
import { type Operand, type TapeHandle, Value } from '@cudnn-rnn/ops/executor'
import { RECORDED_RUN_OPTIONS, type RecordedRunOptions, STATE_OPTIONS } from './run_options.js'

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
  checkOptions(ACTION, options, RECORDED_RUN_OPTIONS)
  const { state = null, lengths = null } = options
  if (state !== null) checkOptions<object>(ACTION, state, STATE_OPTIONS)
  const given = { input, params, inputH: state?.h ?? null, inputC: state?.c ?? null }
  const taken = OPERANDS.map((name) => recording.operand(ACTION, name, given[name]))
  const [x, weights, h, c] = taken.map((own) => (own instanceof Value ? own.tensor : own))
  const operands = taken.map((own) => (own instanceof Value ? own : undefined))
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
