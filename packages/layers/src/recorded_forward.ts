import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { type GradientTape, handleOf, Recording, type Value } from '@cudnn-rnn/executor-kit'
import type { Variable } from '@cudnn-rnn/models'
import type { Forwarded } from './forwarded.js'

/** The results of a layer on a tape. */
export interface RecordedOutput {
  readonly output: Value
  /** States that are the caller's. */
  readonly states?: readonly Value[] | undefined
}

/** The forward of a layer that computes on a tape, from which its backward follows. */
export async function recordedForward(
  backend: Backend,
  variables: readonly Variable[],
  input: TensorLike,
  isTraining: boolean,
  forward: (t: GradientTape, x: Value) => RecordedOutput | Promise<RecordedOutput>,
): Promise<Forwarded> {
  const uploaded = isBackendTensor(input) ? undefined : backend.tensor(input as Tensor<FloatArray>)
  const x = { name: 'input', value: uploaded ?? (input as BackendTensor) }
  const recording = new Recording(backend, isTraining ? [x, ...variables] : [], isTraining)
  const release = () => {
    recording.dispose()
    uploaded?.dispose()
  }
  const made: BackendTensor[] = []
  const handOver = (value: unknown) => {
    const tensor = recording.handOver(value)
    made.push(tensor)
    return tensor
  }
  try {
    const { output, states } = await handleOf(recording).scope((t) => forward(t, t.value(x)))
    const backward = async (dy: BackendTensor) => {
      await recording.differentiate(output, dy)
      const [ofInput, ...gradients] = [x, ...variables].map((each) => recording.gradientOf(each))
      return { input: ofInput, variables: gradients }
    }
    // The output is the caller's, who keeps it for the backward.
    return { output: handOver(output), backward, release, ...(states && { states: states.map(handOver) }) }
  } catch (error) {
    for (const tensor of made) tensor.dispose()
    await recording.end()
    release()
    throw error
  }
}
