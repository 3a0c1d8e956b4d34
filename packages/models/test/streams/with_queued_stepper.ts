import type { Backend, RnnQueuedStepper, TensorLike } from '@cudnn-rnn/ops'
import { Lifetime } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** The reference executor with the steppers of a device that can be waited for. */
export function withQueuedStepper(): Backend {
  const backend = openReferenceBackend()
  const rnnOf = backend.rnn.bind(backend)
  backend.rnn = (descriptor) => {
    const rnn = rnnOf(descriptor)
    const own = rnn.stepper.bind(rnn)
    const dispose = rnn.dispose.bind(rnn)
    const life = new Lifetime('rnn')
    rnn.dispose = () => {
      life.end()
      dispose()
    }
    const queuedStepper = (params: TensorLike, batch: number): RnnQueuedStepper => {
      const stepper = own(params, batch)
      return {
        batch,
        checkCanStep: () => life.check('step a stream'),
        step: async (input) => stepper.stepSync(input),
        stepRows: async (rows, input) => stepper.stepRowsSync(rows, input),
        stepSync: (input, out) => out.set(stepper.stepSync(input).data),
        stepRowsSync: (rows, input, out) => out.set(stepper.stepRowsSync(rows, input).data),
        reset: (rows) => stepper.reset(rows),
        state: async (rows) => stepper.state(rows),
        restore: (state, rows) => stepper.restore(state, rows),
        dispose: () => stepper.dispose(),
      }
    }
    return Object.defineProperties(rnn, { stepper: { value: undefined }, queuedStepper: { value: queuedStepper } })
  }
  return backend
}
