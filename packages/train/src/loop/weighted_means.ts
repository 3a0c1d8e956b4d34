import { checkArguments, FUNCTION, fields, NUMBER, recordOf } from '@cudnn-rnn/canonical/rules'
import type { Communicator } from './communicator.js'

/**
 * The means over all ranks of metrics that each rank has taken over its share: Σ weight·mean / Σ weight. For `evaluate` of a
 * training over several ranks, whose validation data are sharded.
 *
 * @param means the same names in every rank
 * @param weight rows of the share; a rank without any has 0, and its means do not count
 * @example
 * ```ts
 * import { openCommunicator } from '@cudnn-rnn/rnn'
 * import { weightedMeans } from '@cudnn-rnn/rnn/train'
 *
 * const world = await openCommunicator('none')
 * console.log(await weightedMeans(world, { loss: 0.5, accuracy: 0.9 }, 32)) // { loss: 0.5, accuracy: 0.9 }
 * await world.dispose()
 * ```
 */
export async function weightedMeans(
  communicator: Communicator,
  means: Readonly<Record<string, number>>,
  weight: number,
): Promise<Readonly<Record<string, number>>> {
  const rules = { communicator: fields({ allReduce: FUNCTION }), means: recordOf(NUMBER), weight: NUMBER }
  checkArguments('average metrics', { communicator, means, weight }, rules)
  const names = Object.keys(means).sort()
  const sums = Float64Array.of(weight, ...names.map((name) => (weight === 0 ? 0 : weight * means[name])))
  await communicator.allReduce(sums)
  const total = sums[0]
  return Object.fromEntries(Object.keys(means).map((name) => [name, sums[names.indexOf(name) + 1] / total]))
}
