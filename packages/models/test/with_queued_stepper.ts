import type { Backend, RnnQueuedStepper, TensorLike } from '@cudnn-rnn/backend'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** The reference executor with the steppers of a device that can be waited for. */
export function withQueuedStepper(): Backend {
  const backend = openReferenceBackend()
  const rnnOf = backend.rnn.bind(backend)
  backend.rnn = (descriptor) => {
    const rnn = rnnOf(descriptor)
    const own = rnn.stepper.bind(rnn)
    const dispose = rnn.dispose.bind(rnn)
    let isDisposed = false
    rnn.dispose = () => {
      isDisposed = true
      dispose()
    }
    const queuedStepper = (params: TensorLike, batch: number): RnnQueuedStepper => {
      const stepper = own(params, batch)
      return {
        batch,
        checkCanStep: () => {
          if (isDisposed) throw Object.assign(new RangeError('disposed'), { code: 'ERR_RNN_DISPOSED' })
        },
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
