/**
 * Communicators: the processes that a launcher started on one host or many, and their collective calls. Training takes one
 * as `fit({ communicator })`.
 *
 * @example
 * ```ts
 * import { openCommunicator } from '@cudnn-rnn/rnn'
 *
 * // `mpirun -n 4 node train.js` starts four of these; `node train.js` one.
 * const world = await openCommunicator('auto', { timeoutSeconds: 600 })
 * const sums = Float32Array.of(1, world.rank)
 * await world.allReduce(sums, { op: 'sum' })
 * if (world.rank === 0) console.log(`${sums[0]} of ${world.size}`) // 1 of 1
 * await world.dispose()
 * ```
 * @packageDocumentation
 */

export type { Communicator } from '@cudnn-rnn/train'
export { CommunicatorError } from './communicator_error.js'
export { detectLauncher } from './launcher.js'
export { openCommunicator } from './open_communicator.js'
