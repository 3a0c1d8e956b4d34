import type { CommandList } from '@cudnn-rnn/cudnn/validation'
import { type CheckGroup, withSession } from '../check.js'
import { judged, nameOf, noted, skipped } from '../outcome.js'
import { RawNetwork } from '../raw_network.js'

const SHAPE = { cellMode: 'gru', numLayers: 1, numUnits: 8, inputSize: 8, time: 4, batch: 2, training: false } as const

/**
 * Section 11: a pointer of the host where one of the device belongs. Runs in a separate process, which it may ruin.
 */
export const hostPointer: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const { report } = context
    using network = await RawNetwork.make(session, SHAPE)
    await network.run((list) => network.forward(list))
    const forward = (list: CommandList) => network.forward(list, network.misplaced(list, network.sizes.x))
    const answer = await network.run(forward).then(() => 'accepted', nameOf)
    report(noted('11.1', 'memory of the host as x', answer))
    const after = await network.run((list) => network.forward(list)).then(() => 'works', nameOf)
    report(noted('11.2', 'the same pass with the right pointer after that', after))
    const isToldOrWell = (answer === 'accepted') === (after === 'works')
    report(judged('11.3', 'a lost device', 'reported by every later call', { answer, after }, isToldOrWell))
    report(skipped('11.4', 'cudaLaunchHostFunc after an error', 'the executor waits for events and never uses it'))
  })
