import { codedError } from '@cudnn-rnn/canonical/rules'

const claimed = new WeakSet<object>()

/**
 * Excludes a second training of a model or of its variables until the claim is disposed.
 *
 * @throws Error `ERR_BEING_TRAINED` if one of them is claimed
 */
export function claimForTraining(objects: readonly object[]): Disposable {
  if (objects.some((object) => claimed.has(object))) {
    throw codedError(
      'ERR_BEING_TRAINED',
      'Cannot fit as one training at a time may change a model: another fit is running. Await it first',
    )
  }
  for (const object of objects) claimed.add(object)
  return {
    [Symbol.dispose]() {
      for (const object of objects) claimed.delete(object)
    },
  }
}
