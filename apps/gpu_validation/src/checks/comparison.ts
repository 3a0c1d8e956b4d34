import type { CudnnBackend } from '@cudnn-rnn/cudnn'
import { timeCharacterStep } from '../character_step.js'
import type { CheckGroup } from '../check.js'
import { nameOf, noted, type Outcome, skipped } from '../outcome.js'
import { PassTimer, type PassTimes, timeSteps, timingCases } from '../timing.js'
import { TorchBaseline } from '../torch_baseline.js'

/**
 * A second of products: an idle GPU takes that long to raise its clocks, and the first that is timed would pay for it.
 */
async function warmUp(backend: CudnnBackend, isQuick: boolean): Promise<void> {
  const size = isQuick ? 16 : 4096
  using x = backend.zeros([size, size])
  using bias = backend.zeros([size])
  const until = performance.now() + (isQuick ? 0 : 1000)
  do {
    for (let n = 0; n < 10; n++) backend.ops.linear(x, x, bias).dispose()
    await bias.read()
  } while (performance.now() < until)
}

/** Least seconds of one measurement. */
const LEAST_SECONDS = 0.1

/** Character models: the default of the command line, and one that keeps a GPU busier. */
const CHARACTER_MODELS = [
  { vocabulary: 87, embedding: 32, units: 128, layers: 1, batch: 8, time: 24 },
  { vocabulary: 87, embedding: 128, units: 512, layers: 2, batch: 64, time: 64 },
] as const

/**
 * Times of this executor and of PyTorch on the same GPU, alternating by cell, so that an interrupted run has both times
 * of every cell that it reached. `argument` names the Python.
 */
export const comparison: CheckGroup = async ({ options, isQuick, report, argument, deadline, once }) => {
  const started = await TorchBaseline.start(argument || undefined)
  if (started.baseline === undefined) report(skipped('13.1', "PyTorch's times", started.problem))
  else report(noted('13.1', 'PyTorch', started.hello))
  const { baseline } = started
  const timer = new PassTimer(options)
  const time = timeSteps(isQuick)
  const cases = timingCases(isQuick)
  try {
    await warmUp(await timer.backend('float32'), isQuick)
    for (const sizes of isQuick ? [] : CHARACTER_MODELS) {
      const what = `a whole training step of a character model, H ${sizes.units}, L ${sizes.layers}, B ${sizes.batch}, T ${sizes.time} (ms)`
      await once(what, async () => {
        const precision = 'float32'
        const ours = await timer
          .backend(precision)
          .then((backend) => timeCharacterStep(backend, sizes, 0.5))
          .catch(nameOf)
        await timer.trimMemory().catch(nameOf)
        const theirs = await baseline?.ask({ action: 'character', cellMode: 'lstm', precision, ...sizes, seconds: 0.5 })
        const ratio =
          typeof ours === 'number' && theirs?.error === undefined ? ours / Number(theirs?.['stepMs']) : undefined
        const verdict = ratio === undefined || Number.isNaN(ratio) ? 'noted' : ratio <= 0.5 ? 'pass' : 'fail'
        const line = {
          id: '13.4',
          what,
          expected: 'at most half of PyTorch',
          measured: { ours, theirs, ratio },
          verdict,
        }
        report({ ...line, ...sizes } as Outcome)
      })
    }
    for (const [index, cell] of cases.entries()) {
      const left = (deadline - performance.now()) / 1000
      if (left < 2) return report(noted('13.3', 'cells without a time', cases.length - index))
      // A cell takes four measurements, and about as long again for plans, warming up and PyTorch. In rounds shorter than
      // a fifth of the least, waiting for the device at the end of a round would be a tenth of the time.
      const seconds = isQuick ? 0.02 : Math.max(LEAST_SECONDS, Math.min(0.4, left / (cases.length - index) / 8))
      await once(Object.values(cell).join(' '), async () => {
        const ours: PassTimes | string = await timer.time(cell, time, seconds).catch(nameOf)
        await timer.trimMemory().catch(nameOf)
        const theirs = await baseline?.ask({ action: 'passes', time, seconds, ...cell }, Math.max(1, left))
        report({ ...outcome(cell, ours, theirs), ...cell } as Outcome)
      })
    }
  } finally {
    baseline?.close()
    await timer.close()
  }
}

function outcome(
  { cellMode, layers, units, batch, precision }: ReturnType<typeof timingCases>[number],
  ours: PassTimes | string,
  theirs: { readonly error?: string; readonly [field: string]: unknown } | undefined,
): Outcome {
  const what = `${cellMode} L ${layers} H ${units} B ${batch} ${precision}: forward and training (ms)`
  const expected = 'at most PyTorch'
  if (typeof ours === 'string') return { id: '13.3', what, expected, measured: { ours, theirs }, verdict: 'fail' }
  if (theirs === undefined || theirs.error !== undefined) {
    return { id: '13.3', what, expected, measured: { ours, theirs }, verdict: 'noted' }
  }
  const forwardRatio = ours.forwardMs / Number(theirs['forwardMs'])
  const trainingRatio = ours.trainingMs / Number(theirs['trainingMs'])
  const measured = { ours, theirs, forwardRatio, trainingRatio }
  return { id: '13.3', what, expected, measured, verdict: Math.max(forwardRatio, trainingRatio) <= 1 ? 'pass' : 'fail' }
}
